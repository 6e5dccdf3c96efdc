package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// groupTimeout bounds how long a worker serves a group. Servers bound it by the timeout of the
	// run, too.
	groupTimeout = 10 * 365 * 24 * time.Hour
	// slotsRetry is the wait before a group that was given up is offered again.
	slotsRetry = 100 * time.Millisecond
	// slotsPause is the wait before a group is offered again that ended though nobody asked for it.
	slotsPause = time.Second
	// fenceGap is added to a fencing number where a holder ended without telling its own.
	fenceGap = 1 << 20
)

// LaneKeeper is the workflow that keeps the slots of a lane with a limit with workers: each group
// of slots is one long activity, SlotsActivity, which Temporal gives to another worker when the one
// that has it is lost. Calls leave no trace here, and neither do heartbeats, so that its history
// stays short.
//
// HoldersSignal tells how the lane is configured now. Only what groups there are matters here, the
// rest is for the workers. When the lane has no limit any more, the workflow completes.
func LaneKeeper(ctx workflow.Context, in api.KeeperInput) error {
	k := &keeper{in: in}
	for {
		if err := workflow.UpsertMemo(ctx,
			map[string]any{api.HoldersMemo: k.in.Lane.Groups()}); err != nil {
			return err
		}
		k.hostInstance(ctx)
		if err := k.await(ctx); err != nil {
			return err
		}
		switch {
		case !k.in.Lane.Limited():
			return k.closeKeys(ctx)
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return workflow.NewContinueAsNewError(ctx, api.LaneSlotsWorkflow, k.in)
		}
	}
}

type keeper struct {
	in api.KeeperInput
	// release ends the groups that are held now, running counts them.
	release func()
	running int
}

// hold offers every group of the lane's slots to the workers.
func (k *keeper) hostInstance(ctx workflow.Context) {
	hosting, release := workflow.WithCancel(ctx)
	k.release = release
	lane := k.in.Lane
	k.in.Fences = slices.Repeat([]int64{k.fence(ctx)}, lane.Holders)
	k.running = lane.Holders
	for group := range lane.Holders {
		workflow.Go(hosting, func(ctx workflow.Context) {
			for ctx.Err() == nil {
				k.hostOnce(ctx, lane, group)
			}
			k.running--
		})
	}
}

// fence is a number that no holder so far can have had more than. Every group begins with it,
// because a key may have been in another one; and a keeper that is new with the time, in
// milliseconds since 1970, because the lane may have had one before.
func (k *keeper) fence(ctx workflow.Context) int64 {
	if len(k.in.Fences) == 0 {
		return workflow.Now(ctx).UnixMilli()
	}
	return slices.Max(k.in.Fences)
}

// holdOnce offers a group until it is held no more and nobody takes it over by itself.
func (k *keeper) hostOnce(ctx workflow.Context, lane api.Lane, group int) {
	options := workflow.ActivityOptions{
		TaskQueue:           api.SlotsQueue(k.in.Base, lane.Name),
		StartToCloseTimeout: groupTimeout,
		HeartbeatTimeout:    cmp.Or(lane.Lease, api.DefaultLease).Std(),
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: slotsRetry,
			BackoffCoefficient: 1},
		Summary: fmt.Sprintf("slots of the lane %s, group %d of %d", lane.Name, group+1,
			lane.Holders),
	}
	request := api.SlotsRequest{Lane: lane, Base: k.in.Base, Group: group,
		Fence: k.in.Fences[group]}
	var state api.SlotsState
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options),
		api.ServeSlotsActivity, request).Get(ctx, &state)
	if err == nil {
		k.in.Fences[group] = max(k.in.Fences[group], state.Fence)
	} else {
		k.in.Fences[group] += fenceGap
	}
	if ctx.Err() == nil {
		_ = workflow.Sleep(ctx, slotsPause) // cut short by a cancellation, which the loop sees
	}
}

// await returns when every group is released because the groups are to be others.
func (k *keeper) await(ctx workflow.Context) error {
	changed := workflow.GetSignalChannel(ctx, api.ConfigureLaneSignal)
	now := k.in.Lane.Groups()
	for {
		err := workflow.Await(ctx, func() bool {
			return changed.Len() > 0 || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		})
		if err != nil {
			break
		}
		k.learn(ctx, changed)
		if k.in.Lane.Groups() != now || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			break
		}
	}
	k.release()
	patient, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(patient, func() bool { return k.running == 0 }); err != nil {
		return err
	}
	k.learn(patient, changed)
	return ctx.Err()
}

// learn takes what has been told of the lane: the last word counts.
func (k *keeper) learn(ctx workflow.Context, changed workflow.ReceiveChannel) {
	for changed.Len() > 0 {
		var lane api.Lane // a fresh one, because rules that are left out of it are none
		changed.Receive(ctx, &lane)
		k.in.Lane = lane
	}
}

// closeKeys ends the workflow that knows the lane's keys, if there is one.
func (k *keeper) closeKeys(ctx workflow.Context) error {
	// there may be none
	_ = workflow.RequestCancelExternalWorkflow(ctx, api.KeysWorkflowID(k.in.Base, k.in.Lane.Name),
		"").Get(ctx, nil)
	return nil
}
