package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
)

// runFork runs a forked run with the first of its parts. The other ones arrive as signals, in
// reverse order and twice.
func (l *lab) runFork(f api.Fork, parts [][]byte, sent bool) {
	l.t.Helper()
	f.Parts = len(parts)
	if sent {
		l.RegisterDelayedCallback(func() {
			for i := len(parts) - 1; i > 0; i-- {
				for range 2 {
					l.SignalWorkflow(api.ForkSignal, codec.ForkPart{Index: i, Data: parts[i]})
				}
			}
		}, time.Second)
	}
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: listedAgent(), Fork: &f}, parts[0])
}

// taken returns what a forked run takes over that begins with a call of the first turn.
func taken(t *testing.T) (api.Fork, codec.ForkState) {
	t.Helper()
	pending := api.Call{ID: "1.2", Tool: "store", Arguments: `{"text":"b"}`}
	answer := api.Message{Role: api.RoleAssistant, Calls: []api.Call{
		{ID: "1.1", Tool: "store", Arguments: `{"text":"a"}`}, pending}}
	made := api.CallOutcome{ID: "1.1", Tool: "store", Result: &api.Result{Output: []byte("1")}}
	return api.Fork{WorkflowID: "source", At: "1.2", Turn: 1, Pending: []api.Call{pending}},
		codec.ForkState{Labels: []string{"untrusted"}, Messages: []api.Message{
			{Role: api.RoleUser, Text: "Go."}, answer, made.Message()}}
}

// The run makes the calls of the turn in which it begins, then takes the next turn. Parts may
// arrive in any order and twice.
func TestFork_BeginsWithinATurn(t *testing.T) {
	l := newLab(t)
	f, state := taken(t)
	encoded, err := codec.EncodeFork(state)
	if err != nil || len(encoded) != 1 {
		t.Fatalf("%d parts, %v", len(encoded), err)
	}
	third := len(encoded[0]) / 3
	parts := [][]byte{encoded[0][:third], encoded[0][third : 2*third], encoded[0][2*third:]}
	l.modelAnswers(api.Message{Text: "done"})
	l.runFork(f, parts, true)
	if r := l.result(); r.Answer != "done" || !slices.Equal(r.Labels, []string{"untrusted"}) ||
		r.Usage.Turns != 1 || r.Usage.Calls != 1 {
		t.Errorf("result: %+v", r)
	}
	if want := []string{"1.2 store"}; !slices.Equal(l.executed, want) {
		t.Errorf("executed %q, want %q", l.executed, want)
	}
	var answered []string
	for _, m := range l.conversation() {
		answered = append(answered, string(m.Role)+m.CallID)
	}
	if want := []string{"system", "user", "assistant", "tool1.1", "tool1.2",
		"assistant"}; !slices.Equal(answered, want) {
		t.Errorf("the conversation is %q, want %q", answered, want)
	}
}

// A run whose parts do not arrive, or are no fork, ends as invalid and makes no call.
func TestFork_WithoutAllPartsRunsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		parts [][]byte
		want  string
	}{
		"lost": {[][]byte{{1}, {2}, {3}}, "nothing was run: $.fork: 2 of 3 parts did not arrive within " +
			"1m0s: whoever forked the run was interrupted; fork it again"},
		"broken": {[][]byte{{1}}, "nothing was run: $.fork: unexpected EOF"},
	} {
		l := newLab(t)
		f, _ := taken(t)
		l.runFork(f, c.parts, false)
		if e := l.failure(api.RunInvalid, nil); e.Message() != c.want || len(l.executed) > 0 {
			t.Errorf("%s: %q, executed %q", name, e.Message(), l.executed)
		}
	}
}

// The outcome of a call that the source made is the answer to the first equal call, and the next
// one is executed.
func TestFork_AnswersRecordedCallsOnce(t *testing.T) {
	l := newLab(t)
	f, state := taken(t)
	f.Pending[0].Arguments = `{"text": "b"}`
	state.Recorded = []api.RecordedCall{{Key: api.CallDigest("store", `{"text":"b"}`),
		Source: "call 1.2 of run source", Output: []byte("7")}}
	parts, err := codec.EncodeFork(state)
	if err != nil {
		t.Fatal(err)
	}
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "store", Arguments: `{"text":"b"}`}}},
		api.Message{Text: "done"})
	l.runFork(f, parts, false)
	l.result()
	if want := []string{"2.1 store"}; !slices.Equal(l.executed, want) {
		t.Errorf("executed %q, want %q", l.executed, want)
	}
	if text := l.conversation()[4].Text; text != "7\n[note: not executed: the outcome is that of call 1.2 of run source]" {
		t.Errorf("the model reads %q", text)
	}
}

// Calls are the source's calls as the model wrote them, whether or not the source and the fork
// batch them: the fork batches and executes only the others.
func TestFork_BatchesOnlyCallsThatTheSourceDidNotMake(t *testing.T) {
	l := newLabOf(t, 1, many("echo", nil))
	f, state := taken(t)
	for _, element := range []string{"a", "b"} {
		state.Recorded = append(state.Recorded, api.RecordedCall{
			Key:    api.CallDigest("many", `{"value":["`+element+`"]}`),
			Source: "call 9 of run source", Output: []byte(`["old"]`)})
	}
	parts, err := codec.EncodeFork(state)
	if err != nil {
		t.Fatal(err)
	}
	var calls []api.Call
	for _, element := range []string{"a", "c", "b", "a", "d"} {
		calls = append(calls, api.Call{Tool: "many", Arguments: `{"value":["` + element + `"]}`})
	}
	l.modelAnswers(api.Message{Calls: calls}, api.Message{Text: "done"})
	f.Parts = len(parts)
	a := listedAgent()
	a.Tools = append(a.Tools, "many")
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Fork: &f}, parts[0])
	l.result()
	var executed []string
	for _, s := range l.scheduled {
		if s.tool == "many" {
			executed = append(executed, s.id+" "+string(s.call.Arguments))
		}
	}
	slices.Sort(executed) // they run at the same time
	// Admission had batched the first four, as many as the tool takes.
	if want := []string{`2.2 {"value":["c","a"]}`, `2.5 {"value":["d"]}`}; !slices.Equal(executed, want) {
		t.Errorf("executed %q, want %q", executed, want)
	}
	got := l.callResults()
	old := "[\"old\"]\n[note: not executed: the outcome is that of call 9 of run source]"
	expect(t, "results", got[len(got)-5:], []string{"2.1 " + old, `2.2 ["c"]`, "2.3 " + old,
		`2.4 ["a"]`, `2.5 ["d"]`})
}
