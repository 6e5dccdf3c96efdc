package conformance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// outcome is the outcome of one scenario.
type outcome struct {
	scenario string
	// passed and failed count the suite's checks; a warning counts as failed.
	passed, failed int
	// checks are the failed checks, and messages what they say.
	checks, messages []string
	// trouble is why the orchestrator did not do what the scenario requires; empty if it did. The
	// suite cannot notice that, because it checks the messages only.
	trouble string
}

// fault returns why a scenario failed; empty if it passed.
func (o outcome) fault() string {
	switch {
	case o.trouble != "":
		return o.trouble
	case o.failed > 0:
		return fmt.Sprintf("%d of %d checks failed: %s", o.failed, o.passed+o.failed,
			strings.Join(o.messages, "; "))
	case o.passed == 0:
		return "the suite checked nothing"
	}
	return ""
}

// knownFailures maps scenarios that are expected to fail to the reason.
type knownFailures map[string]string

// print lists the expected failures among the outcomes, grouped by reason.
func (k knownFailures) print(outcomes []outcome) {
	byReason := map[string][]string{}
	for _, o := range outcomes {
		if reason := k[o.scenario]; reason != "" {
			byReason[reason] = append(byReason[reason], o.scenario)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Printf("Expected to fail, %d: %s\n\t%s\n\n", len(byReason[reason]), reason,
			strings.Join(byReason[reason], "\n\t"))
	}
}

// evaluate returns everything that fails a run of the suite: a required scenario that was not run
// or failed unexpectedly, and an expected failure that passed or is not required.
func evaluate(required []string, outcomes []outcome, known knownFailures) []string {
	byName := map[string]outcome{}
	for _, o := range outcomes {
		byName[o.scenario] = o
	}
	var faults []string
	if len(required) == 0 {
		faults = append(faults, "no scenario is required: the list was not read")
	}
	for _, name := range required {
		o, ran := byName[name]
		fault := o.fault()
		switch {
		case !ran:
			faults = append(faults, name+": was not run")
		case fault != "" && known[name] == "":
			faults = append(faults, name+": "+fault)
		case fault == "" && known[name] != "":
			faults = append(faults, name+": passes now: take it out of the expected failures")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(required, name) {
			faults = append(faults, name+
				": is expected to fail and is no scenario that is required")
		}
	}
	return faults
}

// readKnownFailures reads the checked-in list. An entry without a reason or a duplicate is an
// error.
func readKnownFailures(data []byte) (knownFailures, error) {
	var groups []struct {
		Reason    string
		Scenarios []string
	}
	if err := yaml.Unmarshal(data, &groups); err != nil {
		return nil, err
	}
	known := knownFailures{}
	for i, g := range groups {
		if strings.TrimSpace(g.Reason) == "" {
			return nil, fmt.Errorf("group %d has no reason", i+1)
		}
		for _, name := range g.Scenarios {
			if known[name] != "" {
				return nil, fmt.Errorf("%s is listed twice", name)
			}
			known[name] = g.Reason
		}
	}
	return known, nil
}

// resultFolder matches the name of a scenario's folder among the results: the scenario and its
// start time.
var resultFolder = regexp.MustCompile(`^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readOutcomes reads the suite's results: one folder of checks for each scenario.
func readOutcomes(dir string) ([]outcome, error) {
	var outcomes []outcome
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := resultFolder.FindStringSubmatch(filepath.ToSlash(folder))
		if name == nil {
			return fmt.Errorf("%s is not named by a scenario and a time", folder)
		}
		o, err := readChecks(path)
		o.scenario = name[1]
		outcomes = append(outcomes, o)
		return err
	})
	return outcomes, err
}

func readChecks(path string) (outcome, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return outcome{}, err
	}
	var checks []struct{ ID, Status, Description, ErrorMessage string }
	if err := json.Unmarshal(data, &checks); err != nil {
		return outcome{}, fmt.Errorf("%s: %w", path, err)
	}
	var o outcome
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			o.passed++
		case "FAILURE", "WARNING":
			o.failed++
			message := c.ErrorMessage
			if message == "" {
				message = c.Description
			}
			o.checks = append(o.checks, c.ID)
			o.messages = append(o.messages, c.ID+": "+message)
		}
	}
	return o, nil
}

// The run fails for every deviation from the expected outcomes, and for nothing else.
func TestOutcome_OfScenarios(t *testing.T) {
	good, bad := outcome{scenario: "a", passed: 2}, outcome{scenario: "a", passed: 1, failed: 1,
		messages: []string{"check: why"}}
	tests := []struct {
		name     string
		required []string
		outcomes []outcome
		known    knownFailures
		want     []string
	}{
		{"passes", []string{"a"}, []outcome{good}, nil, nil},
		{"fails", []string{"a"}, []outcome{bad}, nil,
			[]string{"a: 1 of 2 checks failed: check: why"}},
		{"fails as expected", []string{"a"}, []outcome{bad}, knownFailures{"a": "because"}, nil},
		{"passes unexpectedly", []string{"a"}, []outcome{good}, knownFailures{"a": "because"},
			[]string{"a: passes now: take it out of the expected failures"}},
		{"checks nothing", []string{"a"}, []outcome{{scenario: "a"}}, nil,
			[]string{"a: the suite checked nothing"}},
		{"does not run to its end", []string{"a"},
			[]outcome{{scenario: "a", passed: 2, trouble: "no answer"}}, nil,
			[]string{"a: no answer"}},
		{"is not run", []string{"a", "b"}, []outcome{good}, nil, []string{"b: was not run"}},
		{"is not required", []string{"a"}, []outcome{good, {scenario: "b", failed: 1}}, nil, nil},
		{"is expected to fail and not required", []string{"a"}, []outcome{good},
			knownFailures{"b": "because"},
			[]string{"b: is expected to fail and is no scenario that is required"}},
		{"nothing is required", nil, nil, nil,
			[]string{"no scenario is required: the list was not read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := evaluate(tt.required, tt.outcomes, tt.known); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Warnings count as failures.
func TestReadOutcomes_ReadsTheSuitesFolders(t *testing.T) {
	dir := t.TempDir()
	for name, checks := range map[string]string{
		"auth/basic-2026-11-21T20-43-48-161Z": `[{"id":"x","status":"INFO"},{"id":"y","status":"SUCCESS"}]`,
		"plain-2026-11-21T20-43-48-144Z": `[{"id":"y","status":"SUCCESS"},{"id":"w","status":"WARNING","description":"should"},
			{"id":"z","status":"FAILURE","description":"must","errorMessage":"did not"}]`,
	} {
		folder := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "checks.json"), []byte(checks),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readOutcomes(dir)
	if want := "[{auth/basic 1 0 [] [] } {plain 1 2 [w z] [w: should z: did not] }]"; err != nil ||
		fmt.Sprint(got) != want {
		t.Errorf("got %v %v, want %s", got, err, want)
	}
}

// A list without reasons is refused.
func TestKnownFailures_HaveReasons(t *testing.T) {
	for text, want := range map[string]string{
		"- {reason: because, scenarios: [a, b]}": "map[a:because b:because]",
		"":                                       "map[]",
		"- {scenarios: [a]}":                     "group 1 has no reason",
		"- {reason: r, scenarios: [a, a]}":       "a is listed twice",
	} {
		known, err := readKnownFailures([]byte(text))
		got := fmt.Sprint(map[string]string(known))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
	checkedIn(t)
}

// checkedIn returns the checked-in list.
func checkedIn(t *testing.T) knownFailures {
	t.Helper()
	data, err := os.ReadFile("expected-failures.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known, err := readKnownFailures(data)
	if err != nil {
		t.Fatalf("expected-failures.yaml: %v", err)
	}
	return known
}
