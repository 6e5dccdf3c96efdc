package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// The sizes at which servers end a run.
const (
	serverEvents = 51_200
	serverBytes  = 50 << 20
)

// grows gives the run a history of that length, to which each ended activity adds each, and returns
// the current size.
func (l *lab) grows(events, bytes, eventsOfCall, bytesOfCall int) (length func() (events,
	bytes int)) {
	l.SetCurrentHistoryLength(events)
	l.SetCurrentHistorySize(bytes)
	l.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) {
		events, bytes = events+eventsOfCall, bytes+bytesOfCall
		l.SetCurrentHistoryLength(events)
		l.SetCurrentHistorySize(bytes)
	})
	return func() (int, int) { return events, bytes }
}

// A turn that exceeds the history budget has the calls beyond it refused, and the model reads why.
// Calls whose results might be too large run one after the other. The run continues.
func TestHistoryBudget_RefusesCalls(t *testing.T) {
	many := func(tool, arguments string, n int) api.ScriptCall {
		c := call(tool, arguments)
		c.Repeat = n
		return c
	}
	for name, test := range map[string]struct {
		events, bytes, eventsOfCall, bytesOfCall int
		executed                                 int
	}{
		"ordinary":        {4_000, 4 << 20, 9, 64 << 10, 40},
		"many events":     {47_900, 1 << 20, 9, 1 << 10, 10},
		"large results":   {4_000, 43 << 20, 9, 40 << 10, 23},
		"nothing fits":    {48_000, 1 << 20, 9, 1 << 10, 0},
		"one fits":        {47_990 - 9, 1 << 20, 9, 1 << 10, 1},
		"small in effect": {4_000, 43 << 20, 9, 1 << 10, 40},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			length := l.grows(test.events, test.bytes, test.eventsOfCall, test.bytesOfCall)
			l.runAgent(agent(step(many("greet", `{"name":"Ann"}`, 40)), answer("done")), "Go.")
			if r := l.result(); r.Answer != "done" || r.Usage.Calls != 40 ||
				r.Usage.Failed != 40-test.executed {
				t.Errorf("result: %+v", r)
			}
			if len(l.executed) != test.executed {
				t.Errorf("%d calls were executed, want %d", len(l.executed), test.executed)
			}
			if events, bytes := length(); events > serverEvents || bytes > serverBytes {
				t.Errorf("the history has %d events and %d bytes", events, bytes)
			}
			refused := slices.DeleteFunc(l.conversation(),
				func(m api.Message) bool { return !m.Failed })
			for _, m := range refused {
				if !strings.Contains(m.Text,
					"budget_exceeded: the run's history cannot take this call") ||
					!strings.Contains(m.Text, "in the next turn") {
					t.Errorf("the model reads %q", m.Text)
				}
			}
			if len(refused) != 40-test.executed {
				t.Errorf("%d calls were refused", len(refused))
			}
		})
	}
}

// A plan fails when its history budget is used up, undoes its calls within the reserve, and lists
// those that it did not undo.
func TestHistoryBudget_StopsPlan(t *testing.T) {
	l := newBookings(t)
	l.grows(47_800, 0, 100, 0)
	var calls []string
	for n := range 30 {
		calls = append(calls, fmt.Sprintf(
			`{id: c%d, tool: book, arguments: {text: "%d"}, depends_on: [%s]}`, n, n,
			[]string{"", fmt.Sprint("c", n-1)}[min(n, 1)]))
	}
	l.runPlan("calls: [" + strings.Join(calls, ", ") + "]")
	var r api.RunResult
	l.failure(api.RunCallsFailed, &r)
	if len(r.Failures) != 28 || r.Failures[0].Error.Type != api.ErrBudgetExceeded ||
		r.Failures[0].Error.Message != "the run's history cannot take this call: with those before it, it has 48000 events and 0.0 MiB, and a server ends a run at 51200 events or 50 MiB. Split the plan, or have its tools answer with less" {
		t.Errorf("failures: %+v", r.Failures)
	}
	expect(t, "undone", undoneLines(r.Undone), []string{"c1 book by undo-c1 unbook",
		"c0 book by undo-c0 unbook"})
	l = newBookings(t)
	l.grows(45_000, 0, 1_000, 0)
	l.runPlan("calls: [" + strings.Join(calls[:5], ", ") + "]")
	l.failure(api.RunCallsFailed, &r)
	expect(t, "undone", undoneLines(r.Undone), []string{"c2 book by undo-c2 unbook",
		"c1 book by undo-c1 unbook", "c0 book by undo-c0 unbook: budget_exceeded"})
}

// Each batched call is recorded as refused if it exceeds the budget, and a refused call waits for
// no approval.
func TestHistoryBudget_RefusesBatchedCalls(t *testing.T) {
	guarded, err := toolspecs.Decode("guarded.yaml", []byte(guardedTools),
		toolspecs.Options{Lanes: lanes.NewSet(api.Lane{Name: "bank"})})
	if err != nil {
		t.Fatal(err)
	}
	l := newLabOf(t, 1, append(guarded, many("echo", nil))...)
	l.grows(48_000, 0, 9, 0)
	var refused []string
	l.decisions = func(decisions []api.AdmissionDecision) {
		for _, v := range decisions {
			if v.Error != nil {
				refused = append(refused, v.ID+" "+string(v.Error.Type))
			}
		}
	}
	var waiting []api.Approval
	l.answers = []func() (api.ModelResponse, error){
		func() (api.ModelResponse, error) {
			return api.ModelResponse{Message: api.Message{Calls: []api.Call{
				{Tool: "many", Arguments: `{"value":["a"]}`},
				{Tool: "pay", Arguments: `{"value":2}`},
				{Tool: "many", Arguments: `{"value":["b"]}`}}}}, nil
		},
		func() (api.ModelResponse, error) {
			waiting = l.awaiting()
			return api.ModelResponse{Message: api.Message{Text: "done"}}, nil
		},
	}
	a := listedAgent()
	a.Tools = append(a.Tools, "many", "pay")
	l.runAgent(a, "Go.")
	if r := l.result(); r.Usage.Calls != 3 || r.Usage.Failed != 3 || len(waiting) != 0 {
		t.Errorf("usage %+v; waiting: %+v", r.Usage, waiting)
	}
	expect(t, "refused", refused, []string{"1.1 budget_exceeded", "1.3 budget_exceeded",
		"1.2 budget_exceeded"})
}

// However often calls fail in a way that repeats or verifies them, the history stays under the size
// at which the server ends the run, so that what they did is undone. Each call adds what it costs
// at most: an attempt, its pause and its entry in the journal 15 events, with their workflow
// tasks.
func TestHistoryBudget_BoundsRepetitions(t *testing.T) {
	for name, failure := range map[string]func() error{"returned": notStarted, "lost": lost} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			length := l.grows(47_000, 1<<20, 15, 1<<10)
			l.returns = func(activity.Info) error { return failure() }
			c := call("echo", `{"value":1}`)
			c.Repeat = 100
			l.runAgent(agent(step(c), answer("done")), "Go.")
			r := l.result()
			if r.Answer != "done" || r.Usage.Calls != 100 || r.Usage.Failed != 100 {
				t.Errorf("result: %+v", r)
			}
			events, _ := length()
			if events > serverEvents {
				t.Errorf("the history has %d events", events)
			}
			if n := len(l.scheduled); n <= 100 {
				t.Errorf("%d attempts of 100 calls: nothing was repeated", n)
			}
		})
	}
}
