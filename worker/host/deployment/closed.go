package deployment

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// ReleaseClosed adds a dial option that releases runs from their version as they end. The server
// sends a query about a closed workflow to the version that it is pinned to, forever: once that
// version has no workers, the conversation of the run could not be continued, and the server
// refuses to move a closed workflow. Released, it is queried on the current version, which has to
// replay it. The SDK sets one behaviour per workflow type, so it is changed
// in the request that ends the run.
func ReleaseClosed(o *client.ConnectionOptions) {
	o.DialOptions = append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(release)},
		o.DialOptions...)
}

func release(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok &&
		task.GetVersioningBehavior() == enumspb.VERSIONING_BEHAVIOR_PINNED && ends(task) {
		task.VersioningBehavior = enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// ends reports whether a workflow task ends its workflow. An execution that continues as new is not
// queried.
func ends(task *workflowservice.RespondWorkflowTaskCompletedRequest) bool {
	for _, c := range task.GetCommands() {
		switch c.GetCommandType() {
		case enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
			enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
			enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION:
			return true
		}
	}
	return false
}
