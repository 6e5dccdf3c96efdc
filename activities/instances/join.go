package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Join implements the activity api.JoinInstanceActivity: it tells the workflow that keeps an
// instance of a conversation that a run uses it. If there is none, Join starts one with what the
// last one has left. Errors are those of the server, and of the run if it cannot be queried.
func (host *Host) Join(ctx context.Context, r api.JoinInstanceRequest) error {
	id := r.Keeper
	for ctx.Err() == nil {
		err := host.config.Client.SignalWorkflow(ctx, id, "", api.JoinInstanceSignal, r.User)
		if _, none := errors.AsType[*serviceerror.NotFound](err); !none {
			return err
		}
		left, err := host.left(ctx, id, r)
		if err != nil {
			return err
		}
		err = host.keep(ctx, id, r, left)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) { // by another run
			return err
		}
	}
	return context.Cause(ctx)
}

// left returns what the last workflow with that ID has left of its instance; zero if there was none
// or the server no longer has it.
func (host *Host) left(ctx context.Context, id string,
	r api.JoinInstanceRequest) (left api.InstanceLeft, err error) {
	described, err := host.config.Client.DescribeWorkflowExecution(ctx, id, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return left, nil
	}
	info := described.GetWorkflowExecutionInfo()
	switch status := info.GetStatus(); {
	case err != nil || status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return left, err
	case status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return left, host.config.Client.GetWorkflow(ctx, id,
			info.GetExecution().GetRunId()).Get(ctx, &left)
	default:
		left.Lost = fmt.Sprintf("the workflow that kept the last instance of %s was ended by an "+
			"operator", r.Name())
		left.Vanished = true
		// Numbers of generations never decrease, and the last one is unknown.
		left.Last = api.InstanceProgress{Used: true, Ended: left.Lost,
			Generation: int(time.Now().Unix())}
		return left, nil
	}
}

// keep starts the workflow that keeps an instance.
func (host *Host) keep(ctx context.Context, id string, r api.JoinInstanceRequest,
	left api.InstanceLeft) error {
	compiled, err := host.config.Spec(ctx, r.Tool, api.Execution{Digest: r.Digest,
		Origin: r.Origin})
	if err != nil {
		return fmt.Errorf("get the pinned toolspec of %s: %w", r.Tool, err)
	}
	in := api.InstanceInput{Host: r.HostInstanceRequest, Tool: compiled.Tool(),
		Conversation: r.Conversation, Lost: left.Lost, Users: []api.InstanceUser{r.User}}
	in.Host.Last, in.Host.Lost = left.Last, left.Vanished
	in.Tool.Instance = cmp.Or(r.Instance, in.Tool.Instance)
	in.Tool.Heartbeat = max(in.Tool.Heartbeat, r.Heartbeat)
	whole := r.Origin
	if err := host.config.RestoreVariables(ctx, &whole); err != nil {
		return err
	}
	in.Variables = whole.Variables
	_, err = host.config.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue:                                activity.GetInfo(ctx).TaskQueue,
		WorkflowTaskTimeout:                      api.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "keeps " + r.Name() + " for the conversation " + r.Conversation,
	}, api.InstanceWorkflow, in)
	return err
}
