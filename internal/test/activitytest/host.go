package activitytest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
)

// HostServer is the server as an instance host uses it. It accepts heartbeats until the test
// changes that.
type HostServer struct {
	client.Client

	mu sync.Mutex
	// Answer is the answer to heartbeats; nil accepts them.
	Answer error
	// Hang delays heartbeats until their timeout.
	Hang  bool
	Beats []api.InstanceProgress
	// Tokens are the task tokens of the heartbeats.
	Tokens []string
	// Beaten, if set, receives a value for every heartbeat.
	Beaten chan struct{}
	// Described has the server's descriptions of executions, by run id; Completed has the
	// completions of activities, by token.
	Described map[string]*workflowservice.DescribeWorkflowExecutionResponse
	Completed chan HostReport
	// Timeouts are the heartbeat timeouts that were requested for the activity. Resized is the
	// answer to such requests.
	Timeouts []time.Duration
	Resized  error
}

// HostReport is the completion of an activity by its token.
type HostReport struct {
	Token string
	State api.InstanceProgress
	Err   error
}

// RecordActivityHeartbeat implements client.Client.
func (s *HostServer) RecordActivityHeartbeat(ctx context.Context, token []byte,
	details ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Tokens = append(s.Tokens, string(token))
	s.Beats = append(s.Beats, details[0].(api.InstanceProgress))
	if s.Beaten != nil {
		s.Beaten <- struct{}{}
	}
	if s.Hang {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return ctx.Err()
	}
	return s.Answer
}

// DescribeWorkflowExecution implements client.Client.
func (s *HostServer) DescribeWorkflowExecution(_ context.Context, _,
	runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.Described[runID]; ok {
		return d, nil
	}
	return nil, serviceerror.NewNotFound("no such execution")
}

// CompleteActivity implements client.Client.
func (s *HostServer) CompleteActivity(_ context.Context, token []byte, result any,
	err error) error {
	if err != nil { // as it arrives
		failures := temporal.GetDefaultFailureConverter()
		err = failures.FailureToError(failures.ErrorToFailure(err))
	}
	s.Completed <- HostReport{string(token), result.(api.InstanceProgress), err}
	return nil
}

// QueryWorkflow implements client.Client.
func (*HostServer) QueryWorkflow(context.Context, string, string, string,
	...any) (converter.EncodedValue, error) {
	return nil, errors.New("no run answers")
}

// WorkflowService implements client.Client.
func (s *HostServer) WorkflowService() workflowservice.WorkflowServiceClient {
	return hostService{server: s}
}

type hostService struct {
	workflowservice.WorkflowServiceClient
	server *HostServer
}

// UpdateActivityOptions implements workflowservice.WorkflowServiceClient.
func (h hostService) UpdateActivityOptions(_ context.Context,
	r *workflowservice.UpdateActivityOptionsRequest, _ ...grpc.CallOption) (
	*workflowservice.UpdateActivityOptionsResponse, error) {
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	h.server.Timeouts = append(h.server.Timeouts,
		r.GetActivityOptions().GetHeartbeatTimeout().AsDuration())
	return &workflowservice.UpdateActivityOptionsResponse{}, h.server.Resized
}

// Say makes the server answer heartbeats with an error.
func (s *HostServer) Say(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Answer = err
}

// Watch returns a channel that receives a value for every later heartbeat.
func (s *HostServer) Watch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Beaten = make(chan struct{}, 1000)
	return s.Beaten
}

// Describe sets the server's description of an execution.
func (s *HostServer) Describe(runID string,
	d *workflowservice.DescribeWorkflowExecutionResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Described[runID] = d
}

// Last returns the details of the last heartbeat.
func (s *HostServer) Last() api.InstanceProgress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Beats[len(s.Beats)-1]
}
