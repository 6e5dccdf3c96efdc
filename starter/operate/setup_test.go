package operate

import (
	"context"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// readOnly is a Temporal server whose caller may neither change namespaces nor count runs.
type readOnly struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer
}

var errDenied = serviceerror.ToStatus(serviceerror.NewPermissionDenied("no", "")).Err()

func (readOnly) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (
	*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (readOnly) CountWorkflowExecutions(context.Context,
	*workflowservice.CountWorkflowExecutionsRequest) (
	*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, errDenied
}

func (readOnly) ListSearchAttributes(context.Context,
	*operatorservice.ListSearchAttributesRequest) (
	*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{}, nil
}

func (readOnly) AddSearchAttributes(context.Context,
	*operatorservice.AddSearchAttributesRequest) (
	*operatorservice.AddSearchAttributesResponse, error) {
	return nil, errDenied
}

func TestSetup_NamesAttributesThatItMayNotRegister(t *testing.T) {
	address := testserver.ServeGRPC(t, func(r grpc.ServiceRegistrar) {
		workflowservice.RegisterWorkflowServiceServer(r, readOnly{})
		operatorservice.RegisterOperatorServiceServer(r, readOnly{})
	})
	var out, stderr strings.Builder
	code := operateProgram.Run(t.Context(), []string{"setup", "--address", address},
		cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &stderr})
	const want = "cannot register SwitchyardAgent (Keyword), SwitchyardCaller (Keyword), "
	if code != cli.ExitFailed || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, %s, want %q", code, stderr.String(), want)
	}
	if out.Len() > 0 {
		t.Errorf("standard output is %q, want nothing", out.String())
	}
}
