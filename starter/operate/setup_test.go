package operate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// readOnly is a Temporal server whose caller may not change namespaces, and cannot count runs.
type readOnly struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer
	count error
}

var errDenied = serviceerror.ToStatus(serviceerror.NewPermissionDenied("no", "")).Err()

func (readOnly) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (
	*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (r readOnly) CountWorkflowExecutions(context.Context,
	*workflowservice.CountWorkflowExecutionsRequest) (
	*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, r.count
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
	const want = "cannot register SwitchyardAgent (Keyword), SwitchyardCaller (Keyword), "
	for _, count := range []error{errDenied,
		serviceerror.ToStatus(serviceerror.NewUnimplemented("no counts")).Err()} {
		address := testserver.ServeGRPC(t, func(r grpc.ServiceRegistrar) {
			workflowservice.RegisterWorkflowServiceServer(r, readOnly{count: count})
			operatorservice.RegisterOperatorServiceServer(r, readOnly{})
		})
		var out, stderr strings.Builder
		began := time.Now()
		code := operateProgram.Run(t.Context(), []string{"setup", "--address", address},
			cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &stderr})
		if code != cli.ExitFailed || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: exit code %d, %s, want %q", count, code, stderr.String(), want)
		}
		if took := time.Since(began); took > visible/2 {
			t.Errorf("%v: setup waited %v for a count that the server refuses", count, took)
		}
		if out.Len() > 0 {
			t.Errorf("%v: standard output is %q, want nothing", count, out.String())
		}
	}
}
