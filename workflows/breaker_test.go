package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
)

// A model that repeats a failing call forever, also between successful calls that change nothing,
// requests unknown tools, or writes invalid JSON gets one warning per call. After twice as many
// turns the run ends at the limit "repeats" with what is known.
func TestBreaker_EndsLoopsOfFailures(t *testing.T) {
	for name, test := range map[string]struct {
		calls func(turn int) []api.Call
		limit int
		turns int
		// warnings is how often the model is warned; zero means once.
		warnings int
	}{
		"the same failing call": {func(int) []api.Call { return []api.Call{{Tool: "broken"}} }, 0,
			10, 0},
		"a limit of its own": {func(int) []api.Call { return []api.Call{{Tool: "broken"}} }, 2,
			4, 0},
		"two in a turn": {func(int) []api.Call {
			return []api.Call{{Tool: "broken"},
				{Tool: "broken"}}
		}, 4, 4, 0},
		"reads between": {func(turn int) []api.Call {
			return []api.Call{{Tool: []string{"broken", "greet"}[turn%2],
				Arguments: fmt.Sprintf(`{"name":"%d"}`, turn/2*(turn%2))}}
		}, 3, 11, 0},
		"the same change between": {func(turn int) []api.Call {
			return []api.Call{{Tool: []string{"broken", "store"}[turn%2], Arguments: []string{``,
				`{"text":"a"}`}[turn%2]}}
		}, 3, 13, 0},
		"a read beside it": {func(int) []api.Call {
			return []api.Call{{Tool: "broken"}, {Tool: "greet", Arguments: `{"name":"Ann"}`}}
		}, 3, 6, 0},
		"unknown tools": {func(turn int) []api.Call {
			return []api.Call{{Tool: fmt.Sprint("nosuch",
				turn)}}
		}, 3, 6, 0},
		"broken JSON": {func(turn int) []api.Call {
			return []api.Call{{Tool: "greet", Arguments: fmt.Sprint(`{"name": `, turn)}}
		}, 3, 6, 0},
		"two that fail in turn": {func(turn int) []api.Call {
			return []api.Call{{Tool: "broken", Arguments: fmt.Sprintf(`{"x":%d}`, turn%2)},
				{Tool: "broken"}}
		}, 3, 6, 2},
		"a thousand at once": {func(int) []api.Call {
			return slices.Repeat([]api.Call{{Tool: "nosuch"}}, 1000)
		}, 0, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			for turn := range test.turns {
				l.modelAnswers(api.Message{Calls: test.calls(turn)})
			}
			l.modelAnswers(api.Message{Text: "as far as I got"})
			a := listedAgent()
			a.Limits.Repeats = test.limit
			l.runAgent(a, "Go.")
			if r := l.result(); r.Limit != "repeats" || r.Outcome != api.OutcomeLimit ||
				r.Answer != "as far as I got" || r.Usage.Turns != test.turns+1 {
				t.Errorf("result: %+v", r)
			}
			hinted := 0
			for _, m := range l.conversation() {
				if strings.Contains(m.Text, "[hint: this has now failed ") {
					hinted++
				}
			}
			if hinted != max(test.warnings, 1) {
				t.Errorf("the model was warned %d times", hinted)
			}
		})
	}
}

// Failures between changes, failures that a retry cures, and different failures are no loop.
func TestBreaker_IgnoresOtherFailures(t *testing.T) {
	for name, calls := range map[string]func(turn int) api.Call{
		"a change between": func(turn int) api.Call {
			if turn%4 == 3 {
				return api.Call{Tool: "store", Arguments: fmt.Sprintf(`{"text":"%d"}`, turn)}
			}
			return api.Call{Tool: "broken"}
		},
		"a success of its own": func(turn int) api.Call {
			return api.Call{Tool: "found", Arguments: `{"key":"it"}`}
		},
		"different calls": func(turn int) api.Call {
			return api.Call{Tool: "needy", Arguments: fmt.Sprintf(`{"text":"%d"}`, turn)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newBookings(t)
			for turn := range 20 {
				l.founds = append(l.founds, []string{"", `{}`}[min(turn%4/3, 1)])
			}
			for turn := range 20 {
				l.modelAnswers(api.Message{Calls: []api.Call{calls(turn)}})
			}
			l.modelAnswers(api.Message{Text: "done"})
			a := listedAgent()
			a.Tools = append(a.Tools, "found")
			l.runAgent(a, "Go.")
			if r := l.result(); r.Answer != "done" || r.Limit != "" {
				t.Errorf("result: %+v", r)
			}
			if slices.ContainsFunc(l.conversation(),
				func(m api.Message) bool { return strings.Contains(m.Text, "[hint:") }) {
				t.Error("the model was warned of a loop")
			}
		})
	}
}

// Failures that say nothing about a call are no loop: after an outage or a busy lane the equal call
// succeeds. A call of an instance that is lost for good does not.
func TestBreaker_CountsOnlyFailuresOfTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		fault   api.Error
		counted bool
	}{
		"a ledger is away": {api.Error{Type: api.ErrPreconditionFailed, Phase: api.PhasePreExecution,
			Retryable: true}, false},
		"a full queue":    {api.Error{Type: api.ErrQueueFull, Phase: api.PhasePreExecution}, false},
		"a slow queue":    {api.Error{Type: api.ErrQueueTimeout, Phase: api.PhasePreExecution}, false},
		"no connection":   {api.Error{Type: api.ErrExecution, NotStarted: true, Retryable: true}, false},
		"a lost worker":   {api.Error{Type: api.ErrWorkerLost, Phase: api.PhaseExecution}, false},
		"cancelled":       {api.Error{Type: api.ErrCancelled, NotStarted: true}, false},
		"a lost instance": {api.Error{Type: api.ErrWorkerLost, NotStarted: true}, true},
		"a timeout":       {api.Error{Type: api.ErrTimeout, Phase: api.PhaseExecution}, true},
		"a missing secret": {api.Error{Type: api.ErrPreconditionFailed,
			Phase: api.PhasePreExecution}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.returns = func(activity.Info) error { return executor.Failure(&test.fault) }
			for range 7 {
				l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "broken"}}})
			}
			l.modelAnswers(api.Message{Text: "done"})
			a := listedAgent()
			a.Limits.Repeats = 3
			l.runAgent(a, "Go.")
			if r := l.result(); (r.Limit == "repeats") != test.counted {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// The count continues in the new history, and the warning reaches a model step in another process.
func TestBreaker_SurvivesContinueAsNew(t *testing.T) {
	l := newLabOf(t, 2)
	a := listedAgent()
	a.Limits.Repeats = 2
	input, earlier := api.RunInput{Agent: a, Prompt: "Go."}, []byte(nil)
	for turn := 1; ; turn++ {
		l.SetContinueAsNewSuggested(true)
		l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "broken"}}}, api.Message{Text: "stopped"})
		l.ExecuteWorkflow(api.AgentWorkflow, input, earlier)
		if turn == 4 {
			break
		}
		input, earlier = l.continued()
		if c := input.State.Repeats; c == nil || len(c.Calls) != 1 || c.Calls[0].Count != turn ||
			c.Told != (turn >= 2) {
			t.Fatalf("after turn %d it carries %+v", turn, c)
		}
		if turn == 3 && !strings.Contains(l.prompts[0].Messages[5].Text,
			"[hint: this has now failed 2 times") {
			t.Errorf("the model was shown %+v", l.prompts[0].Messages)
		}
		l = newLabOf(t, 2)
	}
	if r := l.result(); r.Limit != "repeats" || r.Answer != "stopped" {
		t.Errorf("result: %+v", r)
	}
}

// Valid or not, each call of a turn is answered once, and the run continues.
func TestBreaker_AnswersTenThousandCalls(t *testing.T) {
	for name, call := range map[string]api.Call{"unknown": {Tool: "nosuch"},
		"wrong": {Tool: "greet", Arguments: `{`}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.modelAnswers(api.Message{Calls: slices.Repeat([]api.Call{call}, 10_000)},
				api.Message{Text: "done"})
			l.runAgent(listedAgent(), "Go.")
			if r := l.result(); r.Answer != "done" || r.Usage.Failed != 10_000 {
				t.Errorf("result: %+v", r)
			}
			if n := len(l.conversation()); n != 2+1+10_000+1 {
				t.Errorf("the conversation has %d messages", n)
			}
		})
	}
}

// A model with empty answers is asked a few times, and then the run fails.
func TestBreaker_EndsEmptyAnswers(t *testing.T) {
	l := newLab(t)
	l.modelAnswers(slices.Repeat([]api.Message{{}}, 100)...)
	a := listedAgent()
	a.Model.MaxAttempts = 3
	l.runAgent(a, "Go.")
	if err := l.failure(api.RunModelFailed, nil); err.Message() != "the model step of turn 1 failed: the model answered with nothing: neither text nor calls" || len(l.prompts) != 3 {
		t.Errorf("after %d steps the run failed: %v", len(l.prompts), err)
	}
}

// After the warning, the call is refused in any notation of its arguments and with any execution
// plan. Calls with other arguments run, and it runs again after a change. Refusals count for the
// end of the run.
func TestBreaker_RefusesRepeatedCalls(t *testing.T) {
	l := newBookings(t)
	l.founds = slices.Repeat([]string{""}, 7)
	one := func(tool, arguments string) api.Message {
		return api.Message{Calls: []api.Call{{Tool: tool, Arguments: arguments}}}
	}
	const fails = `{"key":"it"}`
	l.modelAnswers(one("found", fails), one("found", fails), one("found", fails),
		one("found", `{ "key" : "it" }`), one("greet", `{"name":"Ann"}`),
		one("found", `{"key":"it","execution_plan":{"intent":"once more"}}`),
		one("found", `{"key":"other"}`), one("store", `{"text":"x"}`),
		one("found", fails), one("found", fails), one("found", fails), one("found", fails),
		one("found", fails), one("found", fails),
		api.Message{Text: "as far as I got"})
	a := listedAgent()
	a.Tools, a.Limits.Repeats = append(a.Tools, "found"), 3
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "repeats" || r.Answer != "as far as I got" ||
		r.Usage.Calls != 14 || r.Usage.Failed != 12 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed", l.executed, []string{"1.1 found", "2.1 found", "3.1 found", "5.1 greet",
		"7.1 found", "8.1 store", "9.1 found", "10.1 found", "11.1 found"})
	results := l.callResults()
	for _, n := range []int{4, 6, 12, 13, 14} {
		if text := results[n-1]; !strings.Contains(text, "policy_violation: this call has failed") ||
			!strings.Contains(text, "nothing has changed since") {
			t.Errorf("call %d: %s", n, text)
		}
	}
}

// The new history still refuses what the previous one refused.
func TestRepeats_RefusedCallsSurviveContinueAsNew(t *testing.T) {
	l := newLab(t)
	a := listedAgent()
	a.Limits.Repeats = 1
	l.SetContinueAsNewSuggested(true)
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "broken"}}})
	l.runAgent(a, "Go.")
	input, earlier := l.continued()
	l = newLab(t)
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "broken", Arguments: "{ }"}}},
		api.Message{Text: "stopped"})
	l.ExecuteWorkflow(api.AgentWorkflow, input, earlier)
	if r := l.result(); r.Limit != "repeats" || len(l.executed) != 0 {
		t.Errorf("result %+v, executed %v", r, l.executed)
	}
}
