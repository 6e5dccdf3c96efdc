package connection

import (
	"context"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
)

// compressedFrom is the size of a request in bytes from which on it is compressed.
const compressedFrom = 4 << 10

// SendSmallUncompressed adds the dial option with which small requests and their answers are not
// compressed. The SDK compresses everything with gzip, which takes client and server about a
// millisecond of a call and saves nothing on some hundred bytes.
func SendSmallUncompressed(o *client.ConnectionOptions) {
	o.DialOptions = append(o.DialOptions, grpc.WithChainUnaryInterceptor(leaveSmall))
}

func leaveSmall(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if m, ok := request.(interface{ Size() int }); ok && m.Size() < compressedFrom &&
		!answersMuch(method, request) {
		options = append(options, grpc.UseCompressor(encoding.Identity))
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// answersMuch reports whether the answer to a request can be large: a history, a list, the result
// of a query, the input of an activity. A server compresses an answer as the request was. A poll
// for tasks of cached runs gets the newest events only.
func answersMuch(method string, request any) bool {
	if poll, ok := request.(*workflowservice.PollWorkflowTaskQueueRequest); ok {
		return poll.GetTaskQueue().GetKind() != enumspb.TASK_QUEUE_KIND_STICKY
	}
	name := method[strings.LastIndexByte(method, '/')+1:]
	for _, prefix := range []string{"Poll", "Get", "List", "Query", "Describe"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
