package workflows_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The checker is called once, at the end of a run with an answer, with prompt and answer, although
// the model cannot call it. The result contains its decision, and its call counts. A failing
// checker does not change the end of the run.
func TestChecker_EvaluatesTheAnswer(t *testing.T) {
	about := json.RawMessage(`{"key": "{{args.prompt}} {{args.answer}}"}`)
	for _, test := range []struct {
		name, answer string
		arguments    json.RawMessage
		want         api.Checked
		failed       int
	}{
		{"solved", `{"solved":true,"reason":"it fits"}`, about, api.Checked{Solved: true,
			Reason: "it fits"}, 0},
		{"failed", `{"solved":false}`, about, api.Checked{}, 0},
		{"no decision", `{"solved":"yes"}`, about,
			api.Checked{Problem: `the answer of found has neither true nor false at "solved"`}, 0},
		{"no object", `[]`, about, api.Checked{Problem: `the answer of found is not a JSON object`},
			0},
		{"no reason", `{"solved":true,"reason":7}`, about,
			api.Checked{Problem: `the answer of found has no text at "reason"`}, 0},
		{"fails", "", about, api.Checked{Problem: "the check failed: execution_error: it cannot be reached"},
			1},
		{"does not fit", "", nil,
			api.Checked{Problem: "the check failed: validation_error: the arguments of found do not fit"},
			1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newBookings(t)
			if l.founds = []string{test.answer}; test.arguments == nil {
				l.founds = nil
			}
			a := booker("", answer("done"))
			a.Checker = &api.Checker{Tool: "found", Arguments: test.arguments}
			l.runAgent(a, "Go.")
			r := l.result()
			test.want.Tool = "found"
			if got := *r.Checked; !strings.HasPrefix(got.Problem, test.want.Problem) {
				t.Errorf("problem %q, want %q", got.Problem, test.want.Problem)
			} else if got.Problem = test.want.Problem; !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if r.Outcome != api.OutcomeAnswered || r.Usage.Calls != 1 ||
				r.Usage.Failed != test.failed || len(l.founds) != 0 {
				t.Errorf("%s, usage %+v, %d answers left", r.Outcome, r.Usage, len(l.founds))
			}
			if test.arguments == nil {
				return
			}
			expect(t, "executed", l.executed, []string{"check found"})
			for _, s := range l.scheduled {
				if got := string(s.call.Arguments); s.tool == "found" &&
					got != `{"key":"Go. done"}` {
					t.Errorf("asked about %s", got)
				}
			}
		})
	}
}

// A failed run is not checked, the model cannot call the checker, and a run with a missing checker
// does not start.
func TestChecker_IsSeparateFromTheRun(t *testing.T) {
	l := newBookings(t)
	a := booker("", step(call("found", `{"key":"x"}`)))
	a.Checker = &api.Checker{Tool: "found"}
	l.runAgent(a, "Go.")
	l.failure(api.RunModelFailed, nil)
	if got := l.callResults(); len(l.executed) != 0 || !strings.Contains(strings.Join(got, " "),
		"tool_not_found") {
		t.Errorf("executed %v, the model reads %q", l.executed, got)
	}

	l = newBookings(t)
	a.Checker.Tool = "fuond"
	l.runAgent(a, "Go.")
	var problems []api.Problem
	l.failure(api.RunInvalid, &problems)
	if len(problems) != 1 || problems[0].Path != "$.checker.tool" ||
		problems[0].Message != `the checker: no worker's catalog has a tool "fuond"; did you mean found?` {
		t.Errorf("problems %v", problems)
	}
}
