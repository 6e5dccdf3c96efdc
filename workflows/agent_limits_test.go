package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// At each limit, the run makes one summary step without tools that answers with what is known. The
// limit is named, and no call runs beyond it.
func TestAgentLimits_EndWithASummary(t *testing.T) {
	greet := call("greet", `{"name":"Ann"}`)
	greeting := api.Message{Calls: []api.Call{{Tool: "greet", Arguments: greet.ArgumentsText}}}
	for _, test := range []struct {
		limit    string
		limits   api.Limits
		ids      []string
		executed []string
	}{
		{"turns", api.Limits{Turns: 2}, []string{"turn-1", "1.1", "turn-2", "2.1", "summary"},
			[]string{"1.1 greet", "2.1 greet"}},
		{"calls", api.Limits{Calls: 1}, []string{"turn-1", "1.1", "summary"},
			[]string{"1.1 greet"}},
		{"tokens", api.Limits{Tokens: 30}, []string{"turn-1", "1.1", "turn-2", "2.1", "summary"},
			[]string{"1.1 greet", "2.1 greet"}},
		{"cost", api.Limits{Cost: 39.5}, []string{"turn-1", "1.1", "turn-2", "2.1", "summary"},
			[]string{"1.1 greet", "2.1 greet"}},
	} {
		t.Run(test.limit, func(t *testing.T) {
			l := newLab(t)
			a := listedAgent()
			a.Limits = test.limits
			for range len(test.ids) / 2 {
				l.modelAnswers(greeting)
			}
			l.modelAnswers(api.Message{Text: "as far as I got"})
			l.runAgent(a, "Go.")
			r := l.result()
			if r.Outcome != api.OutcomeLimit || r.Limit != test.limit ||
				r.Answer != "as far as I got" {
				t.Errorf("result: %+v", r)
			}
			if want := float64(r.Usage.Turns) * 20; r.Usage.Cost != want {
				t.Errorf("the cost is %v, want %v", r.Usage.Cost, want)
			}
			expect(t, "activities", l.ids(), test.ids)
			expect(t, "executed", l.executed, test.executed)
			last := l.prompts[len(l.prompts)-1]
			if last.Limit != test.limit || len(last.Tools) != 9 {
				t.Errorf("the summary step was asked with limit %q and %d tools", last.Limit,
					len(last.Tools))
			}
			if first := l.prompts[0]; first.Limit != "" || len(first.Tools) != 9 {
				t.Errorf("the first step was asked with limit %q and %d tools, want the 9 that are not disabled",
					first.Limit, len(first.Tools))
			}
		})
	}
}

// The first calls of a turn are admitted.
func TestCallBudget_RefusesCallsBeyondIt(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("nosuch", `{}`), call("greet", `{"name":"a"}`),
		call("greet", `{"name":"b"}`), call("greet", `{"name":"c"}`)))
	a.Limits.Calls = 2
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "calls" || r.Usage.Failed != 2 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)),
		[]string{"1.2 greet", "1.3 greet"})
	if m := l.conversation()[6]; m.CallID != "1.4" || !strings.Contains(m.Text, "budget_exceeded") {
		t.Errorf("the call beyond the budget is answered %+v", m)
	}
}

// Refused calls count too.
func TestCallBudget_CountsEarlierTurns(t *testing.T) {
	l := newLab(t)
	greet := call("greet", `{"name":"a"}`)
	a := agent(step(greet, call("nosuch", `{}`)), step(greet, greet, greet))
	a.Limits.Calls = 4
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "calls" || r.Usage.Calls != 5 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)),
		[]string{"1.1 greet", "2.1 greet", "2.2 greet"})
}

func TestAgentLimits_DefaultTurns(t *testing.T) {
	l := newLab(t)
	for range api.DefaultTurns {
		l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "greet", Arguments: `{"name":"a"}`}}})
	}
	l.modelAnswers(api.Message{Text: "stopped"})
	l.runAgent(listedAgent(), "Go.")
	if r := l.result(); r.Limit != "turns" || r.Usage.Turns != api.DefaultTurns+1 {
		t.Errorf("result: %+v", r)
	}
}

// No waiting call starts, and in the conversation of the summary step every call has an answer.
func TestWallTime_CancelsRunningCalls(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("greet", `{"name":"a"}`), call("hang", `{}`),
		call("note", `{"text":"never"}`)), answer("not reached"))
	a.Limits.WallTime = api.Duration(time.Second)
	l.runAgent(a, "Go.")
	r := l.result()
	if r.Outcome != api.OutcomeLimit || r.Limit != "wall_time" || r.Answer != "as far as I got" {
		t.Errorf("result: %+v", r)
	}
	if r.Usage.Calls != 3 || r.Usage.Failed != 2 {
		t.Errorf("usage: %+v", r.Usage)
	}
	expect(t, "stored", l.stored, nil)
	answered := l.answeredCalls()
	if !slices.Equal(answered, []string{"1.1 done", "1.2 cancelled", "1.3 cancelled"}) {
		t.Errorf("calls: %v", answered)
	}
}

// Models refuse a conversation with unanswered calls.
func TestWallTime_AnswersCallsInAdmission(t *testing.T) {
	l := newLab(t)
	l.admits = func(ctx context.Context) { <-ctx.Done() }
	a := agent(step(call("greet", `{"name":"a"}`), call("greet", `{"name":"b"}`)), answer("never"))
	a.Limits.WallTime = api.Duration(200 * time.Millisecond)
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "wall_time" || r.Usage.Calls != 2 || r.Usage.Failed != 2 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "calls", l.answeredCalls(), []string{"1.1 cancelled", "1.2 cancelled"})
	expect(t, "executed", l.executed, nil)
}

// Their records say that they were cancelled.
func TestCancel_CountsCallsInAdmission(t *testing.T) {
	for name, test := range map[string]struct {
		input api.RunInput
		// cancelled is the admission during which the run is cancelled.
		cancelled int
		want      api.Usage
	}{
		"agent": {api.RunInput{Agent: agent(step(call("greet", `{"name":"a"}`),
			call("greet", `{"name":"b"}`)))}, 1, api.Usage{Turns: 1, Calls: 2, Failed: 2}},
		"later calls of a plan": {api.RunInput{Plan: plan(t, `
calls:
  - {id: first, tool: echo, arguments: {value: a}}
  - {id: second, tool: echo, arguments: {value: "${first}"}}
  - {id: third, tool: echo, arguments: {value: "${second}"}}
`)}, 2, api.Usage{Calls: 3, Failed: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			admissions := 0
			l.admits = func(ctx context.Context) {
				if admissions++; admissions == test.cancelled {
					l.CancelWorkflow()
					<-ctx.Done()
				}
			}
			workflow := api.AgentWorkflow
			if test.input.Plan != nil {
				workflow = api.PlanWorkflow
			}
			l.ExecuteWorkflow(workflow, test.input)
			cancelled, ok := errors.AsType[*temporal.CanceledError](l.GetWorkflowError())
			if !ok {
				t.Fatalf("error: %v", l.GetWorkflowError())
			}
			var used api.Usage
			if err := cancelled.Details(&used); err != nil {
				t.Fatal(err)
			}
			if used.Turns != test.want.Turns || used.Calls != test.want.Calls ||
				used.Failed != test.want.Failed {
				t.Errorf("used %+v, want %+v", used, test.want)
			}
		})
	}
}

// answeredCalls maps each answered call of the conversation to done, failed or cancelled.
func (l *lab) answeredCalls() []string {
	var list []string
	for _, m := range l.conversation() {
		switch {
		case m.CallID == "":
		case !m.Failed:
			list = append(list, m.CallID+" done")
		case strings.Contains(m.Text, string(api.ErrCancelled)):
			list = append(list, m.CallID+" cancelled")
		default:
			list = append(list, m.CallID+" failed")
		}
	}
	return list
}

func TestWallTime_EndsModelSteps(t *testing.T) {
	l := newLab(t)
	stop := make(chan struct{})
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		l.mu.Unlock() // the next step asks while this one hangs
		<-stop
		l.mu.Lock()
		return api.ModelResponse{}, errors.New("too late")
	})
	l.modelAnswers(api.Message{Text: "in time"})
	a := listedAgent()
	a.Limits.WallTime = api.Duration(time.Second)
	l.runAgent(a, "Go.")
	close(stop)
	if r := l.result(); r.Limit != "wall_time" || r.Answer != "in time" {
		t.Errorf("result: %+v", r)
	}
}
