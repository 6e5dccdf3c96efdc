package run_test

import (
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/run"
	"github.com/switchyard/switchyard/workflows"
)

var (
	pay  = api.Tool{Name: "pay", Effect: api.EffectOnce}
	look = api.Tool{Name: "look", Effect: api.EffectRead}
)

func call(id, tool, arguments string) api.Call {
	return api.Call{ID: id, Tool: tool, Arguments: arguments}
}

func done(id, tool, output string) api.CallOutcome {
	return api.CallOutcome{ID: id, Tool: tool, Result: &api.Result{Output: []byte(output)}}
}

func failed(id, tool string, e *api.Error) api.CallOutcome {
	return api.CallOutcome{ID: id, Tool: tool, Error: e}
}

// observed returns an observer of a run of three turns: a look and four payments of which the last
// one runs, then another look.
func observed() *run.Observer {
	o := run.NewObserver()
	messages := []api.Message{{Role: api.RoleSystem, Text: "Be brief."},
		{Role: api.RoleUser, Text: "Go."}}
	o.RecordPoint(run.Point{Turn: 1, Messages: messages})
	first := api.Message{Role: api.RoleAssistant, Calls: []api.Call{call("1.1", "look", `{}`)}}
	o.RecordAnswer(1, first)
	o.Began(first.Calls[0], look, []byte(`{}`))
	seen := done("1.1", "look", `"seen"`)
	told := seen.Message()
	told.Text += " [hint]"
	o.Told([]api.CallOutcome{seen}, []api.Message{told}, []string{"untrusted"})
	o.RecordPoint(run.Point{Turn: 2, Messages: append(slices.Clone(messages), first, told),
		Labels: []string{"untrusted"}, Calls: []api.PastCalls{{Tool: "look", Completed: 1}}})
	second := api.Message{Role: api.RoleAssistant}
	for _, id := range []string{"2.1", "2.2", "2.3", "2.4"} {
		second.Calls = append(second.Calls, call(id, "pay", `{"to": "`+id+`"}`))
	}
	o.RecordAnswer(2, second)
	for _, c := range second.Calls {
		o.Began(c, pay, []byte(c.Arguments))
	}
	o.RecordOutcome(second.Calls[0], done("2.1", "pay", `"paid"`), []string{"paid", "untrusted"})
	o.RecordOutcome(second.Calls[1], failed("2.2", "pay", api.Errorf(api.ErrExecution, "declined")), nil)
	o.RecordOutcome(second.Calls[2], failed("2.3", "pay", api.Errorf(api.ErrOutcomeUnknown, "cut off")), nil)
	return o
}

// sources returns the calls that are not repeated, and how they are answered.
func sources(recorded []forks.RecordedCall) (list []string) {
	for _, r := range recorded {
		text := r.Source + " " + string(r.Output)
		if r.Error != nil {
			text += string(r.Error.Type)
		}
		list = append(list, text)
	}
	return list
}

func TestState_HasWhatPrecedesThePoint(t *testing.T) {
	source := run.Source{WorkflowID: "run", Prompt: "Go."}
	paid := []string{`call 2.1 of run run "paid"`, "call 2.3 of run run outcome_unknown",
		"call 2.4 of run run outcome_unknown"}
	for _, c := range []struct {
		at              string
		texts, recorded []string
		turn, calls     int
		labels          []string
	}{
		{"1", []string{"Go."}, paid, 0, 0, nil},
		{"1.1", []string{"Go.", ""}, paid, 1, 0, nil},
		{"2", []string{"Go.", "", `"seen" [hint]`}, paid, 1, 1, []string{"untrusted"}},
		{"2.2", []string{"Go.", "", `"seen" [hint]`, "", `"paid"`}, paid[1:], 2, 2,
			[]string{"paid", "untrusted"}},
	} {
		taken, err := observed().State(source, c.at, run.Edits{})
		if err != nil {
			t.Errorf("%s: %v", c.at, err)
			continue
		}
		var texts []string
		for _, m := range taken.State.Messages {
			texts = append(texts, m.Text)
		}
		want := slices.Clone(c.texts)
		for i, m := range taken.State.Messages {
			if m.Role == api.RoleTool && i < len(want) {
				out := done(m.CallID, "", map[string]string{"1.1": `"seen"`, "2.1": `"paid"`}[m.CallID])
				want[i] = out.Message().Text
				if m.CallID == "1.1" {
					want[i] += " [hint]"
				}
			}
		}
		if !slices.Equal(texts, want) || !slices.Equal(sources(taken.State.Recorded), c.recorded) ||
			taken.Turn != c.turn || taken.Calls != c.calls ||
			!slices.Equal(taken.State.Labels, c.labels) {
			t.Errorf("%s: %q, recorded %q, turn %d, %d calls, labels %q", c.at, texts,
				sources(taken.State.Recorded), taken.Turn, taken.Calls, taken.State.Labels)
		}
	}
	if calls := mustState(t, observed(), "2.3").State.Calls; len(calls) != 2 ||
		calls[1] != (api.PastCalls{Tool: "pay", Completed: 1, Failed: 1}) {
		t.Errorf("the calls for policies are %+v", calls)
	}
}

func mustState(t *testing.T, o *run.Observer, at string) run.Taken {
	t.Helper()
	taken, err := o.State(run.Source{WorkflowID: "run", Prompt: "Go."}, at, run.Edits{})
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// A payment that the source has undone is not made again either, and an equal call of a run that
// was forked itself has the outcome of the first source.
func TestState_KnowsUndoneCallsAndEarlierSources(t *testing.T) {
	o := observed()
	undo := call("undo-2.1", "refund", `{}`)
	undo.CallPurpose = api.CallPurpose{Purpose: api.PurposeUndo, TargetCallID: "2.1"}
	o.RecordOutcome(undo, done("undo-2.1", "refund", `1`), nil)
	first := forks.RecordedCall{Key: "k", Source: "call 1.1 of run first", Output: []byte(`"old"`)}
	second := forks.RecordedCall{Key: "l", Source: "call 1.2 of run first", Output: []byte(`"older"`)}
	o.RecordPoint(run.Point{Turn: 3, Recorded: []forks.RecordedCall{first, second}})
	o.TakeOver(call("3.1", "pay", `{}`), pay, first)
	want := []string{"call 2.1 of run run policy_violation", "call 2.3 of run run outcome_unknown",
		"call 2.4 of run run outcome_unknown", `call 1.1 of run first "old"`,
		`call 1.2 of run first "older"`}
	if got := sources(mustState(t, o, "2").State.Recorded); !slices.Equal(got, want) {
		t.Errorf("recorded: %q, want %q", got, want)
	}
}

func TestState_RefusesPointsWithoutAState(t *testing.T) {
	live := observed()
	live.RecordPoint(run.Point{Turn: 3, Instances: []workflows.Instance{{Name: "shell", Live: true}}})
	prompt := "Other."
	for _, c := range []struct {
		at, want string
		edits    run.Edits
	}{
		{at: "x", want: `"x" is neither a turn, such as 3, nor a call, such as 3.2`},
		{at: "9", want: "the run has no turn 9; it has the turns 1 to 3"},
		{at: "1.2", want: "turn 1 has no call 1.2; it has 1 call"},
		{at: "3", want: "a worker had the instance of shell at that point, and the history has no " +
			"snapshot of it from then; pass --fresh-instances to start with a new one"},
		{at: "1", want: "the result of call 1.1 is not taken over at this point",
			edits: run.Edits{Results: map[string][]byte{"1.1": []byte("1")}}},
		{at: "3", want: "the conversation has no prompt to replace at this point",
			edits: run.Edits{Prompt: &prompt, FreshInstances: true}},
	} {
		_, err := live.State(run.Source{WorkflowID: "run", Prompt: "Go."}, c.at, c.edits)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.at, err, c.want)
		}
	}
	waiting := observed()
	waiting.RecordAnswer(2, api.Message{Role: api.RoleAssistant, Calls: []api.Call{
		call("2.9", "pay", `{}`), call("2.10", "pay", `{}`)}})
	_, err := waiting.State(run.Source{}, "2.10", run.Edits{})
	if want := "the call 2.9 before 2.10 has no outcome yet; fork at 2.9 or at 2"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// Equal calls are taken one after the other, and only those with effect once that the run itself
// does not make. A call is equal as the model wrote it, or as it would be executed.
func TestCalls_AreTakenOnceEach(t *testing.T) {
	key := api.CallDigest("pay", `{"to":"a"}`)
	recorded := []forks.RecordedCall{{Key: key, Executed: key, Source: "one"}, {Key: key, Source: "two"},
		{Key: api.CallDigest("pay", `{}`), Executed: key, Source: "three"}}
	c := run.Calls{Recorded: recorded}
	take := func(tool api.Tool, written, executed string) string {
		r := c.Take(call("4.1", tool.Name, written), tool, []byte(executed))
		if r == nil {
			return ""
		}
		return r.Source
	}
	undo := call("undo-1.1", "pay", `{"to":"a"}`)
	undo.Purpose = api.PurposeUndo
	if c.Take(undo, pay, []byte(undo.Arguments)) != nil || take(look, `{"to":"a"}`, `{"to":"a"}`) != "" ||
		take(pay, `{"to":"b"}`, `{"to":"b"}`) != "" || len(c.Recorded) != 3 {
		t.Errorf("another call is taken; left are %+v", c.Recorded)
	}
	for _, want := range []struct{ written, executed, source string }{
		{`{ "to": "a" }`, `{"to":"b"}`, "one"}, {`{"to":"a"}`, `{"to":"a"}`, "two"},
		{`{"to":"b"}`, `{"to":"a"}`, "three"}, {`{"to":"a"}`, `{"to":"a"}`, ""}} {
		if got := take(pay, want.written, want.executed); got != want.source {
			t.Errorf("took %q, want %q", got, want.source)
		}
	}
	if len(c.Recorded) > 0 {
		t.Error("calls are left")
	}
	// A person edited the first call to what the second one is.
	second := api.CallDigest("pay", `{"to":"b"}`)
	c.Recorded = []forks.RecordedCall{{Key: key, Executed: second, Source: "edited"},
		{Key: second, Executed: second, Source: "own"}}
	if got := take(pay, `{"to":"b"}`, `{"to":"b"}`); got != "own" {
		t.Errorf("took %q, want the call that the model wrote itself", got)
	}
	c.Recorded = nil
	c.Return(recorded[2])
	if take(pay, `{}`, `{}`) != "three" {
		t.Error("a call that was given back is not taken")
	}
}
