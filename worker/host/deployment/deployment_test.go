package deployment

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	commandpb "go.temporal.io/api/command/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows"
)

func TestCheck_NamesBothPartsOfAHalfSetVersion(t *testing.T) {
	const both = ": set both --deployment-name, TEMPORAL_DEPLOYMENT_NAME or " +
		"Config.DeploymentName and --build-id, TEMPORAL_WORKER_BUILD_ID or Config.BuildID, or neither"
	for _, tt := range []struct {
		version Version
		want    string
	}{
		{Version{}, ""},
		{Version{"shop", "v1.2.0:3"}, ""},
		{Version{Deployment: "shop"}, `the deployment "shop" has no build ID` + both},
		{Version{Build: "v1"}, `the build ID "v1" has no deployment name` + both},
		{Version{"sh.op", "v1"}, `the deployment name "sh.op" contains a dot or a colon; ` +
			"use letters, digits, - and _"},
		{Version{"__shop", "__v1"}, "the deployment name \"__shop\" begins with __, which the " +
			"server reserves\nthe build ID \"__v1\" begins with __, which the server reserves"},
		{Version{"shop", strings.Repeat("b", 251)},
			"the build ID has 251 characters; it can have 250"},
	} {
		got := ""
		if err := tt.version.Check(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("Check of %q = %q, want %q", tt.version, got, tt.want)
		}
	}
}

func TestOptions_AreEmptyWithoutAVersion(t *testing.T) {
	if got := (Version{}).Options(); got != (worker.DeploymentOptions{}) {
		t.Errorf("options are %+v", got)
	}
	want := worker.DeploymentOptions{UseVersioning: true,
		Version: worker.WorkerDeploymentVersion{DeploymentName: "shop",
			BuildID: "v1"},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned}
	if got := (Version{"shop", "v1"}).Options(); got != want {
		t.Errorf("options are %+v, want %+v", got, want)
	}
}

func TestBehavior_PinsRunsOnly(t *testing.T) {
	var pinned []string
	for _, name := range slices.Sorted(maps.Keys(workflows.All())) {
		if Behavior(name) == workflow.VersioningBehaviorPinned {
			pinned = append(pinned, name)
		}
	}
	want := []string{api.AgentWorkflow, api.CallWorkflow, api.PlanWorkflow,
		api.SessionWorkflow}
	if !slices.Equal(pinned, want) {
		t.Errorf("pinned workflows are %q, want %q", pinned, want)
	}
}

func TestRelease_UnpinsRunsThatEnd(t *testing.T) {
	const (
		pinned = enumspb.VERSIONING_BEHAVIOR_PINNED
		auto   = enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE
		none   = enumspb.VERSIONING_BEHAVIOR_UNSPECIFIED
	)
	for _, tt := range []struct {
		command      enumspb.CommandType
		before, want enumspb.VersioningBehavior
	}{
		{enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, pinned, auto},
		{enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION, pinned, auto},
		{enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION, pinned, auto},
		{enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION, pinned, pinned},
		{enumspb.COMMAND_TYPE_START_TIMER, pinned, pinned},
		{enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, none, none},
	} {
		task := &workflowservice.RespondWorkflowTaskCompletedRequest{VersioningBehavior: tt.before,
			Commands: []*commandpb.Command{
				{CommandType: enumspb.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES},
				{CommandType: tt.command}}}
		sent := none
		err := release(t.Context(), "", task, nil, nil, func(_ context.Context, _ string,
			request, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			sent = request.(*workflowservice.RespondWorkflowTaskCompletedRequest).VersioningBehavior
			return nil
		})
		if err != nil || sent != tt.want {
			t.Errorf("a task that is %v with %v is sent with %v, %v; want %v", tt.before,
				tt.command, sent, err, tt.want)
		}
	}
}
