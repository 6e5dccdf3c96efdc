package switchyard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
)

// busyServer takes calls and answers queries only after some time, as if its workers were
// overloaded.
type busyServer struct {
	client.Client
	operatorservice.OperatorServiceClient
	until    time.Time
	refuses  bool
	attempts int
}

var errNotReady = serviceerror.NewWorkflowNotReady("Workflow Task in failed state")

func (s *busyServer) OperatorService() operatorservice.OperatorServiceClient { return s }

func (s *busyServer) ListSearchAttributes(context.Context,
	*operatorservice.ListSearchAttributesRequest, ...grpc.CallOption) (
	*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{}, nil
}

func (s *busyServer) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any,
	...any) client.WithStartWorkflowOperation {
	return nil
}

func (s *busyServer) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (
	client.WorkflowUpdateHandle, error) {
	return nil, serviceerror.NewNotFound("the session is not open")
}

func (s *busyServer) UpdateWithStartWorkflow(context.Context,
	client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.attempts++
	if time.Now().After(s.until) {
		return taken{}, nil
	}
	return nil, errNotReady
}

func (s *busyServer) QueryWorkflow(ctx context.Context, _, _, _ string, _ ...any) (
	converter.EncodedValue, error) {
	s.attempts++
	if time.Now().After(s.until) {
		return ended{}, nil
	}
	if s.refuses {
		return nil, errNotReady
	}
	<-ctx.Done()
	return nil, serviceerror.NewDeadlineExceeded("context deadline exceeded")
}

// ended is the answer that the call has ended.
type ended struct{}

func (ended) HasValue() bool { return true }

func (ended) Get(to any) error {
	*to.(*[]api.SessionCallStatus) = []api.SessionCallStatus{{ID: "c",
		State: api.SessionCallEnded, Outcome: &api.CallOutcome{}}}
	return nil
}

// taken is the update of a call that has ended.
type taken struct{ client.WorkflowUpdateHandle }

func (taken) Get(_ context.Context, to any) error { return ended{}.Get(to) }

func TestSession_SubmitsACallAgainWhileTasksOfTheRunFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		busy  time.Duration
		fails switchyard.RequestErrorType
	}{
		{name: "for a while", busy: 10 * time.Second},
		{name: "for too long", busy: time.Hour, fails: switchyard.RunUnanswered},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &busyServer{until: time.Now().Add(c.busy)}
				s := switchyard.NewClient(server, switchyard.Options{}).
					Session("s", switchyard.SessionStart{})
				status, err := s.Call(t.Context(), switchyard.SessionCall{Tool: "t",
					Arguments: "{}"})
				if status.ID == "" {
					t.Error("the call cannot be made again: its ID is missing")
				}
				if c.fails == "" && (err != nil || status.Outcome == nil) {
					t.Errorf("got %+v, %v", status, err)
				}
				if c.fails != "" && !errors.Is(err, &switchyard.RequestError{Type: c.fails}) {
					t.Errorf("got %v, want %s", err, c.fails)
				}
				if server.attempts < 2 || server.attempts > 100 {
					t.Errorf("it was submitted %d times", server.attempts)
				}
			})
		})
	}
}

func TestSession_WaitRepeatsUnansweredQueries(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses bool
		busy    time.Duration
		fails   switchyard.RequestErrorType
	}{
		{name: "a query gets no answer", busy: 40 * time.Second},
		{name: "the server refuses queries", busy: 40 * time.Second, refuses: true},
		{name: "no answer comes in time", busy: time.Hour, fails: switchyard.ServerUnreachable},
		{name: "the server refuses for too long", busy: time.Hour, refuses: true,
			fails: switchyard.RunUnanswered},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &busyServer{until: time.Now().Add(c.busy), refuses: c.refuses}
				s := switchyard.NewClient(server, switchyard.Options{}).
					Session("s", switchyard.SessionStart{})
				began := time.Now()
				status, err := s.Wait(t.Context(), switchyard.SessionCallStatus{ID: "c",
					State: api.SessionCallRunning}, time.Minute)
				if c.fails == "" && (err != nil || status.Outcome == nil) {
					t.Errorf("got %+v, %v", status, err)
				}
				if c.fails != "" && !errors.Is(err, &switchyard.RequestError{Type: c.fails}) {
					t.Errorf("got %v, want %s", err, c.fails)
				}
				if took := time.Since(began); took > time.Minute+switchyard.ReplyWithin {
					t.Errorf("it took %v", took)
				}
				if server.attempts > 100 {
					t.Errorf("it asked %d times", server.attempts)
				}
			})
		})
	}
}
