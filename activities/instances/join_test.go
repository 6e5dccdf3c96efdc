package instances

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/internal/core/instancerules"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// runs is a server with runs, by workflow ID: whether each has ended.
type runs struct {
	client.Client
	ended map[string]bool
	fault error
}

func (r runs) DescribeWorkflowExecution(_ context.Context, id,
	_ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	ended, known := r.ended[id]
	switch {
	case r.fault != nil:
		return nil, r.fault
	case !known:
		return nil, serviceerror.NewNotFound("no such execution")
	}
	info := &workflowpb.WorkflowExecutionInfo{}
	if ended {
		info.CloseTime = timestamppb.Now()
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}, nil
}

func TestFindEndedUsers_NamesRunsThatCannotLeave(t *testing.T) {
	users := []instancerules.User{{WorkflowID: "open", Ticket: "1"}, {WorkflowID: "ended", Ticket: "2"},
		{WorkflowID: "deleted", Ticket: "3"}}
	server := runs{ended: map[string]bool{"open": false, "ended": true}}
	got, err := New(Config{Client: server}).FindEndedUsers(t.Context(), users)
	if err != nil || !reflect.DeepEqual(got, users[1:]) {
		t.Errorf("got %v, %v, want %v", got, err, users[1:])
	}
	server.fault = errors.New("no connection")
	if got, err := New(Config{Client: server}).FindEndedUsers(t.Context(), users); err == nil {
		t.Errorf("without a connection: %v", got)
	}
}
