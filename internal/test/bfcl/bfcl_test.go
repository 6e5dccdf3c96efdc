package bfcl

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/cases"
)

// moves is a case: a turn whose calls need their order, and one whose calls do not.
func moves() Case {
	call := func(tool, args, result string) Call {
		return Call{Class: "Files", Tool: tool, Args: []byte(args), Result: []byte(result)}
	}
	return Case{ID: "moves", FinalState: []byte(`{"cwd":"b"}`), Turns: []Turn{
		{Calls: []Call{call("cd", `{"to":"a"}`, `{"cwd":"a"}`), call("mv", `{"to":"b"}`, `null`)}},
		{Calls: []Call{call("ls", `{}`, `["x"]`), call("pwd", `{}`, `"a"`)}, free: true}}}
}

// play makes calls on a new backend with the case and returns what it executed and its state.
func play(t *testing.T, calls ...string) (places []string, results []string, state string) {
	t.Helper()
	c := moves()
	p := position{current: &c}
	for _, call := range calls {
		tool, args, _ := strings.Cut(call, " ")
		var result, place string
		p, result, place = p.next(tool, []byte(args))
		places, results = append(places, place), append(results, result)
	}
	return places, results, p.state()
}

const cd, mv, ls, pwd = `cd {"to": "a"}`, `mv {"to":"b"}`, `ls {}`, `pwd {}`

func TestBackend_GivesRecordedResultsInTheirStateOnly(t *testing.T) {
	for name, test := range map[string]struct {
		calls  []string
		places string
		right  bool
	}{
		"as recorded":               {[]string{cd, mv, ls, pwd}, "1.1 1.2 2.1 2.2", true},
		"free order":                {[]string{cd, mv, pwd, ls}, "1.1 1.2 2.2 2.1", true},
		"wrong order":               {[]string{mv, cd, mv, ls, pwd}, " 1.1 1.2 2.1 2.2", false},
		"repeated":                  {[]string{cd, cd, mv, ls, pwd}, "1.1  1.2 2.1 2.2", false},
		"repeated in a free turn":   {[]string{cd, mv, ls, ls, pwd}, "1.1 1.2 2.1  2.2", false},
		"skipped":                   {[]string{cd, mv, ls}, "1.1 1.2 2.1", false},
		"after a loss":              {[]string{ls, pwd}, " ", false},
		"other arguments":           {[]string{`cd {"to":"c"}`}, "", false},
		"after the end of the case": {[]string{cd, mv, ls, pwd, ls}, "1.1 1.2 2.1 2.2 ", false},
	} {
		places, results, state := play(t, test.calls...)
		if got := strings.Join(places, " "); got != test.places {
			t.Errorf("%s: executed %q, want %q", name, got, test.places)
		}
		if right := state == `{"cwd":"b"}`; right != test.right {
			t.Errorf("%s: the state is %s", name, state)
		}
		for i, place := range places {
			if wrong := strings.Contains(results[i], "state"); wrong != (place == "") {
				t.Errorf("%s: %s at %q returned %s", name, test.calls[i], place, results[i])
			}
		}
	}
	if _, result, _ := (position{}).next("ls", []byte(`{}`)); !strings.Contains(result, "no case") {
		t.Errorf("without a case: %s", result)
	}
}

// right returns the run and the ledger of the case, without a fault.
func right() (ended, []Entry) {
	e, entries := ended{calls: map[string]api.Record{}}, []Entry(nil)
	for t, turn := range buildTurns(moves()) {
		for i, call := range turn {
			output, _ := json.Marshal(string(call.Result))
			id := formatPlace(t, i)
			e.calls[id] = api.Record{CallID: id, Status: api.CallCompleted,
				Result: &api.Result{Output: output}}
			entries = append(entries, Entry{Case: "moves", Tool: call.Tool, Place: call.name})
		}
	}
	return e, entries
}

func failed(kind api.ErrorType) api.Record {
	return api.Record{Status: api.CallFailed, Error: &api.Error{Type: kind}}
}

// TestEvaluate_FindsWhatNoRecordSays states what is right, reported and silently wrong. The call
// 2.2 is mv.
func TestEvaluate_FindsWhatNoRecordSays(t *testing.T) {
	output := func(text string, notes ...string) api.Record {
		return api.Record{Status: api.CallCompleted, Result: &api.Result{Output: []byte(text),
			Notes: notes}}
	}
	lost := func(e ended) {
		e.calls["2.2"] = failed(api.ErrWorkerLost)
	}
	without := func(entries []Entry) []Entry { return append(entries[:2:2], entries[3:]...) }
	same := func(entries []Entry) []Entry { return entries }
	for name, test := range map[string]struct {
		change   func(ended)
		executed func([]Entry) []Entry
		failures int
		err      error
		want     Outcome
	}{
		"no fault":     {want: Right},
		"other result": {change: func(e ended) { e.calls["2.2"] = output(`"{}"`) }, want: Wrong},
		"other result with a note": {change: func(e ended) {
			e.calls["2.2"] = output(`"{}"`, "the session is new")
		}, failures: 1, want: Reported},
		"lost":                    {change: lost, executed: without, failures: 1, want: Reported},
		"lost, not in the result": {change: lost, executed: without, want: Wrong},
		"lost, but executed":      {change: lost, executed: same, failures: 1, want: Wrong},
		"completed, not executed": {executed: without, want: Wrong},
		"no record":               {change: func(e ended) { delete(e.calls, "2.2") }, want: Wrong},
		"no record of a failed run": {change: func(e ended) { delete(e.calls, "2.2") },
			executed: without, err: errors.New("gone"), want: Reported},
		"failed run": {err: errors.New("gone"), want: Reported},
		"unknown, executed": {change: func(e ended) {
			e.calls["2.2"] = failed(api.ErrOutcomeUnknown)
		}, failures: 1, want: Reported},
		"executed twice": {executed: func(entries []Entry) []Entry {
			return append(entries, entries[2])
		}, want: Wrong},
		"executed in another state": {executed: func(entries []Entry) []Entry {
			return append(entries, Entry{Case: "moves", Tool: "mv"})
		}, want: Wrong},
		"another case": {executed: func(entries []Entry) []Entry {
			return append(entries, Entry{Case: "other", Tool: "mv"})
		}, want: Right},
	} {
		e, entries := right()
		e.result.Usage.Failed, e.err = test.failures, test.err
		if test.change != nil {
			test.change(e)
		}
		if test.executed != nil {
			entries = test.executed(entries)
		}
		if v := e.evaluate(moves(), entries); v.Outcome != test.want {
			t.Errorf("%s: got %s (%s), want %s", name, v.Outcome, v.Why, test.want)
		}
	}
}

// TestToolsOf_DeclaresTheRecordedArguments checks that every tool of the corpus can be declared.
func TestToolsOf_DeclaresTheRecordedArguments(t *testing.T) {
	all, err := Load(cases.Path(t, File))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := collectTools(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.name == "cd" {
			schema, _ := json.Marshal(tool.schema())
			want := `{"properties":{"folder":{"type":"string"}},"required":["folder"],"type":"object"}`
			if string(schema) != want {
				t.Errorf("cd: %s", schema)
			}
		}
	}
	if len(all) < 2 || len(tools) <= 64 {
		t.Errorf("%d cases, %d tools", len(all), len(tools))
	}
}
