package policies

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/internal/test/golden"
)

// Cases can set every fact. They report rules with another decision than expected, and rules
// without cases of both decisions.
func TestCases_NameRulesThatDecideOtherwise(t *testing.T) {
	cases, err := LoadCases(filepath.Join("testdata", "cases", "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for _, tried := range cases.Try() {
		if !tried.OK {
			wrong = append(wrong, tried.Name+":"+string(tried.Got))
		}
	}
	if !slices.Equal(wrong, []string{"wrong rule:deny", "wrong effect:warn"}) {
		t.Errorf("wrong are %q", wrong)
	}
	never, always := cases.OneSided()
	if !slices.Equal(never, []string{"never"}) || len(always) > 0 {
		t.Errorf("never: %q, always: %q", never, always)
	}
	cases.Cases = cases.Cases[len(cases.Cases)-1:]
	if _, always := cases.OneSided(); !slices.Equal(always, []string{"always"}) {
		t.Errorf("always: %q", always)
	}
}

// Faults of the rule files are reported too, each with its place.
func TestCases_ReportEveryFault(t *testing.T) {
	_, err := LoadCases(filepath.Join("testdata", "cases", "bad.yaml"))
	if err == nil {
		t.Fatal("it was read")
	}
	golden.Compare(t, filepath.Join("testdata", "cases", "bad.yaml.faults"), err.Error()+"\n")
	if _, err := LoadCases("testdata/nowhere.yaml"); err == nil || err.Error() != "testdata/nowhere.yaml: cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

// Every example rule has cases of both decisions.
func TestShippedRules_PassTheirCases(t *testing.T) {
	files, err := filepath.Glob("../../examples/policies/*.cases.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		cases, err := LoadCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, tried := range cases.Try() {
			if !tried.OK {
				t.Errorf("%s: got %s by %+v, want %s by %s", tried.Name, tried.Got, tried.Policies,
					tried.Want, tried.Rule)
			}
		}
		if never, always := cases.OneSided(); len(never)+len(always) > 0 {
			t.Errorf("%s tries these one way alone: %q, %q", file, never, always)
		}
	}
}
