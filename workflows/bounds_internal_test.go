package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// A very large turn is divided, and no call is omitted.
func TestPortion_AdmitsATurnInOneStep(t *testing.T) {
	many := make([]api.Call, 1000)
	big := make([]api.Call, 7)
	for i := range big {
		big[i].Arguments = strings.Repeat("x", 100<<10)
	}
	askers := map[string]*api.Caller{"a": {ID: "ana"}, "b": {ID: "bob"}}
	p := &pipeline{origin: &api.Origin{}, asker: func(id string) *api.Caller { return askers[id] }}
	of := func(groups string) (calls []api.Call) {
		for _, g := range groups {
			calls = append(calls, api.Call{ID: string(g)})
		}
		return calls
	}
	for _, test := range []struct {
		name  string
		calls []api.Call
		want  string
	}{
		{"one", many[:1], "[1]"},
		{"calls of different callers", of("aabbba"), "[2 3 1]"},
		{"an ordinary turn", many[:50], "[50]"},
		{"many calls", many[:450], "[200 200 50]"},
		{"large arguments", big, "[2 2 2 1]"},
	} {
		var portions []int
		for left := test.calls; len(left) > 0; left = left[p.portion(left):] {
			portions = append(portions, p.portion(left))
		}
		if got := fmt.Sprint(portions); got != test.want {
			t.Errorf("%s: admitted in %s, want %s", test.name, got, test.want)
		}
	}
}

// Neither a large output nor thousands of long failures give a result that history refuses, which
// the workflow would report forever.
func TestCallsResult_IsBounded(t *testing.T) {
	failed := make([]api.CallOutcome, 3000)
	for i := range failed {
		failed[i] = api.CallOutcome{ID: fmt.Sprint(i), Tool: "t",
			Error: api.Errorf(api.ErrExecution, "%s", strings.Repeat("<", 30<<10))}
	}
	none := func() ([]byte, error) { return nil, nil }
	huge := func() ([]byte, error) { return make([]byte, api.MaxPayload+1), nil }
	for name, result := range map[string]func() (*api.RunResult, error){
		"failures": func() (*api.RunResult, error) {
			return new(pipeline).callsResult(failed,
				none)
		},
		"output": func() (*api.RunResult, error) { return new(pipeline).callsResult(nil, huge) },
	} {
		_, err := result()
		app, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || app.Type() != string(api.RunCallsFailed) ||
			len(app.Message()) > 4*maxFailureText {
			t.Errorf("%s: got %.200v", name, err)
			continue
		}
		var details api.RunResult
		if err := app.Details(&details); err != nil || details.Outcome != api.OutcomeFailed {
			t.Errorf("%s: details %.200v, %v", name, details, err)
		}
		if data, err := json.Marshal(details); err != nil || len(data) > api.MaxPayload {
			t.Errorf("%s: the details have %d bytes, %v", name, len(data), err)
		}
	}
}

// The bound of one attempt is not that of all attempts.
func TestLocalOptions_LeaveTimeForEveryAttempt(t *testing.T) {
	for attempts, atLeast := range map[int32]time.Duration{1: localTimeout, 20: 20 * localTimeout,
		0: maxBounded * localTimeout, 1 << 30: maxBounded * localTimeout} {
		o := localOptions(localTimeout, &temporal.RetryPolicy{MaximumAttempts: attempts,
			MaximumInterval: 5 * time.Second}, "")
		if o.StartToCloseTimeout != localTimeout || o.ScheduleToCloseTimeout < atLeast {
			t.Errorf("%d attempts of %s each have %s in all, want at least %s", attempts,
				o.StartToCloseTimeout, o.ScheduleToCloseTimeout, atLeast)
		}
	}
}

// A plan of thousands of rejected calls ends with an error that fits into history.
func TestInvalid_BoundsItsProblems(t *testing.T) {
	problems := make([]api.Problem, 5000)
	for i := range problems {
		problems[i] = api.Problem{Path: fmt.Sprint("$.calls[", i, "]"), Message: strings.Repeat("x",
			5000)}
	}
	app, ok := errors.AsType[*temporal.ApplicationError](Invalid(problems))
	var reported []api.Problem
	if !ok || app.Details(&reported) != nil || len(reported) != maxFailures ||
		!strings.HasSuffix(app.Message(), "and 4900 more") || len(app.Message()) > 1<<20 {
		t.Errorf("%d problems in a message of %d bytes", len(reported), len(app.Message()))
	}
	if len(problems[0].Message) != 5000 {
		t.Error("the caller's problems were changed")
	}
}

func TestReported_BoundsUndoneCallsInBytes(t *testing.T) {
	undone := make([]api.Undone, 400)
	for i := range undone {
		undone[i].CallID = fmt.Sprint(i)
		if i%2 == 1 {
			undone[i].Error = api.Errorf(api.ErrExecution, "%s", strings.Repeat("<", 2000))
		}
	}
	list := limitUndone(undone)
	if len(list) == 0 || measureJSON(list) > maxUndoneBytes+1<<10 || list[0].Error == nil {
		t.Errorf("%d calls in %d bytes", len(list), measureJSON(list))
	}
	if got := limitUndone(undone[:1]); len(got) != 1 {
		t.Errorf("one call: %d are reported", len(got))
	}
}
