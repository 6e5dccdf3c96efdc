package audit_test

import (
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

func recordsIn(events []api.Event) map[string]api.Record {
	records := map[string]api.Record{}
	for _, e := range events {
		if e.Record != nil {
			records[e.CallID] = *e.Record
		}
	}
	return records
}

// Each batched call has a record with its own arguments and results, also while the batch runs and
// if the server ends the run meanwhile.
func TestBatchedCalls_HaveOneRecordEach(t *testing.T) {
	recorded := replayedHistory(t, "agent_batched")
	d := history.NewDeriver("", "")
	events := derive(t, d, recorded)
	checkEvents(t, events)
	records := recordsIn(events)
	if got := string(records["1.1"].Arguments) + string(records["1.1"].Result.Output) +
		string(records["1.3"].Arguments) + string(records["1.3"].Result.Output); got !=
		`{"texts":["a","b"]}["a","b"]{"texts":["d"]}["d"]` {
		t.Errorf("batched calls: %s", got)
	}
	if r := records["1.3"]; !r.Batched || r.Activity != "1.1" || r.Worker == "" ||
		r.Closed.IsZero() ||
		records["1.4"].Batched {
		t.Errorf("the second of them: %+v", r)
	}
	if u := d.Summary().Usage; u.Calls != 5 || u.Failed != 0 {
		t.Errorf("usage %+v", u)
	}

	d = history.NewDeriver("", "")
	var open []*historypb.HistoryEvent
	for _, e := range recorded {
		if e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED && len(open) > 12 {
			break
		}
		open = append(open, e)
	}
	derive(t, d, open)
	var running []string
	for _, r := range d.RunningCalls() {
		running = append(running, r.CallID)
	}
	slices.Sort(running)
	if !slices.Equal(running, []string{"1.1", "1.2", "1.3", "1.4", "1.5"}) {
		t.Errorf("running: %q", running)
	}
	ended := recordsIn(
		derive(
			t,
			d,
			[]*historypb.HistoryEvent{{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
				Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
					WorkflowExecutionTerminatedEventAttributes: &terminatedAttributes{},
				}}},
		),
	)
	if len(ended) != 5 || ended["1.3"].Status != api.CallCancelled ||
		string(ended["1.3"].Arguments) != `{"texts":["d"]}` {
		t.Errorf("ended: %+v", ended)
	}
}

// Records of calls that a dry run withheld have the planned effects without sensitive values.
func TestWithheldCalls_RecordTheirPlans(t *testing.T) {
	d := history.NewDeriver("", "")
	events := derive(t, d, replayedHistory(t, "agent_dry_run"))
	records := recordsIn(events)
	if r := records["1.3"]; !r.DryRun || r.Status != api.CallCompleted ||
		string(r.Arguments) != `{"pin":"***","texts":["b"]}` ||
		r.Plan == nil ||
		r.Plan.Intent != "write with pin ***" {
		t.Errorf("withheld: %+v, plan %+v", r, r.Plan)
	}
	if records["1.1"].DryRun || records["1.4"].DryRun || !d.Summary().DryRun {
		t.Errorf("%+v", records)
	}
}
