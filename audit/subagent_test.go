package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// family serves the recorded runs of a tree of agents.
func family(t *testing.T) map[string]*archivedRun {
	t.Helper()
	runs := map[string]*archivedRun{}
	for _, id := range []string{"sub_agents", "sub_agents/1.1", "sub_agents/1.1/1.1"} {
		runs[id] = &archivedRun{parts: histories(t, id), lost: -1}
	}
	return runs
}

func treeLines(t *testing.T, ctx context.Context, runs map[string]*archivedRun,
	wantErr error) []string {
	t.Helper()
	var lines []string
	for r, err := range audit.Tree(ctx, serve(t, runs), "sub_agents", "") {
		if err != nil {
			if !errors.Is(err, wantErr) {
				t.Fatal(err)
			}
			return append(lines, "gone")
		}
		if want := api.CallPath(r.Parent, r.CallID); r.Path != want {
			t.Errorf("call %s below %q has the path %s", r.CallID, r.Parent, r.Path)
		}
		lines = append(lines, r.Path+" "+r.Tool+" "+string(r.Status))
	}
	return lines
}

// Each call precedes those of its sub-agent. A sub-agent with a lost history does not affect the
// others.
func TestTree_HasTheRecordsOfAllSubAgents(t *testing.T) {
	runs := family(t)
	// The histories of the other sub-agents are not in testdata.
	want := []string{
		"1.1 wide completed",
		"1.1/1.1 deep completed",
		"1.1/1.1/1.1 echo completed",
		"1.1/1.2 echo completed",
		"1.2 echo completed",
		"1.3 failing failed",
		"1.4 late failed",
		"1.5 wide refused",
		"1.6 unfit failed",
		"gone",
	}
	if got := treeLines(t, t.Context(), runs, audit.ErrNotFound); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	delete(runs, "sub_agents/1.1")
	want = slices.Delete(want, 1, 4)
	if got := treeLines(t, t.Context(), runs, audit.ErrNotFound); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range audit.Tree(t.Context(), serve(t, family(t)), "sub_agents", "") {
		break // a reader may turn away
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := treeLines(t, ctx, runs, context.Canceled); !slices.Equal(got, []string{"gone"}) {
		t.Errorf("after the end of its context: %q", got)
	}
}

// The summaries of a run and of its sub-agent name each other, and the usage of a running run
// contains that of its sub-agents.
func TestSummaries_ReferToEachOther(t *testing.T) {
	c := serve(t, family(t))
	above, err := audit.Describe(t.Context(), c, "sub_agents", "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range above.SubAgents {
		got = append(
			got,
			fmt.Sprintf("%s %s %s %s started=%v", s.CallID, s.Tool, s.WorkflowID, s.Status,
				s.RunID != ""),
		)
	}
	want := []string{
		"1.1 wide sub_agents/1.1 completed started=true",
		"1.3 failing sub_agents/1.3 failed started=true",
		"1.4 late sub_agents/1.4 failed started=true",
		"1.6 unfit sub_agents/1.6 failed started=true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sub-agents: got %q, want %q", got, want)
	}
	below, err := audit.Describe(t.Context(), c, "sub_agents/1.1", "")
	if err != nil {
		t.Fatal(err)
	}
	if p := below.Parent; p == nil || p.WorkflowID != "sub_agents" || p.Run != above.Run ||
		p.Call != "1.1" ||
		p.Depth != 1 ||
		below.Prompt != "a" {
		t.Errorf("the sub-agent's run: %+v, parent %+v", below, p)
	}
	d := history.NewDeriver("", "")
	recorded := histories(t, "sub_agents")[0]
	derive(t, d, recorded[:len(recorded)-1])
	if used := d.Summary().Usage; used.Calls != above.Usage.Calls ||
		used.OutputTokens != above.Usage.OutputTokens ||
		used.Failed != above.Usage.Failed {
		t.Errorf("used %+v before the end, %+v after it", used, above.Usage)
	}
}

// They run, with the id of their run. They are cancelled if the server ends the run above them.
func TestOpenSubAgents_AreShown(t *testing.T) {
	recorded := histories(t, "sub_agents")[0]
	d := history.NewDeriver("", "")
	at := slices.IndexFunc(recorded, func(e *historypb.HistoryEvent) bool {
		return e.GetChildWorkflowExecutionCompletedEventAttributes() != nil
	})
	derive(t, d, recorded[:at])
	running := map[string]api.Record{}
	for _, r := range d.RunningCalls() {
		running[r.CallID] = r
	}
	r := running["1.1"]
	if r.Status != api.CallRunning || r.Child == nil || r.Child.RunID == "" ||
		r.Phase != api.PhaseExecution ||
		r.Attempts != 1 {
		t.Errorf("a running sub-agent: %+v", r)
	}
	children := []*workflowpb.PendingChildExecutionInfo{
		{WorkflowId: "sub_agents/1.1", RunId: "r"},
		{WorkflowId: "sub_agents/1.3"},
		{WorkflowId: "another"},
	}
	c := serve(
		t,
		map[string]*archivedRun{"sub_agents": {parts: histories(t, "sub_agents"), lost: -1,
			open: &workflowservice.DescribeWorkflowExecutionResponse{PendingChildren: children}}},
	)
	pending, err := audit.Pending(t.Context(), c, "sub_agents", "")
	if err != nil || len(pending) != 2 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	if p := pending[0]; p.Kind != audit.KindCall || p.ID != "1.1" ||
		p.State != audit.StateRunning ||
		*p.Child != (api.ChildRun{WorkflowID: "sub_agents/1.1", RunID: "r"}) {
		t.Errorf("pending: %+v", p)
	}
	if p := pending[1]; p.ID != "1.3" || p.State != audit.StateWaiting {
		t.Errorf("pending: %+v", p)
	}
	events := derive(t, d,
		[]*historypb.HistoryEvent{event(99, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, nil)})
	records := recordsOf(events)
	if len(records) != 4 {
		t.Fatalf("%d records, want those of the calls that were open", len(records))
	}
	for _, r := range records { // their tools must not run twice
		if r.Status != api.CallFailed || r.Error.Type != api.ErrOutcomeUnknown {
			t.Errorf("call %s is %s", r.CallID, r.Status)
		}
	}
	for _, s := range d.Summary().SubAgents {
		if s.Status != api.CallFailed {
			t.Errorf("sub-agent %s is %s", s.CallID, s.Status)
		}
	}
}

func TestSubAgentThatCannotStart_NeverRan(t *testing.T) {
	recorded := slices.DeleteFunc(
		histories(t, "sub_agents")[0],
		func(e *historypb.HistoryEvent) bool {
			return e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId() ==
				"sub_agents/1.3"
		},
	)
	d := history.NewDeriver("", "")
	for _, r := range recordsOf(derive(t, d, recorded)) {
		if r.CallID == "1.3" &&
			(r.Status != api.CallRefused || r.Child != nil || r.Error == nil ||
				!r.Started.IsZero()) {
			t.Errorf("the call: %+v", r)
		}
	}
	if n := d.Summary().Usage.Calls; n != 11 {
		t.Errorf("%d calls are counted", n)
	}
}
