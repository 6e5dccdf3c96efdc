package content

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/strictyaml"
)

// folder writes files, by name, and returns how a set finds them.
func folder(t *testing.T, files map[string]string) (beside func(string) string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

const png = "\x89PNG\r\n\x1a\n"

func TestRead_ReturnsTextsAndFiles(t *testing.T) {
	beside := folder(t, map[string]string{"a.txt": "A", "p.png": png, "b.md": "# B",
		"large.txt": strings.Repeat("x", maxFile+1)})
	v := New(nil, []Resource{{URI: "t://text", Text: "hello {id}"},
		{URI: "t://file", File: "a.txt"}, {URI: "t://image", File: "p.png"},
		{URI: "t://large", File: "large.txt"}, {URI: "t://b", File: "b.md"},
		{URI: "t://gone", File: "gone"},
		{URI: "t://o/{id}/x/{n}", Text: `{"id":"{id}","n":{n},"o":{o}}`}}, beside).For("default", nil)
	for _, tt := range []struct{ uri, mime, want string }{
		{"t://text", "text/plain", "hello {id}"},
		{"t://file", "text/plain", "A"},
		{"t://image", "image/png", "binary"},
		{"t://large", "", "error"},
		{"t://gone", "", "not found"},
		{"t://b", "text/markdown", "# B"},
		{"t://o/a%2Fb/x/3", "text/plain", `{"id":"a/b","n":3,"o":{o}}`},
		{"t://o/a/b/x/3", "", "not found"},
		{"t://nothing", "", "not found"},
	} {
		c, err := v.Read(tt.uri)
		got := string(c.Data)
		switch {
		case errors.Is(err, ErrNotFound):
			got = "not found"
		case err != nil:
			got = "error"
		case !c.Text:
			got = "binary"
		}
		if got != tt.want || c.MIMEType != tt.mime {
			t.Errorf("%s: %q of %q, want %q of %q", tt.uri, got, c.MIMEType, tt.want, tt.mime)
		}
	}
	var listed []string
	for _, l := range v.Resources() {
		listed = append(listed, l.URI)
	}
	if want := []string{"t://text", "t://file", "t://image", "t://large", "t://b", "t://gone"}; !slices.Equal(listed, want) {
		t.Errorf("listed %v, want %v", listed, want)
	}
	if n := len(v.Templates()); n != 1 {
		t.Errorf("%d templates", n)
	}
}

func TestFor_GivesWhatServerAndClaimsAllow(t *testing.T) {
	set := New([]Prompt{{Name: "b"}, {Name: "a", Servers: []string{"billing"}},
		{Name: "c", Claims: map[string][]string{"groups": {"ops"}}}},
		[]Resource{{URI: "t://r", Text: "x", Servers: []string{"billing"}}}, nil)
	ops := map[string]any{"groups": []any{"ops"}}
	for _, tt := range []struct {
		server string
		claims map[string]any
		want   string
	}{{"default", nil, "b"}, {"billing", nil, "a b t://r"}, {"billing", ops, "a b c t://r"}} {
		v := set.For(tt.server, tt.claims)
		var got []string
		for _, p := range v.Prompts {
			got = append(got, p.Name)
		}
		for _, l := range v.Resources() {
			got = append(got, l.URI)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s, %v: %v, want %s", tt.server, tt.claims, got, tt.want)
		}
	}
	if _, err := set.For("default", nil).Prompt("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a prompt of another server: %v", err)
	}
	var none *Set
	if v := none.For("default", nil); none.HasPrompts() || none.HasResources() ||
		len(v.Prompts)+len(v.Resources()) > 0 {
		t.Error("no set has something")
	}
}

func TestComplete_ReturnsValuesThatBeginAlike(t *testing.T) {
	arguments := []Argument{{Name: "city", Values: []string{"Paris", "Parma", "Rome"}}}
	set := New([]Prompt{{Name: "p", Arguments: arguments}},
		[]Resource{{URI: "t://{city}/{day}", Text: "x", Arguments: arguments}}, nil)
	v := set.For("default", nil)
	p, err := v.Prompt("p")
	if err != nil {
		t.Fatal(err)
	}
	values, total, err := p.Complete("city", "pAr")
	if err != nil || total != 2 || !slices.Equal(values, []string{"Paris", "Parma"}) {
		t.Errorf("%v %d %v", values, total, err)
	}
	if values, _, err = v.Complete("t://{city}/{day}", "day", "1"); err != nil || len(values) > 0 {
		t.Errorf("%v %v", values, err)
	}
	if values, _, err = v.Complete("t://{city}/{day}", "city", "r"); err != nil ||
		!slices.Equal(values, []string{"Rome"}) {
		t.Errorf("%v %v", values, err)
	}
	for _, uri := range []string{"t://{city}/{day}", "t://other"} {
		if _, _, err := v.Complete(uri, "hour", ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, _, err := p.Complete("street", ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("another argument: %v", err)
	}
}

func TestCheck_ReportsEveryFault(t *testing.T) {
	beside := folder(t, map[string]string{"a.txt": "A", "x.bin": "\x00\xff"})
	found := &strictyaml.Findings{}
	text := Message{Text: "x"}
	Check([]Prompt{{Name: "ok", Messages: []Message{text, {File: "a.txt"}}},
		{Name: "no name", Messages: []Message{text}},
		{Name: "ok", Arguments: []Argument{{Name: "a"}, {Name: "a"}, {Name: "b c"}},
			Messages: []Message{{}, {File: "gone"}, {File: "x.bin"}, {Text: "x", File: "a.txt"}}}},
		[]Resource{{URI: "t://ok", Text: "x"}, {URI: "t://ok", Text: "x"},
			{URI: "relative", Text: "x"}, {URI: "t://{a}/{a}", Text: "x"},
			{URI: "t://{a-b}", Text: "x"}, {URI: "t://two", Text: "x", File: "a.txt"},
			{URI: "t://file/{a}", File: "a.txt"}, {URI: "t://gone", File: "gone"},
			{URI: "t://nofile", File: "."},
			{URI: "t://arg/{a}", Text: "x", Arguments: []Argument{{Name: "b"}}}}, beside, found)
	var got []string
	for _, f := range found.All {
		got = append(got, f.Path)
	}
	want := []string{"$.prompts[1].name", "$.prompts[2].name", "$.prompts[2].arguments[1].name",
		"$.prompts[2].arguments[2].name", "$.prompts[2].messages[0]",
		"$.prompts[2].messages[1].file", "$.prompts[2].messages[2].file",
		"$.prompts[2].messages[3]", "$.resources[1].uri", "$.resources[2].uri",
		"$.resources[3].uri", "$.resources[4].uri", "$.resources[5]", "$.resources[6].uri",
		"$.resources[7]", "$.resources[8]", "$.resources[9].arguments[0].name"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
