package workflows_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// notStarted is the error of a call that a worker returns unstarted.
func notStarted() error {
	return executor.Failure(&api.Error{Type: api.ErrWorkerLost, Phase: api.PhasePreExecution,
		Message: "gave up the lane; nothing ran", NotStarted: true, Requeue: true})
}

// requeues makes the first n attempts of every call fail, and records the workflow's times of all
// attempts.
func (l *lab) requeues(n int, failure func() error) (attempts *[]time.Time) {
	attempts = &[]time.Time{}
	l.returns = func(activity.Info) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		*attempts = append(*attempts, l.Now())
		if len(*attempts) <= n {
			return failure()
		}
		return nil
	}
	return attempts
}

// A call that workers return before its start is scheduled again with the same id, whatever its
// effect, after pauses that grow up to ten seconds. The run counts one successful call.
func TestRequeue_SchedulesReturnedCallsAgain(t *testing.T) {
	l := newLab(t)
	attempts := l.requeues(workflows.MaxRequeues, notStarted)
	l.runAgent(agent(step(call("store", `{"text":"a"}`)), answer("done")), "Go.")
	r := l.result()
	if r.Usage.Calls != 1 || r.Usage.Failed != 0 || !slices.Equal(l.stored, []string{"a"}) {
		t.Errorf("usage %+v, stored %q", r.Usage, l.stored)
	}
	var pauses []time.Duration
	for i, at := range (*attempts)[1:] {
		pauses = append(pauses, at.Sub((*attempts)[i]).Round(time.Second))
	}
	want := []time.Duration{0}
	for n := 1; n < workflows.MaxRequeues; n++ {
		want = append(want, min(time.Duration(n), 10)*time.Second)
	}
	expect(t, "pauses", pauses, want)
	ids := l.ids()
	if calls := ids[1 : len(ids)-1]; len(slices.Compact(slices.Clone(calls))) != 1 ||
		len(calls) != workflows.MaxRequeues+1 {
		t.Errorf("activities %v", ids)
	}
}

// A tool with effect once is retried by the run, a repeatable one by its retry policy.
func TestRequeue_OfFailuresBeforeTheStart(t *testing.T) {
	unsent := func(retryable bool) func() error {
		return func() error {
			return executor.Failure(&api.Error{Type: api.ErrExecution, Phase: api.PhaseExecution,
				Message: "connection refused", NotStarted: true, Retryable: retryable})
		}
	}
	for name, test := range map[string]struct {
		tool                string
		failures, attempts  int
		retryable, succeeds bool
	}{
		"once":               {"store", 2, 3, true, true},
		"once, too often":    {"store", 3, 3, true, false},
		"once, for good":     {"store", 1, 1, false, false},
		"read, by its retry": {"note", 2, 3, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			attempts := l.requeues(test.failures, unsent(test.retryable))
			l.runAgent(agent(step(call(test.tool, `{"text":"a"}`)), answer("done")), "Go.")
			r := l.result()
			if len(*attempts) != test.attempts || r.Usage.Calls != 1 ||
				(r.Usage.Failed == 0) != test.succeeds {
				t.Errorf("%d attempts, usage %+v", len(*attempts), r.Usage)
			}
			if texts := l.callResults(); !test.succeeds && !strings.Contains(texts[0],
				"Nothing left the worker") {
				t.Errorf("the model reads %q", texts)
			}
		})
	}
}

// Nobody else makes the calls that a run itself makes: it makes them as soon as what they need is
// there. They wait for a slot as long as it takes, before all other calls.
func TestRequeue_OfOwnCallsEndsWhenTheyCanBeMade(t *testing.T) {
	unprovided := executor.Failure(&api.Error{Type: api.ErrPreconditionFailed,
		Phase: api.PhaseExecution, NotStarted: true, Retryable: true})
	for name, failure := range map[string]error{"the server is down": unprovided,
		"no worker has a slot": notStarted()} {
		t.Run(name, func(t *testing.T) {
			l := newBookings(t)
			options := l.watchOptions()
			l.lanes = lanes.NewSet(api.Lane{Name: "serial", Limit: 1, QueueSize: new(int),
				QueueTimeout: api.Duration(time.Second)})
			attempts := 0
			l.returns = func(info activity.Info) error {
				if info.ActivityID == "undo-1.1" {
					if attempts++; attempts <= workflows.MaxRequeues {
						return failure
					}
				}
				return nil
			}
			a := booker(api.UndoBoth, step(book("a")))
			l.runAgent(a, "Go.")
			if l.GetWorkflowError() == nil {
				t.Fatal("the run did not fail")
			}
			_, undone := l.undone()
			expect(t, "undone", undoneLines(undone), []string{"1.1 book by undo-1.1 unbook"})
			o := options[ownID+" undo-1.1"]
			if o.ScheduleToStartTimeout != 0 || o.StartToCloseTimeout < 300*24*time.Hour ||
				o.Priority.PriorityKey != lanerules.PriorityLevel(api.PriorityUrgent) {
				t.Errorf("the undo waits %+v", o)
			}
			for _, s := range l.scheduled {
				if s.call.Own != (s.id == "undo-1.1") || s.call.Own && s.call.QueueTimeout != 0 {
					t.Errorf("%s has the input %+v", s.id, s.call)
				}
			}
		})
	}
}

// A call that no worker starts ends with the error of the last worker, and the calls after it
// continue.
func TestRequeue_IsBounded(t *testing.T) {
	l := newLab(t)
	attempts := l.requeues(workflows.MaxRequeues+1, notStarted)
	l.runAgent(agent(step(call("store", `{"text":"a"}`), call("store", `{"text":"b"}`)),
		answer("done")), "Go.")
	if r := l.result(); r.Usage.Calls != 2 || r.Usage.Failed != 1 || !slices.Equal(l.stored,
		[]string{"b"}) {
		t.Errorf("usage %+v, stored %q", r.Usage, l.stored)
	}
	if texts := l.callResults(); !strings.Contains(texts[0], "gave up the lane; nothing ran") ||
		len(*attempts) != workflows.MaxRequeues+2 {
		t.Errorf("after %d attempts the model reads %q", len(*attempts), texts)
	}
}

// The call is scheduled again only if its last heartbeat says that it waited with its lane's
// holder. A tool that must not run twice is not repeated otherwise.
func TestRequeue_OfCallsThatWaitedWithALostWorker(t *testing.T) {
	waited := func() error {
		return temporal.NewHeartbeatTimeoutError(api.Heartbeat{Waiting: true})
	}
	began := func() error { return temporal.NewHeartbeatTimeoutError() }
	historyBudget := 3
	hosts := lanes.NewSet(api.Lane{Name: "serial", Limit: 1, QueueSize: &historyBudget})
	for name, test := range map[string]struct {
		lanes    *lanes.Set
		failure  func() error
		attempts int
		words    string
	}{
		"it waited":             {hosts, waited, 2, "1"},
		"it began":              {hosts, began, 1, "ERROR outcome_unknown"},
		"its lane has no queue": {lanes.NewSet(), waited, 1, "ERROR outcome_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.lanes = test.lanes
			attempts := l.requeues(1, test.failure)
			l.runAgent(agent(step(call("store", `{"text":"a"}`)), answer("done")), "Go.")
			l.result()
			texts := l.callResults()
			if len(*attempts) != test.attempts || !strings.HasPrefix(texts[0],
				"1.1 "+test.words) {
				t.Errorf("after %d attempts the model reads %q", len(*attempts), texts)
			}
		})
	}
}

// A cancelled run schedules no call again: neither one that is returned after the cancellation, nor
// one that was before.
func TestRequeue_EndsWithCancellation(t *testing.T) {
	for name, cancelAt := range map[string]int{"before": 3, "in the pause": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			attempts := 0
			l.returns = func(activity.Info) error {
				if attempts++; attempts == cancelAt {
					l.CancelWorkflow()
				}
				return notStarted()
			}
			if cancelAt == 0 {
				l.after(90*time.Second, l.CancelWorkflow)
			}
			l.runPlan(`calls: [{id: a, tool: store, arguments: {text: a}}, {id: b, tool: store, arguments: {text: b}}]`)
			l.cancelled()
			// The pauses before the fifteenth attempt take 85 seconds.
			if want := cmp.Or(cancelAt, 15); attempts != want || len(l.executed) > 0 {
				t.Errorf("%d attempts, want %d, executed %v", attempts, want, l.executed)
			}
		})
	}
}
