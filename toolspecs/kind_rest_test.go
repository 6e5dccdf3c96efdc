package toolspecs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Defaults of a REST tool depend on its method and body. Filling them in again changes nothing, so
// the digest of a spec does not depend on how often it was decoded.
func TestRESTDefaults_AreStable(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "specs", "rest_good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	specs, err := Decode("rest_good.yaml", data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][4]string{
		"list_issues":  {"GET", "", "read", "4096"},
		"create_issue": {"POST", "json", "once", "1048576"},
		"form":         {"PUT", "form", "once", "1048576"},
		"text":         {"PATCH", "text", "once", "1048576"},
	}
	for _, s := range specs {
		e := s.Entry.Kind.(RESTEntry)
		got := [4]string{e.Method, e.Encoding, string(s.Execution.Effect),
			jsonvalue.Text(e.MaxResponse)}
		if got != want[s.Name] {
			t.Errorf("%s: got %v, want %v", s.Name, got, want[s.Name])
		}
		c, err := s.Compile()
		if err != nil {
			t.Fatal(err)
		}
		again, err := FromTool(c.Tool())
		if err != nil || again.Digest != c.Digest {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	once := specs[0]
	once.Execution.Effect = api.EffectOnce
	if c, err := once.Compile(); err == nil || err.Error() != `toolspec "list_issues": $.execution.retry.max_attempts: a tool whose effect is once has one attempt, not 7 (remove it, or say effect: idempotent or read where that is true)` {
		t.Errorf("three attempts of a tool that is executed once: %+v, %v", c, err)
	}
}

// A spec that is made in Go follows the same rules as a file, and no fault repeats a secret.
func TestRESTSecrets_AreNotInFaults(t *testing.T) {
	s := Spec{Name: "a", Version: "1.0.0", Description: "A.", Entry: Entry{Kind: RESTEntry{
		BaseURL: "https://u:planted@api.example.com",
		Headers: []byte(`{"Authorization":"planted"}`), Auth: &outbound.Auth{Type: "bearer",
			Secret: "planted"}, Query: []byte(`{"a":`), Body: []byte(`{`)}}}
	_, err := s.Compile()
	if err == nil || strings.Contains(err.Error(), "planted") || strings.Count(err.Error(),
		"\n") < 4 {
		t.Errorf("got %v", err)
	}
}

// Arguments that ask for a part of an answer are recognized by their names in any spelling.
func TestPagingArguments_AreKnownByAnySpelling(t *testing.T) {
	s := Spec{Parameters: []Parameter{{Name: "owner"}, {Name: "per_page"}, {Name: "startingAfter"},
		{Name: "$top"}}}
	if got := s.PagingArguments(); !slices.Equal(got, []string{"per_page", "startingAfter",
		"$top"}) {
		t.Errorf("got %v", got)
	}
	s = Spec{InputSchema: []byte(`{"type":"object","properties":{"cursor":{},"id":{}}}`)}
	if got := s.PagingArguments(); !slices.Equal(got, []string{"cursor"}) {
		t.Errorf("got %v", got)
	}
}
