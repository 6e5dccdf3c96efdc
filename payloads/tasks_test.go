package payloads

import (
	"context"
	"path"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// requests records the requests to the server.
type requests struct {
	grpc.ClientConnInterface
	list []string
}

// Invoke implements grpc.ClientConnInterface.
func (c *requests) Invoke(_ context.Context, method string, request, _ any,
	_ ...grpc.CallOption) error {
	line := path.Base(method)
	switch r := request.(type) {
	case *workflowservice.RespondWorkflowTaskFailedRequest:
		line += " " + string(r.GetTaskToken()) + " " + r.GetNamespace() + " " + r.GetIdentity() +
			" " + r.GetFailure().GetMessage()
	case *workflowservice.RespondQueryTaskCompletedRequest:
		line += " " + string(r.GetTaskToken()) + " " + r.GetNamespace() + " " + r.GetErrorMessage()
	}
	c.list = append(c.list, line)
	return nil
}

func TestTake_ReturnsUnreadableTasksOnce(t *testing.T) {
	keys := func(id string) *Storage {
		return open(t, Config{Keys: writeFile(t, "keys.yaml", keysText(t, id, id))})
	}
	ours, theirs := keys("k1"), keys("k2")
	task := func(s *Storage, attempt int32) *workflowservice.PollWorkflowTaskQueueResponse {
		p, err := s.converter.ToPayload("text")
		if err != nil {
			t.Fatal(err)
		}
		started := &historypb.WorkflowExecutionStartedEventAttributes{
			Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{p}}}
		return &workflowservice.PollWorkflowTaskQueueResponse{TaskToken: []byte("token"),
			Attempt: attempt, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "w"},
			History: &historypb.History{Events: []*historypb.HistoryEvent{
				{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
					WorkflowExecutionStartedEventAttributes: started}}}}}
	}
	query := task(theirs, 1)
	query.Query = &querypb.WorkflowQuery{QueryType: "q"}
	poll := &workflowservice.PollWorkflowTaskQueueRequest{Namespace: "ns", Identity: "me"}
	for _, c := range []struct {
		name  string
		task  *workflowservice.PollWorkflowTaskQueueResponse
		heard int
		want  string
	}{
		{"readable", task(ours, 1), 0, ""},
		{"unreadable", task(theirs, 1), 1,
			`RespondWorkflowTaskFailed token ns me a payload cannot be read: it is encrypted with the key "k2"`},
		{"unreadable once more", task(theirs, 2), 1, ""},
		{"a query", query, 1,
			`RespondQueryTaskCompleted token ns a payload cannot be read: it is encrypted with the key "k2"`},
		{"none", &workflowservice.PollWorkflowTaskQueueResponse{}, 0, ""},
	} {
		heard, server := 0, &requests{}
		ours.OnUnreadable = func(run string, err error) {
			if heard++; run != "w" || err == nil {
				t.Errorf("%s: heard of %s: %v", c.name, run, err)
			}
		}
		ours.take(t.Context(), poll, c.task, server)
		got := strings.Join(server.list, "; ")
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") || heard != c.heard ||
			(len(c.task.GetTaskToken()) > 0) != (c.name == "readable") {
			t.Errorf("%s: heard %d, the server gets %q, the SDK gets %v", c.name, heard, got,
				c.task)
		}
		if c.name == "readable" &&
			string(c.task.GetHistory().GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0].GetData()) != `"text"` {
			t.Errorf("the SDK gets %v", c.task)
		}
	}
	response := &workflowservice.PollWorkflowTaskQueueResponse{}
	if err := ours.intercept(t.Context(), service+pollTasks, poll, response, nil,
		answering(task(ours, 1))); err != nil || proto.Equal(response, task(ours, 1)) ||
		!strings.Contains(response.String(), `text`) {
		t.Errorf("got %v, %v", response, err)
	}
}
