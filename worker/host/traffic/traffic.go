// Package traffic counts the long polls of a worker's connection, and the requests that the server
// rejects because of its limits.
package traffic

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/switchyard/switchyard/api"
)

// Counter counts the requests of one connection.
type Counter struct {
	mu          sync.Mutex
	polls, peak int
	rejected    map[string]api.RejectedRequests
}

// New returns a counter of no requests.
func New() *Counter { return &Counter{rejected: map[string]api.RejectedRequests{}} }

// Observe adds the dial option with which the counter counts the requests of a connection.
func (c *Counter) Observe(o *client.ConnectionOptions) {
	o.DialOptions = append(o.DialOptions, grpc.WithChainUnaryInterceptor(c.intercept))
}

// Polls returns the number of open polls for activities, and the highest number so far. A server
// limits the polls for activities and those for workflow tasks separately.
func (c *Counter) Polls() (open, peak int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.polls, c.peak
}

// Rejected returns the requests that exceeded a limit of the server, sorted by cause.
func (c *Counter) Rejected() []api.RejectedRequests {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.rejected), func(a, b api.RejectedRequests) int {
		return strings.Compare(a.Cause, b.Cause)
	})
}

func (c *Counter) intercept(ctx context.Context, method string, request, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if method == workflowservice.WorkflowService_PollActivityTaskQueue_FullMethodName {
		c.poll(1)
		defer c.poll(-1)
	}
	err := invoke(ctx, method, request, reply, conn, options...)
	if err != nil {
		c.reject(err)
	}
	return err
}

func (c *Counter) poll(change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.polls += change
	c.peak = max(c.peak, c.polls)
}

// reject counts an error if it is about a limit. A busy workflow passes and is no limit.
func (c *Counter) reject(err error) {
	exhausted, ok := errors.AsType[*serviceerror.ResourceExhausted](
		serviceerror.FromStatus(status.Convert(err)))
	if !ok || exhausted.Cause == enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW {
		return
	}
	cause := cmp.Or(exhausted.Cause.String(), "Unspecified")
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rejected[cause]
	c.rejected[cause] = api.RejectedRequests{Cause: cause, Count: r.Count + 1,
		Last: time.Now().UTC()}
}
