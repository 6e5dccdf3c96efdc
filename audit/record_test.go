package audit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/golden"
	library "github.com/switchyard/switchyard/internal/test/histories"
	"go.temporal.io/sdk/client"
)

// Following a run on a real server gives the same events as reading it afterwards, and the derived
// usage equals the usage that the run counted. The test also records the histories of the other
// tests.
func TestLive_FollowingEqualsReading(t *testing.T) {
	c := devserver(t)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			run := execute(ctx, t, c, s.name, queue, s.workflow, s.input)
			followed := follow(ctx, t, c, run, s.stop)
			read := collect(t, audit.Events(ctx, c, s.name, ""))
			if !reflect.DeepEqual(followed, read) {
				t.Errorf("followed %d events, read %d: they differ", len(followed), len(read))
			}
			checkEvents(t, read)
			if golden.IsUpdating() {
				record(ctx, t, c, s.name, run.GetRunID())
				for _, call := range s.below {
					child, err := c.DescribeWorkflowExecution(ctx,
						api.ChildWorkflowID(s.name, call), "")
					if err != nil {
						t.Fatal(err)
					}
					e := child.GetWorkflowExecutionInfo().GetExecution()
					record(ctx, t, c, e.GetWorkflowId(), e.GetRunId())
				}
			}
		})
	}
}

func execute(ctx context.Context, t *testing.T, c client.Client, id, queue, workflow string,
	in api.RunInput) client.WorkflowRun {
	t.Helper()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue},
		workflow, in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// follow returns the events of a run as they occur, and stops the run when its first hanging call
// runs.
func follow(ctx context.Context, t *testing.T, c client.Client, run client.WorkflowRun,
	stop string) []api.Event {
	t.Helper()
	var followed []api.Event
	for event, err := range audit.Follow(ctx, c, run.GetID(), "") {
		if err != nil {
			t.Fatal(err)
		}
		followed = append(followed, event)
		if event.Type == api.EventQuestionAsked {
			reply(ctx, t, c, run.GetID(), *event.Question)
		}
		if event.Tool == "hanging" && event.Type == api.EventToolStarted && stop != "" {
			stopRun(ctx, t, c, run, stop)
			stop = ""
		}
	}
	return followed
}

// stopRun ends a run from outside when its hanging call runs.
func stopRun(ctx context.Context, t *testing.T, c client.Client, run client.WorkflowRun,
	how string) {
	t.Helper()
	awaitPending(ctx, t, c, run.GetID(),
		func(r audit.Running) bool { return r.Tool == "hanging" && r.State == audit.StateRunning })
	var err error
	if how == cancelRun {
		err = c.CancelWorkflow(ctx, run.GetID(), "")
	} else {
		err = c.TerminateWorkflow(ctx, run.GetID(), "", "enough")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// awaitPending reads the pending work until is returns true for an element.
func awaitPending(ctx context.Context, t *testing.T, c client.Client, id string,
	is func(audit.Running) bool) audit.Running {
	t.Helper()
	for {
		pending, err := audit.Pending(ctx, c, id, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range pending {
			if is(r) {
				return r
			}
		}
	}
}

// record writes the histories of a run's executions to testdata.
func record(ctx context.Context, t *testing.T, c client.Client, id, runID string) {
	t.Helper()
	chain, err := library.Fetch(ctx, c, id, runID)
	if err != nil {
		t.Fatal(err)
	}
	for i, history := range chain {
		if err := library.Write(historyFile(id, i+1), history); err != nil {
			t.Fatal(err)
		}
	}
}

// Pending and Records show what runs and what waits in an open run.
func TestLive_PendingShowsLanesAndAttempts(t *testing.T) {
	c := devserver(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	input := agent(
		api.Limits{},
		turns(
			[]api.ScriptCall{
				call("echo", `{"text":"a"}`),
				call("hanging", `{}`),
				call("hanging", `{}`),
			},
		)...)
	execute(ctx, t, c, "open", queue, api.AgentWorkflow, input)
	got := awaitPending(ctx, t, c, "open",
		func(r audit.Running) bool { return r.State == audit.StateRunning && r.Tool == "hanging" })
	want := audit.Running{
		Kind:        audit.KindCall,
		ID:          "1.2",
		Tool:        "hanging",
		Lane:        api.LaneSerial,
		Queue:       queue + "/serial",
		State:       audit.StateRunning,
		Attempt:     1,
		MaxAttempts: got.MaxAttempts,
		Since:       got.Started,
		Started:     got.Started,
		Worker:      "worker-1",
	}
	if got.Started.IsZero() || !reflect.DeepEqual(got, want) {
		t.Errorf("pending: got %+v, want %+v", got, want)
	}
	records := collect(t, audit.Records(ctx, c, "open", ""))
	var lines []string
	for _, r := range records {
		lines = append(lines,
			fmt.Sprintf("%s %s %s attempts=%d", r.CallID, r.Status, r.Phase, r.Attempts))
	}
	if want := []string{"1.1 completed post_execution attempts=1",
		"1.2 running execution attempts=1", "1.3 running pre_execution attempts=0"}; !slices.Equal(
		lines,
		want,
	) {
		t.Errorf("records: got %q, want %q", lines, want)
	}
	if err := c.TerminateWorkflow(ctx, "open", "", ""); err != nil {
		t.Fatal(err)
	}
	if pending, err := audit.Pending(ctx, c, "open", ""); err != nil || len(pending) != 0 {
		t.Errorf("a closed run has pending %v, %v", pending, err)
	}
}

// A run without a worker shows the waiting decision. The server's errors for missing runs become
// ErrNotFound.
func TestLive_MissingRunsAreNotFound(t *testing.T) {
	c := devserver(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	execute(ctx, t, c, "unserved", "nobody", api.AgentWorkflow, agent(api.Limits{}))
	awaitPending(ctx, t, c, "unserved", func(r audit.Running) bool {
		return r.Kind == audit.KindRun && r.State == audit.StateWaiting
	})
	for _, name := range [][2]string{{"nosuch", ""}, {"unserved", "not-an-id"},
		{"unserved", "00000000-0000-4000-8000-000000000000"}} {
		if _, err := audit.Describe(ctx, c, name[0], name[1]); !errors.Is(err, audit.ErrNotFound) {
			t.Errorf("%v: %v", name, err)
		}
	}
}
