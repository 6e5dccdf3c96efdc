// Package tasksize bounds the completed workflow tasks that a worker sends.
package tasksize

import (
	"context"

	protocolpb "go.temporal.io/api/protocol/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const (
	// maxTask is the size up to which a completed workflow task keeps the requests of its accepted
	// updates, in bytes. Servers accept 4 MiB, and terminate the run otherwise.
	maxTask = 3 << 20
	// maxRejected is the size up to which a rejection keeps the request. Servers accept 2 MiB per
	// message, and terminate the run otherwise.
	maxRejected = 64 << 10
)

// Bound adds a dial option that leaves large requests out of the answers to updates. The SDK
// repeats each request in its acceptance or rejection, so that a few large updates at once exceed
// what the server takes, whatever the run decides about them. The server has the request already,
// unless it has forgotten the update meanwhile. Then it has the workflow task repeated.
func Bound(o *client.ConnectionOptions) {
	o.DialOptions = append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(intercept)},
		o.DialOptions...)
}

func intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok &&
		len(task.GetMessages()) > 0 {
		shorten(task)
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// shorten leaves out the large requests of rejections, and those of acceptances while the task is
// too large.
func shorten(task *workflowservice.RespondWorkflowTaskCompletedRequest) {
	for _, m := range task.GetMessages() {
		var rejection updatepb.Rejection
		if len(m.GetBody().GetValue()) > maxRejected && m.GetBody().UnmarshalTo(&rejection) == nil {
			rejection.RejectedRequest = nil
			replace(m, &rejection)
		}
	}
	size := proto.Size(task)
	for _, m := range task.GetMessages() {
		var acceptance updatepb.Acceptance
		if before := proto.Size(m); size > maxTask && m.GetBody().UnmarshalTo(&acceptance) == nil {
			acceptance.AcceptedRequest = nil
			replace(m, &acceptance)
			size -= before - proto.Size(m)
		}
	}
}

// replace sets the body of a message, unless it cannot be encoded.
func replace(m *protocolpb.Message, body proto.Message) {
	if encoded, err := anypb.New(body); err == nil {
		m.Body = encoded
	}
}
