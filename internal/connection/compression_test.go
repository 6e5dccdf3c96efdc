package connection

import (
	"context"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
)

func TestSmallRequests_AreNotCompressedUnlessTheirAnswersCanBeLarge(t *testing.T) {
	update := func(id string) *workflowservice.UpdateWorkflowExecutionRequest {
		return &workflowservice.UpdateWorkflowExecutionRequest{Namespace: id}
	}
	poll := func(kind enumspb.TaskQueueKind) *workflowservice.PollWorkflowTaskQueueRequest {
		return &workflowservice.PollWorkflowTaskQueueRequest{
			TaskQueue: &taskqueuepb.TaskQueue{Kind: kind}}
	}
	for name, test := range map[string]struct {
		method  string
		request any
		plain   bool
	}{
		"small":   {"UpdateWorkflowExecution", update("a"), true},
		"large":   {"UpdateWorkflowExecution", update(strings.Repeat("a", compressedFrom)), false},
		"history": {"GetWorkflowExecutionHistory", update("a"), false},
		"cached":  {"PollWorkflowTaskQueue", poll(enumspb.TASK_QUEUE_KIND_STICKY), true},
		"whole":   {"PollWorkflowTaskQueue", poll(enumspb.TASK_QUEUE_KIND_NORMAL), false},
	} {
		plain := false
		err := leaveSmall(t.Context(), "/temporal.api.workflowservice.v1.WorkflowService/"+
			test.method, test.request, nil, nil, func(_ context.Context, _ string, _, _ any,
			_ *grpc.ClientConn, options ...grpc.CallOption) error {
			for _, o := range options {
				c, ok := o.(grpc.CompressorCallOption)
				plain = plain || ok && c.CompressorType == encoding.Identity
			}
			return nil
		})
		if err != nil || plain != test.plain {
			t.Errorf("%s: sent plain: %t, want %t; %v", name, plain, test.plain, err)
		}
	}
}
