package runlist

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// lister is a client that answers ListWorkflow only.
type lister struct {
	client.Client
	asked  *workflowservice.ListWorkflowExecutionsRequest
	answer *workflowservice.ListWorkflowExecutionsResponse
	err    error
}

func (l *lister) ListWorkflow(_ context.Context,
	r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	l.asked = r
	return l.answer, l.err
}

func payloads(t *testing.T, values map[string]any) map[string]*commonpb.Payload {
	t.Helper()
	encoded := map[string]*commonpb.Payload{}
	for name, value := range values {
		p, err := pb.DataConverter.ToPayload(value)
		if err != nil {
			t.Fatal(err)
		}
		encoded[name] = p
	}
	return encoded
}

func TestPage_DescribesRuns(t *testing.T) {
	at := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	paused := api.Pause{By: "ada", Since: at}
	run := func(set func(*workflowpb.WorkflowExecutionInfo), attributes,
		memo map[string]any) *workflowpb.WorkflowExecutionInfo {
		e := &workflowpb.WorkflowExecutionInfo{
			Execution:        &commonpb.WorkflowExecution{WorkflowId: "w", RunId: "r"},
			Type:             &commonpb.WorkflowType{Name: api.AgentWorkflow},
			StartTime:        timestamppb.New(at),
			Status:           enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
			SearchAttributes: &commonpb.SearchAttributes{IndexedFields: payloads(t, attributes)},
			Memo:             &commonpb.Memo{Fields: payloads(t, memo)}}
		if set != nil {
			set(e)
		}
		return e
	}
	completed := func(e *workflowpb.WorkflowExecutionInfo) {
		e.Status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
		e.CloseTime = timestamppb.New(at.Add(time.Hour))
	}
	c := &lister{answer: &workflowservice.ListWorkflowExecutionsResponse{
		NextPageToken: []byte("next"), Executions: []*workflowpb.WorkflowExecutionInfo{
			run(completed, map[string]any{api.AttributeAgent: "a", api.AttributeCaller: "ada",
				api.AttributeConversation: "c", api.AttributeTools: []string{"pay", "read"},
				api.AttributeOutcome: api.OutcomeFailed, api.AttributeCalls: 3,
				api.AttributeTokens: 40, api.AttributeCost: 0.5, api.AttributeWaiting: true},
				map[string]any{api.PausedMemo: paused}),
			run(nil, map[string]any{api.AttributeWaiting: true},
				map[string]any{api.PausedMemo: paused}),
			run(nil, map[string]any{api.AttributeCalls: "many"},
				map[string]any{api.PausedMemo: paused, api.ApprovalsMemo: at}),
			run(nil, nil, map[string]any{api.PausedMemo: paused}),
		}}}
	open := Run{WorkflowID: "w", RunID: "r", Kind: history.RunAgent, Status: history.RunPaused,
		Started: at}
	waits := open
	waits.Waits = true
	want := []Run{{WorkflowID: "w", RunID: "r", Kind: history.RunAgent, Agent: "a", Caller: "ada",
		Conversation: "c", Status: history.RunCompleted, Started: at, Closed: at.Add(time.Hour),
		Tools: []string{"pay", "read"}, Outcome: api.OutcomeFailed, Calls: 3, Tokens: 40,
		Cost: 0.5}, waits, waits, open}
	got, next, err := Page(t.Context(), c, "ns", Query{}, 4, []byte("before"))
	if err != nil || string(next) != "next" {
		t.Fatalf("the next page is %q, %v", next, err)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("run %d is\n%+v\nwant\n%+v", i, got[i], want[i])
		}
	}
	if c.asked.Namespace != "ns" || c.asked.PageSize != 4 ||
		string(c.asked.NextPageToken) != "before" ||
		c.asked.Query != (Query{}).condition() {
		t.Errorf("the request was %v", c.asked)
	}
}

func TestPage_ReturnsTheErrorOfTheServer(t *testing.T) {
	refused := errors.New("refused")
	if _, _, err := Page(t.Context(), &lister{err: refused}, "ns", Query{}, 1, nil); !errors.Is(err,
		refused) {
		t.Errorf("the error is %v", err)
	}
}

// The server compares only the beginning of texts with a backslash, and does not tell paused runs.
func TestPage_KeepsRunsThatTheQueryMeans(t *testing.T) {
	paused := Run{Conversation: `a\b`, Agent: "x", Caller: `CORP\ada`, Status: history.RunPaused}
	q := Query{Conversation: `a\b`, Agent: "x", Caller: `CORP\ada`, Status: history.RunPaused}
	if !q.keeps(paused) || !(Query{}).keeps(paused) {
		t.Error("a run that is meant is left out")
	}
	for _, change := range []func(*Run){
		func(r *Run) { r.Conversation = `a\c` }, func(r *Run) { r.Agent = "y" },
		func(r *Run) { r.Caller = `CORP\bob` }, func(r *Run) { r.Status = history.RunRunning },
	} {
		other := paused
		if change(&other); q.keeps(other) {
			t.Errorf("%+v is kept", other)
		}
	}
}
