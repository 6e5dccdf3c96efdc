package payloads

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// pollTasks is the call to the server that waits for workflow tasks.
const pollTasks = "PollWorkflowTaskQueue"

// unreadableType is the type of the failure of a workflow task whose payloads this worker cannot read.
const unreadableType = "UnreadablePayload"

// take decodes a workflow task. A worker that cannot gives it back as failed, with the reason in history, and the server hands
// it out again: to the SDK a payload that cannot be read would be the end of the run, or a signal less.
func (s *Storage) take(ctx context.Context, request, response any, conn grpc.ClientConnInterface) {
	poll, polls := request.(*workflowservice.PollWorkflowTaskQueueRequest)
	task, ok := response.(*workflowservice.PollWorkflowTaskQueueResponse)
	if !polls || !ok || len(task.GetTaskToken()) == 0 {
		return
	}
	err := s.decode(ctx, task, true)
	if err == nil {
		return
	}
	if s.OnUnreadable != nil {
		s.OnUnreadable(task.GetWorkflowExecution().GetWorkflowId(), err)
	}
	giveBack(ctx, poll, task, err, conn)
	proto.Reset(task) // to the SDK no task has come
}

// giveBack fails a task. Only its first attempt, as the SDK does: the later ones are left to time out, so that nobody spins.
// Where the server cannot be told, it finds out in the same way.
func giveBack(ctx context.Context, poll *workflowservice.PollWorkflowTaskQueueRequest, task *workflowservice.PollWorkflowTaskQueueResponse, reason error, conn grpc.ClientConnInterface) {
	failure := &failurepb.Failure{Message: reason.Error(), Source: "Switchyard",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: unreadableType}}}
	service := workflowservice.NewWorkflowServiceClient(conn)
	if task.GetQuery() != nil { // asked apart from any decision
		_, _ = service.RespondQueryTaskCompleted(ctx, &workflowservice.RespondQueryTaskCompletedRequest{TaskToken: task.GetTaskToken(), Namespace: poll.GetNamespace(),
			CompletedType: enumspb.QUERY_RESULT_TYPE_FAILED, ErrorMessage: reason.Error(), Failure: failure})
		return
	}
	if task.GetAttempt() > 1 {
		return
	}
	_, _ = service.RespondWorkflowTaskFailed(ctx, &workflowservice.RespondWorkflowTaskFailedRequest{TaskToken: task.GetTaskToken(), Namespace: poll.GetNamespace(),
		Identity: poll.GetIdentity(), Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, Failure: failure})
}
