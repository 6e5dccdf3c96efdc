package workflows_test

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// TestRemoteTasks_AreFollowedByOtherAttempts proves that the run schedules a call again, also one
// with effect once, if its attempt left a task behind, and that the attempt gets the task.
func TestRemoteTasks_AreFollowedByOtherAttempts(t *testing.T) {
	task := &api.RemoteTask{ID: "task", Session: "session"}
	working := func() error {
		return temporal.NewHeartbeatTimeoutError(api.Heartbeat{Task: task})
	}
	interrupted := func() error {
		return executor.Failure(&api.Error{Type: api.ErrOutcomeUnknown,
			Phase: api.PhaseExecution, Message: "the worker stops"}, *task)
	}
	for name, test := range map[string]struct {
		failures []func() error
		follows  int
		told     string
	}{
		"killed":          {[]func() error{working}, 1, "1"},
		"stopped":         {[]func() error{interrupted}, 1, "1"},
		"killed at once":  {[]func() error{working, lost, interrupted}, 3, "1"},
		"without a task":  {[]func() error{lost}, 0, "ERROR outcome_unknown"},
		"task over":       {[]func() error{working, over}, 1, "ERROR outcome_unknown"},
		"task is unknown": {[]func() error{working, unknown}, 1, "ERROR outcome_unknown"},
		"never ends": {[]func() error{working, nil}, workflows.MaxFollows,
			"ERROR outcome_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			attempts := 0
			l.returns = func(activity.Info) error {
				defer func() { attempts++ }()
				switch {
				case attempts < len(test.failures) && test.failures[attempts] != nil:
					return test.failures[attempts]()
				case test.failures[len(test.failures)-1] == nil:
					return working()
				}
				return nil
			}
			l.runAgent(agent(step(call("store", `{"text":"a"}`)), answer("done")), "Go.")
			l.result()
			var given []string
			for _, s := range l.scheduled {
				if s.tool == "store" && s.call.Task != nil {
					given = append(given, s.call.Task.ID+" "+s.call.Task.Session)
				}
			}
			if len(given) != test.follows || len(given) > 0 && given[0] != "task session" {
				t.Errorf("%d attempts, of which %q got a task", attempts, given)
			}
			if text := l.callResults()[0]; !strings.HasPrefix(text, "1.1 "+test.told) {
				t.Errorf("the model was told %q", text)
			}
		})
	}
}

func over() error { return temporal.NewHeartbeatTimeoutError(api.Heartbeat{TaskOver: true}) }

func unknown() error {
	return executor.Failure(&api.Error{Type: api.ErrOutcomeUnknown, Phase: api.PhaseExecution,
		Message: "the server does not know the task"})
}
