package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Join implements the activity api.JoinInstanceActivity: it tells the workflow that keeps an
// instance of a conversation that a run uses it. If there is none, Join starts one with what the
// last one has left. Errors are those of the server. It is not retried if the toolspec cannot be
// fetched or the server refuses the request.
func (host *Host) Join(ctx context.Context, r instancerules.JoinRequest) error {
	err := host.join(ctx, r)
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	if invalid || denied {
		return executor.Failure(failures.NotJoined(0, r.Name(), err.Error()))
	}
	return err
}

func (host *Host) join(ctx context.Context, r instancerules.JoinRequest) error {
	id := r.Keeper
	for ctx.Err() == nil {
		err := host.config.Client.SignalWorkflow(ctx, id, "", api.JoinInstanceSignal, r.User)
		if _, none := errors.AsType[*serviceerror.NotFound](err); !none {
			return err
		}
		err = host.keep(ctx, id, r)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) { // by another run
			return err
		}
	}
	return context.Cause(ctx)
}

// FindEndedUsers implements the activity api.FindEndedUsersActivity: it returns the users of an
// instance whose runs have ended. Most runs leave an instance at their end; those that were
// terminated or timed out cannot. Errors are those of the server.
func (host *Host) FindEndedUsers(ctx context.Context,
	users []instancerules.User) (ended []instancerules.User, err error) {
	for _, user := range users {
		described, err := host.config.Client.DescribeWorkflowExecution(ctx, user.WorkflowID, "")
		_, none := errors.AsType[*serviceerror.NotFound](err)
		switch {
		case none || err == nil && described.GetWorkflowExecutionInfo().GetCloseTime() != nil:
			ended = append(ended, user)
		case err != nil:
			return nil, err
		}
	}
	return ended, nil
}

// left returns what the last workflow with that ID has left of its instance. Of one that the server
// does not know, only the least generation is left: numbers of generations never decrease, and each
// second has a larger one.
func (host *Host) left(ctx context.Context, id string,
	r instancerules.JoinRequest, heartbeat api.Duration) (left instancerules.Left, err error) {
	described, err := host.config.Client.DescribeWorkflowExecution(ctx, id, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		left.Last.Generation = int(time.Now().Unix())
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
		// Its worker can still host the instance until its lease has expired.
		lease := instancerules.IdleLease(max(r.Heartbeat, heartbeat))
		left.NotBefore = info.GetCloseTime().AsTime().Add(lease.Std())
		left.Last = api.InstanceProgress{Used: true, Ended: left.Lost,
			Generation: int(time.Now().Unix())}
		return left, nil
	}
}

// keep starts the workflow that keeps an instance.
func (host *Host) keep(ctx context.Context, id string, r instancerules.JoinRequest) error {
	compiled, err := host.config.Spec(ctx, r.Tool, api.Execution{Digest: r.Digest,
		Origin: r.Origin})
	if err != nil {
		return executor.Failure(failures.NotJoined(0, r.Name(),
			fmt.Sprintf("the worker cannot get the pinned toolspec of %s: %v", r.Tool, err)))
	}
	left, err := host.left(ctx, id, r, compiled.Tool().Heartbeat)
	if err != nil {
		return err
	}
	in := instancerules.KeeperInput{Host: r.HostInstanceRequest, Tool: compiled.Tool(),
		Conversation: r.Conversation, Lost: left.Lost, Users: []instancerules.User{r.User}}
	in.Host.Last, in.Host.Lost, in.Host.Before = left.Last, left.Vanished, left.Before
	in.NotBefore = left.NotBefore
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
