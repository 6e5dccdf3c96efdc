package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// groupTimeout bounds how long a worker serves a group. Servers bound it by the timeout of the
	// run, too.
	groupTimeout = 10 * 365 * 24 * time.Hour
	// slotsRetry is the wait before a group is offered again after its activity failed.
	slotsRetry = 100 * time.Millisecond
	// slotsPause is the wait before a group is offered again after its activity ended without a
	// request.
	slotsPause = time.Second
	// fenceGap is added to a group's fencing number if its activity failed, because the last number
	// of the holder is then unknown.
	fenceGap = 1 << 20
)

// LaneKeeper is the workflow that assigns the slots of a lane with a limit to workers: each group
// of slots is one long activity, api.ServeSlotsActivity, which Temporal reassigns when its worker
// is lost. Calls and heartbeats add no events, so that the history stays short.
//
// api.ConfigureLaneSignal sends the lane's current configuration. The workflow uses only its
// division into groups and passes the rest to the workers. An execution offers one division: when
// it changes, the workflow releases all groups, waits for their calls, and continues as new, or
// completes if the lane no longer has a limit.
//
// It does not continue as new because of the length of its history: the lane would start no calls
// until its running calls have ended. Workers read api.HoldersMemo and send no division that the
// workflow has, so each signal begins a new execution. Whatever others send, the server accepts
// 10,000 signals for an execution, about 40,000 events of the 51,200 that it allows.
func LaneKeeper(ctx workflow.Context, in lanerules.KeeperInput) error {
	k := &keeper{in: in}
	k.offerGroups(ctx)
	if err := k.await(ctx); err != nil {
		return err
	}
	if !k.in.Lane.HasLimit() {
		return nil
	}
	return workflow.NewContinueAsNewError(ctx, api.LaneSlotsWorkflow, k.in)
}

type keeper struct {
	in lanerules.KeeperInput
	// release ends the activities of the current groups; running counts them.
	release func()
	running int
}

// offerGroups offers every group of the lane's slots to the workers.
func (k *keeper) offerGroups(ctx workflow.Context) {
	hosting, release := workflow.WithCancel(ctx)
	k.release = release
	lane := k.in.Lane
	k.in.Fences = slices.Repeat([]int64{k.fence(ctx)}, lane.Holders)
	k.running = lane.Holders
	for group := range lane.Holders {
		workflow.Go(hosting, func(ctx workflow.Context) {
			for ctx.Err() == nil {
				k.offerGroup(ctx, lane, group)
			}
			k.running--
		})
	}
}

// fence returns a number that is at least as large as every earlier holder's. Every group starts
// with it, because a key may move between groups. A new keeper starts with the time in milliseconds
// since 1970, because the lane may have had an earlier keeper.
func (k *keeper) fence(ctx workflow.Context) int64 {
	if len(k.in.Fences) == 0 {
		return workflow.Now(ctx).UnixMilli()
	}
	return slices.Max(k.in.Fences)
}

// offerGroup offers one group to the workers and returns after its activity has ended, retries
// included.
func (k *keeper) offerGroup(ctx workflow.Context, lane api.Lane, group int) {
	options := workflow.ActivityOptions{
		TaskQueue:           queues.Slots(k.in.Base, lane.Name),
		StartToCloseTimeout: groupTimeout,
		HeartbeatTimeout:    cmp.Or(lane.Lease, api.DefaultLease).Std(),
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: slotsRetry,
			BackoffCoefficient: 1},
		Summary: fmt.Sprintf("slots of the lane %s, group %d of %d", lane.Name, group+1,
			lane.Holders),
	}
	request := lanerules.SlotsRequest{Lane: lane, Base: k.in.Base, Group: group,
		Fence: k.in.Fences[group]}
	var state lanerules.SlotsState
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options),
		api.ServeSlotsActivity, request).Get(ctx, &state)
	if err == nil {
		k.in.Fences[group] = max(k.in.Fences[group], state.Fence)
	} else {
		k.in.Fences[group] += fenceGap
	}
	if ctx.Err() == nil {
		_ = workflow.Sleep(ctx, slotsPause) // the caller's loop checks for cancellation
	}
}

// await returns after the lane's division into groups changed and all groups are released. It
// returns the error of a cancelled ctx.
func (k *keeper) await(ctx workflow.Context) error {
	changed := workflow.GetSignalChannel(ctx, api.ConfigureLaneSignal)
	offered := lanerules.DescribeGroups(k.in.Lane)
	for lanerules.DescribeGroups(k.in.Lane) == offered {
		if workflow.Await(ctx, func() bool { return changed.Len() > 0 }) != nil {
			break // it is cancelled
		}
		k.learn(ctx, changed)
	}
	k.release()
	patient, _ := workflow.NewDisconnectedContext(ctx)
	for {
		// Another division can be requested until the last group is released.
		err := workflow.Await(patient, func() bool { return k.running == 0 || changed.Len() > 0 })
		if err != nil {
			return err
		}
		k.learn(patient, changed)
		if k.running == 0 {
			return ctx.Err()
		}
	}
}

// learn reads the pending configurations and keeps the last one. It reports its division at once,
// also while calls of the old groups run: a worker with the old division then asks for it again.
func (k *keeper) learn(ctx workflow.Context, changed workflow.ReceiveChannel) {
	before := lanerules.DescribeGroups(k.in.Lane)
	for changed.Len() > 0 {
		var lane api.Lane // a new value, because omitted rules must be unset
		changed.Receive(ctx, &lane)
		k.in.Lane = lane
	}
	if now := lanerules.DescribeGroups(k.in.Lane); now != before {
		// It fails only for a value that cannot be encoded.
		_ = workflow.UpsertMemo(ctx, map[string]any{api.HoldersMemo: now})
	}
}
