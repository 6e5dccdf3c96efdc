package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
)

// TestLive proves, run by run on a real server, that following a run gives what reading it afterwards gives, that the
// derived usage is the one the run itself counted, and records the histories that the other tests work on.
func TestLive(t *testing.T) {
	c := devserver(t)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.name, TaskQueue: queue}, s.workflow, s.input)
			if err != nil {
				t.Fatal(err)
			}
			var followed []switchyard.Event
			stop := s.stop
			for event, err := range audit.Follow(ctx, c, s.name, "") {
				if err != nil {
					t.Fatal(err)
				}
				followed = append(followed, event)
				if event.Tool == "hanging" && event.Type == switchyard.EventToolStarted && stop != "" {
					stopRun(ctx, t, c, run, stop)
					stop = ""
				}
			}
			read := collect(t, audit.Events(ctx, c, s.name, ""))
			if !reflect.DeepEqual(followed, read) {
				t.Errorf("followed %d events, read %d: they differ", len(followed), len(read))
			}
			checkEvents(t, read)
			if *update {
				record(ctx, t, c, s.name, run.GetRunID())
			}
		})
	}
}

// stopRun ends a run from outside when its hanging call runs.
func stopRun(ctx context.Context, t *testing.T, c client.Client, run client.WorkflowRun, how string) {
	t.Helper()
	awaitPending(ctx, t, c, run.GetID(), func(r audit.Running) bool { return r.Tool == "hanging" && r.State == audit.StateRunning })
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

// awaitPending asks what is pending until something is for which is holds.
func awaitPending(ctx context.Context, t *testing.T, c client.Client, id string, is func(audit.Running) bool) audit.Running {
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

// record writes the histories of a run's chain to testdata.
func record(ctx context.Context, t *testing.T, c client.Client, id, runID string) {
	t.Helper()
	for part := 1; runID != ""; part++ {
		history := &historypb.History{}
		next := ""
		for h := c.GetWorkflowHistory(ctx, id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); h.HasNext(); {
			event, err := h.Next()
			if err != nil {
				t.Fatal(err)
			}
			history.Events = append(history.Events, event)
			next = event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		data, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(history)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", fmt.Sprintf("%s.%d.json", id, part)), data, 0o644); err != nil {
			t.Fatal(err)
		}
		runID = next
	}
}

// TestLivePending proves that an open run shows what runs and what waits, with lanes and attempts, in Pending and in
// Records, and that a run nobody serves shows the decision that waits.
func TestLivePending(t *testing.T) {
	c := devserver(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	input := agent(switchyard.Limits{}, turns([]switchyard.ScriptCall{call("echo", `{"text":"a"}`), call("hanging", `{}`), call("hanging", `{}`)})...)
	if _, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "open", TaskQueue: queue}, switchyard.AgentWorkflow, input); err != nil {
		t.Fatal(err)
	}
	running := awaitPending(ctx, t, c, "open", func(r audit.Running) bool { return r.State == audit.StateRunning && r.Tool == "hanging" })
	if running.Lane != switchyard.LaneSerial || running.Attempt != 1 || running.ID != "1.2" || running.Since.IsZero() || running.Worker != "worker-1" {
		t.Errorf("pending: %+v", running)
	}
	var records []switchyard.Record
	for r, err := range audit.Records(ctx, c, "open", "") {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if len(records) != 3 || records[0].Status != switchyard.CallCompleted || records[1].Status != switchyard.CallRunning ||
		records[1].Attempts != 1 || records[1].Phase != switchyard.PhaseExecution || records[1].Started.IsZero() ||
		records[2].CallID != "1.3" || records[2].Phase != switchyard.PhasePreExecution {
		t.Errorf("records: %+v", records)
	}
	if err := c.TerminateWorkflow(ctx, "open", "", ""); err != nil {
		t.Fatal(err)
	}
	if pending, err := audit.Pending(ctx, c, "open", ""); err != nil || len(pending) != 0 {
		t.Errorf("a closed run has pending %v, %v", pending, err)
	}
	if _, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "unserved", TaskQueue: "nobody"}, switchyard.AgentWorkflow, input); err != nil {
		t.Fatal(err)
	}
	awaitPending(ctx, t, c, "unserved", func(r audit.Running) bool { return r.Kind == audit.KindRun && r.State == audit.StateWaiting })
	for id, runID := range map[string]string{"nosuch": "", "open": "not-an-id", "unserved": "00000000-0000-4000-8000-000000000000"} {
		if _, err := audit.Describe(ctx, c, id, runID); !errors.Is(err, audit.ErrNotFound) {
			t.Errorf("%s %s: %v", id, runID, err)
		}
	}
}
