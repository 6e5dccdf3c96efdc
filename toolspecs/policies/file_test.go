package policies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/test/golden"
)

// Every file in testdata has exactly the faults of its golden file: each with line, column, the
// rule, the position in its expression and a hint, all at once. Files named _good have none.
func TestDecode_ReportsTheFaultsOfGoldenFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Decode(filepath.Base(file), data)
		if good := strings.Contains(file, "_good."); good != (err == nil) || good != (set != nil) {
			t.Errorf("%s: set: %v, faults: %v", file, set, err)
		}
		if err == nil {
			continue
		}
		golden.Compare(t, file+".faults", err.Error()+"\n")
	}
}

// Encoded rules compile again.
func TestLoad_KeepsRulesInOrder(t *testing.T) {
	set, err := Load(filepath.Join("testdata", "all_good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []api.PolicyRule{
		{Name: "no-leak.1", When: "'untrusted' in labels && 'external_write' in tool.effects",
			Then: "deny", Message: "what was read may have been written by anybody"},
		{Name: "big", When: "has(args.size) &&\nargs.size > 1000\n", Then: "ask",
			Message: "more than a thousand", Tools: []string{"send_file", "upload"},
			Agents: []string{"clerk"}, Approvers: []api.Approver{{Name: "ada"},
				{Role: api.RoleApprover, Claims: map[string][]string{"groups": {"finance"}}}}},
		{Name: "night", When: "now.getHours() < 6", Then: "warn", Message: "it is night"},
	}
	if got := set.Rules(); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	met := checkAll(sending(), NewSet(set.Rules()...))
	if len(met) != 2 || met[0].Rule != "no-leak.1" || met[1].Rule != "big" {
		t.Errorf("met are %+v", met)
	}
	folder := t.TempDir()
	if _, err := Load(folder); err == nil ||
		err.Error() != folder+": cannot be read: it is not a regular file" {
		t.Errorf("got %v", err)
	}
	var many strings.Builder
	many.WriteString("policies:\n")
	for i := range maxRules + 1 {
		fmt.Fprintf(&many, "  - {name: r%d, when: 'true', then: deny, message: m}\n", i)
	}
	if _, err := Decode("many.yaml", []byte(many.String())); err == nil ||
		err.Error() != "many.yaml:2:3: there are 1001 rules; a file may have 1000 (combine rules: one rule can apply to several tools)" {
		t.Errorf("got %v", err)
	}
}

// An edit takes effect. An invalid edit keeps the rules in force.
func TestWatch_KeepsTheLastValidRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.yaml")
	write := func(name, when string) {
		text := fmt.Sprintf("policies: [{name: %s, when: %q, then: deny, message: m}]\n", name,
			when)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Watch(path, 0, nil, nil); err == nil {
		t.Fatal("a file that is not there was followed")
	}
	write("one", "true")
	events := make(chan string, 10)
	w, err := Watch(path, 10*time.Millisecond, func(s *Set) {
		events <- strings.Join(s.Names(),
			" ")
	}, func(err error) {
		if _, ok := errors.AsType[strictyaml.Faults](err); !ok {
			t.Errorf("got %v", err)
		}
		events <- "fault"
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, step := range []struct{ name, when, events, inForce string }{
		{"two", "true", "two", "two"}, {"broken", "tool", "fault", "two"},
		{"three", "true", "three", "three"},
	} {
		write(step.name, step.when)
		select {
		case got := <-events:
			if got != step.events || w.Value().Names()[0] != step.inForce {
				t.Errorf("%s: event %s, in force %q", step.name, got, w.Value().Names())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no event for %s", step.name)
		}
	}
}

// FuzzDecode passes any bytes to the decoder. It does not panic, and accepted rules can be
// evaluated.
func FuzzDecode(f *testing.F) {
	golden.Seed(f, filepath.Join("testdata", "*.yaml"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if set, err := Decode("f.yaml", data); err == nil {
			checkAll(sending(), set)
		}
	})
}
