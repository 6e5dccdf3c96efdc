package operate

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// readOnly is a Temporal server whose caller may not change namespaces.
type readOnly struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer
}

func (readOnly) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (
	*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (readOnly) CountWorkflowExecutions(context.Context,
	*workflowservice.CountWorkflowExecutionsRequest) (
	*workflowservice.CountWorkflowExecutionsResponse, error) {
	return &workflowservice.CountWorkflowExecutionsResponse{}, nil
}

func (readOnly) ListSearchAttributes(context.Context,
	*operatorservice.ListSearchAttributesRequest) (
	*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{}, nil
}

func (readOnly) AddSearchAttributes(context.Context,
	*operatorservice.AddSearchAttributesRequest) (
	*operatorservice.AddSearchAttributesResponse, error) {
	return nil, serviceerror.ToStatus(serviceerror.NewPermissionDenied("no", "")).Err()
}

func TestSetup_NamesAttributesThatItMayNotRegister(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, readOnly{})
	operatorservice.RegisterOperatorServiceServer(server, readOnly{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	var out, stderr strings.Builder
	code := operateProgram.Run(t.Context(), []string{"setup", "--address",
		listener.Addr().String()}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &stderr})
	const want = "cannot register SwitchyardAgent (Keyword), SwitchyardCaller (Keyword), "
	if code != cli.ExitFailed || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, %s, want %q", code, stderr.String(), want)
	}
	if out.Len() > 0 {
		t.Errorf("it tells of success: %s", out.String())
	}
}
