package traffic

import (
	"context"
	"errors"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// TestCounter_CountsOpenPollsAndRejectedRequests states what a worker reports about its requests.
func TestCounter_CountsOpenPollsAndRejectedRequests(t *testing.T) {
	c := New()
	poll := func(during func() error) error {
		return c.intercept(context.Background(),
			workflowservice.WorkflowService_PollActivityTaskQueue_FullMethodName, nil, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				return during()
			})
	}
	err := poll(func() error {
		return poll(func() error {
			if open, peak := c.Polls(); open != 2 || peak != 2 {
				t.Errorf("%d open polls, %d at most; want 2", open, peak)
			}
			return nil
		})
	})
	if open, peak := c.Polls(); err != nil || open != 0 || peak != 2 {
		t.Errorf("%d open polls, %d at most, %v; want 0 and 2", open, peak, err)
	}
	for _, failure := range []error{errors.New("odd"),
		exhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT),
		exhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW),
		exhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT),
		exhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT)} {
		if got := poll(func() error { return failure }); got != failure {
			t.Errorf("got %v, want %v", got, failure)
		}
	}
	got := c.Rejected()
	if len(got) != 2 || got[0].Cause != "ConcurrentLimit" || got[0].Count != 1 ||
		got[1].Cause != "RpsLimit" || got[1].Count != 2 || got[1].Last.IsZero() {
		t.Errorf("rejected %+v", got)
	}
}

// exhausted returns the error with which a server rejects a request, as a client receives it.
func exhausted(cause enumspb.ResourceExhaustedCause) error {
	return serviceerror.NewResourceExhausted(cause, "too much").(*serviceerror.ResourceExhausted).
		Status().Err()
}
