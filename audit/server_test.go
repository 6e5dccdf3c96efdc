package audit_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// pageSize makes every recorded history take several pages.
const pageSize = 7

// archive serves recorded histories over gRPC, as a Temporal server does, for tests without a
// server.
type archive struct {
	workflowservice.UnimplementedWorkflowServiceServer
	runs map[string]*archivedRun
}

func executionOf(id string, part []*historypb.HistoryEvent) *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: id,
		RunId: start(part).GetOriginalExecutionRunId()}
}

// archivedRun is one chain of a workflow id.
type archivedRun struct {
	parts [][]*historypb.HistoryEvent
	// open is the server's description of an open run; nil for a closed one.
	open *workflowservice.DescribeWorkflowExecutionResponse
	// lost is the index of a part that the server has deleted; -1 for none.
	lost int
	// waits is set if a reader that waits for events of the open run waits for ever at its end.
	waits bool
}

func serve(t *testing.T, runs map[string]*archivedRun) client.Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(
			func(
				ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
			) (any, error) {
				response, err := handle(ctx, request)
				if err != nil {
					return nil, serviceerror.ToStatus(err).Err()
				}
				return response, nil
			},
		),
	)
	workflowservice.RegisterWorkflowServiceServer(server, &archive{runs: runs})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	c, err := client.NewLazyClient(client.Options{
		HostPort: listener.Addr().String(),
		Logger:   tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (a *archive) GetSystemInfo(context.Context,
	*workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// find returns a run and the index of the requested part.
func (a *archive) find(e *commonpb.WorkflowExecution) (*archivedRun, int, error) {
	run := a.runs[e.GetWorkflowId()]
	if run == nil {
		return nil, 0, serviceerror.NewNotFound("no such workflow")
	}
	if e.GetRunId() == "" {
		return run, len(run.parts) - 1, nil
	}
	if e.GetRunId() == "not-an-id" {
		return nil, 0, serviceerror.NewInvalidArgument("Invalid RunId.")
	}
	for i, part := range run.parts {
		if start(part).GetOriginalExecutionRunId() == e.GetRunId() && i != run.lost {
			return run, i, nil
		}
	}
	return nil, 0, serviceerror.NewNotFound("no such run")
}

func start(part []*historypb.HistoryEvent) *historypb.WorkflowExecutionStartedEventAttributes {
	return part[0].GetWorkflowExecutionStartedEventAttributes()
}

func (a *archive) DescribeWorkflowExecution(
	_ context.Context,
	r *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	run, i, err := a.find(r.GetExecution())
	if err != nil {
		return nil, err
	}
	response := &workflowservice.DescribeWorkflowExecutionResponse{}
	info := &workflowpb.WorkflowExecutionInfo{
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
	}
	if i == len(run.parts)-1 {
		info.Status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		if run.open != nil {
			response = run.open
		} else {
			info.Status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
			info.CloseTime = run.parts[i][len(run.parts[i])-1].GetEventTime()
		}
	}
	s := start(run.parts[i])
	info.Type, info.TaskQueue, info.FirstRunId = s.GetWorkflowType(), s.GetTaskQueue().GetName(),
		s.GetFirstExecutionRunId()
	info.HistoryLength = int64(len(run.parts[i]))
	info.Execution = &commonpb.WorkflowExecution{
		WorkflowId: r.GetExecution().GetWorkflowId(),
		RunId:      s.GetOriginalExecutionRunId(),
	}
	response.WorkflowExecutionInfo = info
	return response, nil
}

func (a *archive) GetWorkflowExecutionHistory(
	ctx context.Context,
	r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	run, i, err := a.find(r.GetExecution())
	if err != nil {
		return nil, err
	}
	from := 0
	if token := r.GetNextPageToken(); len(token) > 0 {
		from = int(binary.BigEndian.Uint64(token))
	}
	events := run.parts[i]
	waits := run.waits && r.GetWaitNewEvent()
	if waits && from == len(events) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	to := min(from+pageSize, len(events))
	response := &workflowservice.GetWorkflowExecutionHistoryResponse{
		History: &historypb.History{Events: events[from:to]},
	}
	if to < len(events) || waits {
		response.NextPageToken = binary.BigEndian.AppendUint64(nil, uint64(to))
	}
	return response, nil
}
