package run_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"go.temporal.io/sdk/temporal"
)

// atCall returns the input and the state of a forked run that begins with a call of the first turn.
func atCall() (forks.Fork, api.Beginning, forks.State) {
	pending := api.Call{ID: "1.2", Tool: "store", Arguments: `{"text":"b"}`}
	answer := api.Message{Role: api.RoleAssistant, Calls: []api.Call{
		{ID: "1.1", Tool: "store", Arguments: `{"text":"a"}`}, pending}}
	made := api.CallOutcome{ID: "1.1", Tool: "store", Result: &api.Result{Output: []byte("1")}}
	return forks.Fork{WorkflowID: "source", At: "1.2"},
		api.Beginning{Turn: 1, Calls: []api.Call{pending}},
		forks.State{Labels: []string{"untrusted"}, Messages: []api.Message{
			{Role: api.RoleUser, Text: "Go."}, answer, made.Message()}}
}

// encode returns the parts of a state.
func (l *lab) encode(s forks.State) [][]byte {
	l.t.Helper()
	parts, err := forks.Encode(s)
	l.must(err)
	return parts
}

func (l *lab) expect(what string, got []string, want ...string) {
	l.t.Helper()
	if !slices.Equal(got, want) {
		l.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// The run makes the calls of the turn in which it begins, then takes the next turn. Parts may
// arrive in any order and twice.
func TestFork_BeginsWithinATurn(t *testing.T) {
	l := newLab(t, api.Message{Text: "done"})
	source, begin, state := atCall()
	whole := l.encode(state)[0]
	third := len(whole) / 3
	parts := [][]byte{whole[:third], whole[third : 2*third], whole[2*third:]}
	l.RegisterDelayedCallback(func() {
		for i := len(parts) - 1; i > 0; i-- {
			for range 2 {
				l.SignalWorkflow(forks.Signal, forks.Part{Index: i, Data: parts[i]})
			}
		}
	}, time.Second)
	l.fork(source, begin, parts)
	if r := l.result(); r.Answer != "done" || !slices.Equal(r.Labels, []string{"untrusted"}) ||
		r.Usage.Turns != 1 || r.Usage.Calls != 1 {
		t.Errorf("result: %+v", r)
	}
	l.expect("executed", l.calls(), "1.2 store b")
	var messages []string
	for _, m := range l.conversation() {
		messages = append(messages, string(m.Role)+m.CallID)
	}
	l.expect("conversation", messages, "system", "user", "assistant", "tool1.1", "tool1.2",
		"assistant")
}

// A run whose parts do not arrive, or are no fork, ends as invalid and makes no call.
func TestFork_WithoutAllPartsRunsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		parts [][]byte
		want  string
	}{
		"lost": {[][]byte{{1}, {2}, {3}}, "nothing was run: $.features.forked_from: 2 of 3 parts " +
			"did not arrive within 1m0s: whoever forked the run was interrupted; fork it again"},
		"broken": {[][]byte{{1}}, "nothing was run: $.features.forked_from: unexpected EOF"},
	} {
		l := newLab(t)
		source, begin, _ := atCall()
		l.fork(source, begin, c.parts)
		app, ok := errors.AsType[*temporal.ApplicationError](l.GetWorkflowError())
		if !ok || app.Type() != string(api.RunInvalid) || app.Message() != c.want ||
			len(l.calls()) > 0 {
			t.Errorf("%s: %v, executed %q", name, l.GetWorkflowError(), l.calls())
		}
	}
}

// The outcome of a call that the source made is the answer to the first equal call, and the next
// one is executed.
func TestFork_AnswersRecordedCallsOnce(t *testing.T) {
	l := newLab(t, api.Message{Calls: []api.Call{{Tool: "store", Arguments: `{"text":"b"}`}}},
		api.Message{Text: "done"})
	source, begin, state := atCall()
	begin.Calls[0].Arguments = `{"text": "b"}`
	state.Recorded = []forks.RecordedCall{{Key: api.CallDigest("store", `{"text":"b"}`),
		Source: "call 1.2 of run source", Output: []byte("7")}}
	l.fork(source, begin, l.encode(state))
	l.result()
	l.expect("executed", l.calls(), "2.1 store b")
	if text := l.conversation()[4].Text; text !=
		"7\n[note: not executed: the outcome is that of call 1.2 of run source]" {
		t.Errorf("the model reads %q", text)
	}
}

// Calls are the source's calls as the model wrote them, whether or not the source and the fork
// batch them: the fork batches and executes only the others.
func TestFork_BatchesOnlyCallsThatTheSourceDidNotMake(t *testing.T) {
	var calls []api.Call
	for _, text := range []string{"a", "c", "b", "a", "d"} {
		calls = append(calls, api.Call{Tool: "many", Arguments: `{"texts":["` + text + `"]}`})
	}
	l := newLab(t, api.Message{Calls: calls}, api.Message{Text: "done"})
	source, begin, state := atCall()
	for _, text := range []string{"a", "b"} {
		state.Recorded = append(state.Recorded, forks.RecordedCall{
			Key:    api.CallDigest("many", `{"texts":["`+text+`"]}`),
			Source: "call 9 of run source", Output: []byte(`["old"]`)})
	}
	l.fork(source, begin, l.encode(state))
	l.result()
	// Admission had batched the first four, as many as the tool takes.
	l.expect("executed", l.calls(), "1.2 store b", "2.2 many c a", "2.5 many d")
	var results []string
	for _, m := range l.conversation() {
		if m.Role == api.RoleTool && m.CallID > "2" {
			results = append(results, m.CallID+" "+m.Text)
		}
	}
	old := "[\"old\"]\n[note: not executed: the outcome is that of call 9 of run source]"
	l.expect("results", results, "2.1 "+old, `2.2 ["c"]`, "2.3 "+old, `2.4 ["a"]`, `2.5 ["d"]`)
}
