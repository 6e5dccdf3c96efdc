package admission

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

func admitBench(t testing.TB) (*bench, api.AdmissionRequest) {
	catalog := catalogOf(t,
		spec("read_file", nil),
		spec("count", func(s *toolspecs.Spec) {
			s.Parameters = []toolspecs.Parameter{{Name: "n", Type: "integer", Required: true},
				{Name: "unit", Type: "string", Default: json.RawMessage(`"words"`)}}
		}),
		spec("pay", func(s *toolspecs.Spec) {
			s.Parameters = append(s.Parameters, toolspecs.Parameter{Name: "card", Type: "string",
				Sensitive: true})
		}),
		spec("old", func(s *toolspecs.Spec) { s.Status = api.StatusDeprecated }),
		spec("off", func(s *toolspecs.Spec) { s.Status = api.StatusDisabled }),
		spec("needs", func(s *toolspecs.Spec) {
			s.Requires.Variables = []string{"project",
				"region"}
		}),
	)
	r := api.AdmissionRequest{Tools: toolsOf(catalog)}
	for _, tool := range r.Tools {
		r.Known = append(r.Known, tool.Name)
	}
	return setUp(t, catalog, nil), r
}

func (b *bench) admit(t testing.TB, r api.AdmissionRequest) []api.AdmissionDecision {
	t.Helper()
	decisions, err := b.Admit(t.Context(), r)
	if err != nil || len(decisions) != len(r.Calls) {
		t.Fatalf("%d decisions on %d calls, %v", len(decisions), len(r.Calls), err)
	}
	for i, v := range decisions {
		if v.ID != r.Calls[i].ID || v.Error != nil && (v.Error.Phase == "" || v.Error.Retryable) {
			t.Errorf("decision %d is %+v", i, v)
		}
	}
	return decisions
}

// Each refusal has its type and names the tool and the fault. Other calls are not affected.
func TestAdmit_RefusesWithTypeAndReason(t *testing.T) {
	b, r := admitBench(t)
	cases := []struct {
		name, tool, arguments string
		want                  api.ErrorType
		message               string
		near                  []string
	}{
		{"unknown with a near name", "readFile", `{}`, api.ErrToolNotFound, `tool_not_found: there is no tool "readFile"`,
			[]string{"read_file"}},
		{"unknown without one", "launch_rocket", `{}`, api.ErrToolNotFound,
			`tool_not_found: there is no tool "launch_rocket"; there are: count, needs, off, old, pay, read_file`, nil},
		{"no name", "", `{}`, api.ErrToolNotFound, `tool_not_found: there is no tool ""; there are: count, needs, off, old, pay, read_file`, nil},
		{"a very long name", strings.Repeat("x", 1<<20), `{}`, api.ErrToolNotFound,
			`tool_not_found: there is no tool "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"; there are: count, needs, off, old, pay, read_file`, nil},
		{"disabled", "off", `{}`, api.ErrToolNotActive, `tool_not_active: tool "off" is disabled`,
			[]string{"count", "needs", "old", "pay", "read_file"}},
		{"variable missing", "needs", `{"text":"a"}`, api.ErrPreconditionFailed,
			`precondition_failed: tool "needs" needs the run variable "region"; start the run with --var region=…`, nil},
		{"no JSON", "count", `{"n": 1`, api.ErrValidation, "validation_error: the arguments of count do not fit\n  $: the arguments are not valid JSON: the text ends within a JSON value, at byte 7", nil},
		{"several faults", "count", `{"n":"one","m":2}`, api.ErrValidation, "validation_error: the arguments of count do not fit\n  $.m: there is no argument \"m\"; known: n, unit\n  $.n: must be an integer, not the string \"one\"",
			nil},
		{"what stands for a value that is not shown", "pay", `{"text":"a","card":"***"}`,
			api.ErrValidation, "validation_error: the arguments of pay do not fit\n  $: *** stands for a sensitive value that is not shown; give the value itself", nil},
		{"no object", "count", `[1]`, api.ErrValidation, "validation_error: the arguments of count do not fit\n  $: the arguments must be an object, such as {}, not an array", nil},
	}
	r.Variables = []string{"project"}
	for _, c := range cases {
		r.Calls = append(r.Calls, api.Call{ID: c.name, Tool: c.tool, Arguments: c.arguments},
			api.Call{ID: "good", Tool: "count", Arguments: `{"n":1}`})
	}
	decisions := b.admit(t, r)
	for i, c := range cases {
		e := decisions[2*i].Error
		if e == nil || e.Type != c.want || e.Error() != c.message ||
			!slices.Equal(e.Near, c.near) || len(e.Message) > 1000 {
			t.Errorf("%s: got %.300v, near %q", c.name, e, e.Near)
		}
		if good := decisions[2*i+1]; good.Error != nil {
			t.Errorf("the call after it was refused: %v", good.Error)
		}
	}
}

// Similar names and active tools come from the whole catalog. If no name is similar, the message
// says how to find the tool on other workers.
func TestAdmit_SuggestsToolsForDirectCalls(t *testing.T) {
	b, r := admitBench(t)
	r.Known, r.AnyTool = nil, true
	r.Calls = []api.Call{{ID: "1", Tool: "cuont"}, {ID: "2", Tool: "off"},
		{ID: "3", Tool: "elsewhere"}}
	decisions := b.admit(t, r)
	if e := decisions[2].Error; e.Type != api.ErrToolNotFound || len(e.Near) > 0 ||
		e.Message != `there is no tool "elsewhere" on the worker that was asked; which worker holds which tools is shown by: starter tools list --workers` {
		t.Errorf("got %v, near %q", e, e.Near)
	}
	if e := decisions[0].Error; e.Type != api.ErrToolNotFound || !slices.Contains(e.Near, "count") {
		t.Errorf("got %v, near %q", e, e.Near)
	}
	if e := decisions[1].Error; e.Type != api.ErrToolNotActive ||
		!slices.Equal(e.Near, []string{"count", "needs", "old", "pay", "read_file"}) {
		t.Errorf("got %v, near %q", e, e.Near)
	}
}

// A decision contains arguments only if they differ from those of the caller. It has notes about
// changes and a count of tokens.
func TestAdmit_RecordsChangedArguments(t *testing.T) {
	b, r := admitBench(t)
	cases := []struct {
		name, tool, arguments string
		mode                  api.Mode
		want                  string
		notes                 int
	}{
		{"as written", "read_file", `{"text":"a"}`, "", "", 0},
		{"white space", "read_file", `{ "text" : "a" }`, "", `{"text":"a"}`, 0},
		{"default", "count", `{"n":1}`, api.ModeStrict, `{"n":1,"unit":"words"}`, 0},
		{"lenient", "count", `{"n":"5","unit":"lines","extra":true}`, api.ModeLenient,
			`{"n":5,"unit":"lines"}`, 2},
		{"deprecated", "old", `{"text":"a"}`, "", "", 1},
		{"big number", "count", `{"n":123456789012345678901234567890,"unit":"x"}`, "", "", 0},
	}
	for _, c := range cases {
		r.Calls, r.Mode = []api.Call{{ID: "1", Tool: c.tool, Arguments: c.arguments}}, c.mode
		v := b.admit(t, r)[0]
		if v.Error != nil || string(v.Arguments) != c.want || len(v.Notes) != c.notes ||
			v.Tokens == 0 {
			t.Errorf("%s: got %s, notes %q, %d tokens, %v", c.name, v.Arguments, v.Notes, v.Tokens,
				v.Error)
		}
	}
}

// Refused calls use none of it.
func TestAdmit_GivesTheBudgetToAdmittedCalls(t *testing.T) {
	b, r := admitBench(t)
	good, bad := api.Call{Tool: "count", Arguments: `{"n":1}`}, api.Call{Tool: "nothing"}
	r.Calls = []api.Call{bad, good, bad, good, good}
	for allow := range 5 {
		r.Allow = &allow
		admitted := 0
		for i, v := range b.admit(t, r) {
			switch {
			case r.Calls[i].Tool == "nothing":
				if v.Error.Type != api.ErrToolNotFound {
					t.Errorf("got %v", v.Error)
				}
			case admitted < allow:
				admitted++
				if v.Error != nil {
					t.Errorf("allow %d: call %d was refused: %v", allow, i, v.Error)
				}
			case v.Error == nil || v.Error.Type != api.ErrBudgetExceeded ||
				v.Error.Phase != api.PhasePreExecution:
				t.Errorf("allow %d: call %d got %v", allow, i, v.Error)
			}
		}
	}
	r.Allow = nil
	for i, v := range b.admit(t, r) {
		if (v.Error == nil) != (r.Calls[i].Tool == "count") {
			t.Errorf("without a budget call %d got %v", i, v.Error)
		}
	}
}

// Other calls are not affected.
func TestAdmit_ReportsUnusablePinnedSpecs(t *testing.T) {
	b, r := admitBench(t)
	r.Tools = []api.Tool{{Name: "broken", Digest: "x",
		Spec: json.RawMessage(`{"name":"broken","of":"the future"}`)}}
	r.Calls = []api.Call{{ID: "1", Tool: "broken", Arguments: "{}"}}
	if e := b.admit(t, r)[0].Error; e == nil || e.Type != api.ErrExecutorNotFound ||
		e.Message != "the pinned toolspec of \"broken\" cannot be used here: the pinned spec of tool \"broken\": toolspec \"broken\": $.description: description is missing\ntoolspec \"broken\": $.entry: entry is missing\ntoolspec \"broken\": $.version: version is missing" {
		t.Errorf("got %v", e)
	}
}

func TestAdmit_AnswersAnyNameAndArguments(t *testing.T) {
	b, r := admitBench(t)
	for _, s := range cases.NaughtyStrings(t) {
		text, _ := json.Marshal(s)
		r.Calls = []api.Call{{ID: "1", Tool: s, Arguments: s}, {ID: "2", Tool: "count",
			Arguments: s}, {ID: "3", Tool: "read_file", Arguments: `{"text":` + string(text) + `}`}}
		decisions := b.admit(t, r)
		if decisions[0].Error == nil || decisions[1].Error == nil || decisions[2].Error != nil {
			t.Errorf("%q: got %+v", s, decisions)
		}
	}
}

// BenchmarkAdmit admits one call with 100 bytes of arguments, and one with 1 KB.
func BenchmarkAdmit(b *testing.B) {
	bench, r := admitBench(b)
	for name, size := range map[string]int{"100B": 100, "1KB": 1024} {
		text, _ := json.Marshal(map[string]string{"text": expect.GoSource(b)[:size]})
		r.Calls = []api.Call{{ID: "1.1", Tool: "read_file", Arguments: string(text)}}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if v, err := bench.Admit(b.Context(), r); err != nil || v[0].Error != nil {
					b.Fatal(v, err)
				}
			}
		})
	}
}

// A panic while one call is admitted refuses this call and ends nothing else.
func TestAdmit_PanicRefusesTheCallAlone(t *testing.T) {
	_, r := admitBench(t)
	asked := 0
	b := setUp(t, catalogOf(t, spec("read_file", nil)), func(c *Config) {
		c.Lanes = func() *lanes.Set {
			if asked++; asked == 1 {
				panic("a fault of a lane")
			}
			return lanes.NewSet()
		}
	})
	r.Base = "queue"
	r.Calls = []api.Call{{ID: "1.1", Tool: "read_file", Arguments: `{"text":"a"}`},
		{ID: "1.2", Tool: "read_file", Arguments: `{"text":"b"}`}}
	decisions := b.admit(t, r)
	if e := decisions[0].Error; e == nil || e.Type != api.ErrExecution ||
		strings.Contains(e.Message, "lane") {
		t.Errorf("the first call: %v", e)
	}
	if e := decisions[1].Error; e != nil {
		t.Errorf("the second call: %v", e)
	}
}
