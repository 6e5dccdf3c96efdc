// Package outage lets a connection of a worker survive an outage of the Temporal server.
package outage

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// reconnectBase and reconnectMax bound the wait between two attempts to connect, dialPatience
	// bounds one attempt. The SDK waits up to 10 s, which would add to every outage.
	reconnectBase = 200 * time.Millisecond
	reconnectMax  = 2 * time.Second
	dialPatience  = 5 * time.Second
	// reportFor is how long the report of a finished activity is repeated. It is longer than any
	// outage that the heartbeat of a call survives by default.
	reportFor = 2 * time.Minute
	// reportPatience bounds one attempt of a report, reportPause is the wait after it.
	reportPatience = 10 * time.Second
	reportPause    = 500 * time.Millisecond
)

// Endure adds dial options with which a connection survives an outage of the server. Options
// that o has already take precedence.
func Endure(o *client.ConnectionOptions) {
	wait := backoff.DefaultConfig
	wait.BaseDelay, wait.MaxDelay = reconnectBase, reconnectMax
	o.DialOptions = append([]grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: wait, MinConnectTimeout: dialPatience}),
		grpc.WithChainUnaryInterceptor(repeatReports),
	}, o.DialOptions...)
}

// isReport lists the methods that report how an activity ended. The SDK gives up after 10 s without
// the server: the work would be lost although the worker is healthy.
var isReport = map[string]bool{
	workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName: true,
	workflowservice.WorkflowService_RespondActivityTaskFailed_FullMethodName:    true,
	workflowservice.WorkflowService_RespondActivityTaskCanceled_FullMethodName:  true,
}

// repeatReports is a client interceptor that repeats the reports of activities while the server is
// unreachable. A report that arrived although its answer was lost is rejected the second time,
// which changes nothing.
func repeatReports(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if !isReport[method] {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	sdk := ctx
	ctx = context.WithoutCancel(ctx) // the SDK's own bound is too short
	for end := time.Now().Add(reportFor); ; {
		attempt, cancel := context.WithTimeout(ctx, reportPatience)
		err := invoke(attempt, method, request, reply, conn, options...)
		cancel()
		again := isOutage(err) || sdk.Err() != nil && isPassing(err)
		if !again || time.Now().After(end) {
			return err
		}
		time.Sleep(reportPause)
	}
}

// isPassing reports whether the server rejected a request for a reason that passes, as a server
// does that has just returned. The SDK repeats these requests itself until its own time is over.
func isPassing(err error) bool {
	switch status.Code(err) {
	case codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown:
		return true
	default:
		return false
	}
}

// isOutage reports whether a request failed because the server did not answer.
func isOutage(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}
