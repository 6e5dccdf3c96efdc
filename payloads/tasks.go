package payloads

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// pollTasks is the server's method that polls for workflow tasks.
const pollTasks = "PollWorkflowTaskQueue"

// unreadableType is the failure type of a workflow task whose payloads this worker cannot read.
const unreadableType = "UnreadablePayload"

// take decodes a workflow task. If that fails, it fails the task with the reason in the history,
// and the server offers the task again: the SDK would fail the run or drop a signal instead.
func (s *Storage) take(ctx context.Context, request, response any, conn grpc.ClientConnInterface) {
	poll, polls := request.(*workflowservice.PollWorkflowTaskQueueRequest)
	task, ok := response.(*workflowservice.PollWorkflowTaskQueueResponse)
	if !polls || !ok || len(task.GetTaskToken()) == 0 || plainTask(task) {
		return
	}
	err := s.decode(ctx, task, true)
	if err == nil {
		return
	}
	if s.OnUnreadable != nil {
		s.OnUnreadable(task.GetWorkflowExecution().GetWorkflowId(), err)
	}
	returnTask(ctx, poll, task, err, conn)
	proto.Reset(task) // the SDK sees an empty poll
}

// returnTask fails a task. Like the SDK it fails the first attempt only: later attempts time out,
// which avoids a busy loop. An unreachable server notices by the same timeout.
func returnTask(ctx context.Context, poll *workflowservice.PollWorkflowTaskQueueRequest,
	task *workflowservice.PollWorkflowTaskQueueResponse, reason error,
	conn grpc.ClientConnInterface) {
	failure := &failurepb.Failure{Message: reason.Error(), Source: "Switchyard",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
			ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: unreadableType}}}
	service := workflowservice.NewWorkflowServiceClient(conn)
	if task.GetQuery() != nil { // a query without a workflow task
		_, _ = service.RespondQueryTaskCompleted(ctx,
			&workflowservice.RespondQueryTaskCompletedRequest{TaskToken: task.GetTaskToken(),
				Namespace:     poll.GetNamespace(),
				CompletedType: enumspb.QUERY_RESULT_TYPE_FAILED,
				ErrorMessage:  reason.Error(), Failure: failure})
		return
	}
	if task.GetAttempt() > 1 {
		return
	}
	_, _ = service.RespondWorkflowTaskFailed(ctx,
		&workflowservice.RespondWorkflowTaskFailedRequest{TaskToken: task.GetTaskToken(),
			Namespace: poll.GetNamespace(),
			Identity:  poll.GetIdentity(), Failure: failure,
			Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE})
}
