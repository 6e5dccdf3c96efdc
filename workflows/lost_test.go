package workflows_test

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

func lost() error { return temporal.NewHeartbeatTimeoutError() }

// TestLostCalls_AreRequeuedIfRepeatable proves that the run schedules a call again whose workers
// were lost at every attempt of its retry policy, a bounded number of times, and never a call with
// effect once.
func TestLostCalls_AreRequeuedIfRepeatable(t *testing.T) {
	for name, test := range map[string]struct {
		tool, arguments    string
		failures, attempts int
		told               string
	}{
		"read":            {"echo", `{"value":7}`, 3, 4, "7"},
		"read, often":     {"echo", `{"value":7}`, 11, 12, "7"},
		"read, too often": {"echo", `{"value":7}`, 13, 12, "ERROR worker_lost"},
		"once":            {"store", `{"text":"a"}`, 1, 1, "ERROR outcome_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			attempts := l.requeues(test.failures, lost)
			l.runAgent(agent(step(call(test.tool, test.arguments)), answer("done")), "Go.")
			if r := l.result(); r.Usage.Calls != 1 {
				t.Errorf("usage %+v", r.Usage)
			}
			text := l.callResults()[0]
			if len(*attempts) != test.attempts ||
				!strings.HasPrefix(text, "1.1 "+test.told) {
				t.Errorf("after %d attempts, want %d, the model was told %q", len(*attempts),
					test.attempts, text)
			}
		})
	}
}

// TestLostCalls_StayLostIfNoOtherAttemptStarts proves that a requeued call whose last attempts did
// not start is not reported as not started, because an earlier one may have.
func TestLostCalls_StayLostIfNoOtherAttemptStarts(t *testing.T) {
	for name, cancel := range map[string]bool{"not started": false, "cancelled": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			attempts := 0
			l.returns = func(activity.Info) error {
				attempts++
				switch {
				case attempts <= 3:
					return lost()
				case cancel:
					l.CancelWorkflow()
				}
				return notStarted()
			}
			l.runPlan(`calls: [{id: a, tool: echo, arguments: {value: 1}}]`)
			if cancel {
				l.cancelled()
			}
			want := 3 + 1 + workflows.MaxRequeues
			if cancel {
				want = 4
			}
			if attempts != want {
				t.Errorf("%d attempts, want %d", attempts, want)
			}
		})
	}
}

// A call whose workers were lost, or of which an attempt says that it may have acted, is not told
// as not done because a later attempt was refused.
func TestEarlierAttempts_AreRememberedOverActivities(t *testing.T) {
	refused := func() error {
		return executor.Failure(&api.Error{Type: api.ErrExecution, Phase: api.PhaseExecution,
			Message: "no"})
	}
	returned := func() error {
		e := failures.AfterEffect((&api.Error{Type: api.ErrWorkerLost,
			Phase: api.PhasePreExecution, NotStarted: true,
			Requeue: true, Message: "gave up the lane; nothing ran"}))
		return executor.Failure(e)
	}
	waited := func() error {
		return temporal.NewHeartbeatTimeoutError(api.Heartbeat{Waiting: true, Acted: true})
	}
	for name, test := range map[string]struct {
		failures []func() error
		acted    bool
	}{
		"lost while it waited late":    {[]func() error{lost, lost, waited, refused}, true},
		"lost, then refused":           {[]func() error{lost, lost, lost, refused}, true},
		"returned late, then refused":  {[]func() error{returned, refused}, true},
		"returned at once and refused": {[]func() error{notStarted, refused}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newBookings(t)
			queueSize := 3
			l.lanes = lanes.NewSet(api.Lane{Name: "general", Limit: 1, QueueSize: &queueSize})
			attempt := 0
			l.returns = func(activity.Info) error {
				attempt++
				if attempt > len(test.failures) {
					return nil
				}
				return test.failures[attempt-1]()
			}
			l.runAgent(booker("", step(call("hang_unknown", `{}`))), "Go.")
			if _, undone := l.undone(); (len(undone) == 1) != test.acted {
				t.Errorf("after %d attempts, undone: %q", attempt, undoneLines(undone))
			}
		})
	}
}

// TestLostSteps_AreRequeued proves that the run schedules a model step again whose workers were
// lost at every attempt of its retry policy, a bounded number of times, and that other failures end
// the run as before.
func TestLostSteps_AreRequeued(t *testing.T) {
	for name, test := range map[string]struct {
		failures, attempts int
		failure            error
		fails              bool
	}{
		"once":             {5, 6, lost(), false},
		"often":            {19, 20, lost(), false},
		"too often":        {21, 20, lost(), true},
		"not by a worker":  {6, 5, temporal.NewApplicationError("overloaded", "busy"), true},
		"without attempts": {0, 1, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			attempts := 0
			l.steps = func() error {
				if attempts++; attempts <= test.failures {
					return test.failure
				}
				return nil
			}
			l.runAgent(agent(answer("done")), "Go.")
			if attempts != test.attempts {
				t.Errorf("%d attempts, want %d", attempts, test.attempts)
			}
			if test.fails {
				l.failure(api.RunModelFailed, nil)
				return
			}
			if r := l.result(); r.Answer != "done" || r.Usage.Turns != 1 {
				t.Errorf("the run returned %+v", r)
			}
		})
	}
}

// TestLostSteps_EndWithTheRun proves that a cancelled run does not schedule a lost step again.
func TestLostSteps_EndWithTheRun(t *testing.T) {
	l := newLab(t)
	attempts := 0
	l.steps = func() error {
		if attempts++; attempts == 5 {
			l.CancelWorkflow()
		}
		return lost()
	}
	l.runAgent(agent(answer("never")), "Go.")
	l.cancelled()
	if attempts != 5 {
		t.Errorf("%d attempts, want 5", attempts)
	}
}
