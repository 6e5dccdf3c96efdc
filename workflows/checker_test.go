package workflows_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// TestChecker proves that an agent's checker is asked once, at the end of a run that gives an
// answer, about the prompt and the answer, although the model cannot call it; that what it says is
// in the result, with its call counted; and that the run ends as it would have, however the check
// fails.
func TestChecker(t *testing.T) {
	about := json.RawMessage(`{"key": "{{args.prompt}} {{args.answer}}"}`)
	for _, test := range []struct {
		name, said string
		arguments  json.RawMessage
		want       api.Checked
		failed     int
	}{
		{"solved", `{"solved":true,"reason":"it fits"}`, about, api.Checked{Solved: true,
			Reason: "it fits"}, 0},
		{"failed", `{"solved":false}`, about, api.Checked{}, 0},
		{"no verdict", `{"solved":"yes"}`, about,
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
			if l.founds = []string{test.said}; test.arguments == nil {
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

// TestCheckerIsApart proves that a run that fails is not checked, that the model cannot call the
// checker, and that a run whose checker there is not does not start.
func TestCheckerIsApart(t *testing.T) {
	l := newBookings(t)
	a := booker("", step(call("found", `{"key":"x"}`)))
	a.Checker = &api.Checker{Tool: "found"}
	l.runAgent(a, "Go.")
	l.failure(api.RunModelFailed, nil)
	if got := l.toldOf(); len(l.executed) != 0 || !strings.Contains(strings.Join(got, " "),
		"tool_not_found") {
		t.Errorf("executed %v, the model was told %q", l.executed, got)
	}

	l = newBookings(t)
	a.Checker.Tool = "fuond"
	l.runAgent(a, "Go.")
	var problems []api.Problem
	l.failure(api.RunInvalid, &problems)
	if len(problems) != 1 || problems[0].Path != "$.checker.tool" ||
		!strings.Contains(problems[0].Message, "found") {
		t.Errorf("problems %v", problems)
	}
}
