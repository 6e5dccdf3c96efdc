// Package keeper hosts instances for the runs of a conversation: the workflow that keeps an
// instance, and the part of a run that uses it.
package keeper

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// closeWithin bounds an attempt to tell a host to close its instance.
	closeWithin = 15 * time.Second
	// leastWait bounds the wait for a host from below.
	leastWait = time.Minute
	// maxUsers bounds the runs that use an instance at a time. All of them are told when it ends:
	// the server allows a workflow 2,000 pending signals.
	maxUsers = 500
	// findWithin bounds the search for runs that have ended, findTimeout an attempt: it asks the
	// server for each run.
	findWithin  = time.Minute
	findTimeout = 30 * time.Second
)

// Instance is the workflow that hosts an instance for the runs of a conversation. A run sends its
// calls to the queue of the instance, as to an instance of its own. The workflow ends when the
// instance was idle for its timeout, was closed or lost, or could not be created, and tells the
// runs that use it. Its result is what the next workflow of the same ID starts with, so that no
// loss goes unnoticed between two runs.
func Instance(ctx workflow.Context, in instancerules.KeeperInput) (instancerules.Left, error) {
	info := workflow.GetInfo(ctx)
	in.Host.Origin.Run = cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
	in.Host.Origin.Conversation = in.Conversation
	k := &instance{in: in, joins: workflow.GetSignalChannel(ctx, api.JoinInstanceSignal),
		leaves: workflow.GetSignalChannel(ctx, api.LeaveInstanceSignal)}
	if err := k.answer(ctx); err != nil {
		return instancerules.Left{}, err
	}
	for {
		fault, err := k.host(ctx)
		if err != nil {
			return instancerules.Left{}, err
		}
		k.tell(ctx, fault)
		k.learn(ctx)
		if len(k.in.Users) == 0 || ctx.Err() != nil {
			return k.left(), nil
		}
	}
}

// left is what the next workflow of the ID starts with.
func (k *instance) left() instancerules.Left {
	return instancerules.Left{Last: k.in.Host.Last, Vanished: k.in.Host.Lost, Lost: k.in.Lost,
		Before: k.in.Host.Before, NotBefore: k.in.NotBefore}
}

// instance is one execution of Instance.
type instance struct {
	// in is what continue-as-new carries.
	in            instancerules.KeeperInput
	joins, leaves workflow.ReceiveChannel
	// hosted is the future of the activity with the ID hostID, which ends with the instance. hosts
	// counts these activities.
	hosted workflow.Future
	hostID string
	hosts  int
	// closing is set while the instance is being closed on demand; stop ends telling its host.
	closing *api.InstanceClosing
	stop    func()
}

// answer registers the queries of the workers that host the instance, and the request to close it.
func (k *instance) answer(ctx workflow.Context) error {
	err := workflow.SetQueryHandler(ctx, api.VariablesQuery,
		func() (map[string]any, error) { return k.in.Variables, nil })
	if err != nil {
		return err
	}
	err = workflow.SetQueryHandler(ctx, api.SetupQuery, func() (api.Setup, error) {
		return api.Setup{Pinned: api.Pack(api.Pinned{
			Catalog: api.Catalog{Tools: []api.Tool{k.in.Tool}}})}, nil
	})
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, api.CloseInstanceUpdate, k.close,
		workflow.UpdateHandlerOptions{Validator: k.mayClose})
}

// host has a worker host the instance until it ends. It returns why the instance was lost or not
// created; nil if it was idle or closed. The error continues the workflow as new.
func (k *instance) host(ctx workflow.Context) (*api.Error, error) {
	if k.in.Lost != "" && k.in.Tool.OnLoss != api.OnLossRecreate {
		return lost(k.in.Lost), nil
	}
	// A cancelled workflow does not wait for a last instance, and hosts no other one.
	if wait := k.in.NotBefore.Sub(workflow.Now(ctx)); wait > 0 {
		_ = workflow.Sleep(ctx, wait)
	}
	for {
		k.start(ctx)
		if err := k.await(ctx); err != nil {
			return nil, err
		}
		if fault, again := k.handleEnd(ctx); !again {
			return fault, nil
		}
	}
}

// lost is the error of an instance that was lost and is not recreated.
func lost(why string) *api.Error {
	e := api.Errorf(api.ErrWorkerLost, "%s", why)
	e.Phase = api.PhaseExecution
	return e
}

// start requests a host from the workers of the tool's lane, or the living instance of the previous
// execution from its worker.
func (k *instance) start(ctx workflow.Context) {
	k.hosts++
	base, tool, request := workflow.GetInfo(ctx).TaskQueueName, k.in.Tool, k.in.Host
	k.hostID = queues.InstanceHostID(request.Name(), k.hosts)
	options := HostOptions(tool, base)
	options.ScheduleToStartTimeout = k.hostWithin()
	if request.Adopt {
		options = AdoptOptions(tool, request.Queue)
		request.Last, request.Before = api.InstanceProgress{}, nil
	}
	options.ActivityID, options.Summary = k.hostID, "the conversation's instance of "+request.Name()
	k.hosted = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options),
		api.HostInstanceActivity, request)
}

// hostWithin bounds the wait for a host. Without a bound of the tool another host is requested
// after that time if runs still use the instance.
func (k *instance) hostWithin() time.Duration {
	return cmp.Or(k.in.Tool.HostWithin.Std(), max(k.in.Tool.IdleTimeout.Std(), leastWait))
}

// await returns when the host has ended. Its error continues the workflow as new, because the
// history is long.
func (k *instance) await(ctx workflow.Context) error {
	patient, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	long := func() bool {
		return k.closing == nil && ctx.Err() == nil &&
			workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	}
	for {
		err := workflow.Await(patient, func() bool {
			return k.hosted.IsReady() || k.joins.Len()+k.leaves.Len() > 0 || long()
		})
		k.learn(ctx)
		switch {
		case err != nil || k.hosted.IsReady():
			return err
		case long():
			return k.continueAsNew(ctx)
		}
	}
}

// continueAsNew continues the workflow, which then adopts the living instance.
func (k *instance) continueAsNew(ctx workflow.Context) error {
	next := k.in
	next.Host.Adopt = true
	next.Host.Before = WithHost(ctx, next.Host.Before, k.hostID)
	return workflow.NewContinueAsNewError(ctx, api.InstanceWorkflow, next)
}

// learn reads which runs use the instance. Runs with one workflow ID follow each other. If there
// are too many, even without those that have ended, the last ones cannot use it.
func (k *instance) learn(ctx workflow.Context) {
	var join, leave instancerules.User
	for ; k.joins.ReceiveAsync(&join); join = (instancerules.User{}) {
		k.in.Users = append(slices.DeleteFunc(k.in.Users, func(u instancerules.User) bool {
			return u.WorkflowID == join.WorkflowID
		}), join)
	}
	for ; k.leaves.ReceiveAsync(&leave); leave = (instancerules.User{}) {
		k.in.Users = slices.DeleteFunc(k.in.Users, func(u instancerules.User) bool {
			return u.Ticket == leave.Ticket
		})
	}
	if len(k.in.Users) <= maxUsers {
		return
	}
	k.removeEnded(ctx)
	if late := k.in.Users[min(maxUsers, len(k.in.Users)):]; len(late) > 0 {
		k.in.Users = k.in.Users[:maxUsers:maxUsers]
		k.inform(ctx, late, api.InstanceProgress{}, failures.NotJoined(0, k.in.Host.Name(),
			fmt.Sprintf("%d runs use it; call it again when one of them has ended", maxUsers)))
	}
}

// removeEnded drops the users whose runs have ended without leaving the instance, because they were
// terminated or timed out. If the server does not say which, all stay.
func (k *instance) removeEnded(ctx workflow.Context) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	var ended []instancerules.User
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: findWithin,
		StartToCloseTimeout:    findTimeout,
		Summary:                "find ended runs that use " + k.in.Host.Name(),
	}), api.FindEndedUsersActivity, k.in.Users).Get(ctx, &ended)
	if err != nil {
		return
	}
	k.in.Users = slices.DeleteFunc(k.in.Users, func(u instancerules.User) bool {
		return slices.Contains(ended, u)
	})
}

// handleEnd learns what became of the instance from the end of its host: why it was lost or not
// created, and whether another host follows at once.
func (k *instance) handleEnd(ctx workflow.Context) (fault *api.Error, again bool) {
	var left api.InstanceProgress
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	err := k.hosted.Get(ctx, &left)
	host := &k.in.Host
	adopted := host.Adopt
	host.Adopt = false
	known := err == nil
	if err != nil {
		left, known = failure.Progress(err)
	}
	if known {
		host.Last, host.Before, host.Lost = left, nil, false
	}
	if closing := k.closing; closing != nil {
		k.stop()
		k.closing, host.Lost = nil, false
		host.Last = host.Last.AfterClose(closing.Why)
		return nil, false
	}
	if err == nil {
		return nil, false
	}
	return k.handleFailure(ctx, failure.Of(err), adopted)
}

// handleFailure is ended for a host that failed. Another host follows only for runs that wait for
// it.
func (k *instance) handleFailure(ctx workflow.Context, f failures.ActivityFailure, adopted bool) (
	fault *api.Error, again bool) {
	if !adopted && k.notHosted(f) {
		if len(k.in.Users) > 0 {
			k.removeEnded(ctx)
		}
		return nil, len(k.in.Users) > 0
	}
	fault, why := InstanceHostError(f, k.in.Tool, adopted)
	if why == "" {
		return fault, false
	}
	k.in.Host.Lost = true
	if k.in.Tool.OnLoss == api.OnLossRecreate {
		return fault, adopted && len(k.in.Users) > 0
	}
	// A snapshot of an instance that is not recreated is older than its last call.
	k.in.Host.Last.State, k.in.Lost = nil, why
	return lost(why), false
}

// notHosted reports whether no worker has taken the host that failed.
func (k *instance) notHosted(f failures.ActivityFailure) bool {
	if HostNeverStarted(f) {
		return true
	}
	waited := f.Timeout == failures.TimeoutScheduleToStart && k.in.Tool.HostWithin == 0
	if waited && f.LastHeartbeat != nil {
		k.in.Host.Lost = true
	}
	return waited
}

// tell tells the runs that use the instance that it ended, and why.
func (k *instance) tell(ctx workflow.Context, fault *api.Error) {
	users := k.in.Users
	k.in.Users = nil
	last := k.in.Host.Last
	last.State = nil
	if k.inform(ctx, users, last, fault) {
		k.in.Lost = ""
	}
}

// inform tells users that they can no longer use the instance, and why. It reports whether one of
// their runs knows; the others have ended.
func (k *instance) inform(ctx workflow.Context, users []instancerules.User,
	last api.InstanceProgress, fault *api.Error) (known bool) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	var sent []workflow.Future
	for _, user := range users {
		sent = append(sent, workflow.SignalExternalWorkflow(ctx, user.WorkflowID, "",
			api.InstanceEndedSignal, instancerules.Ended{Ticket: user.Ticket,
				Instance: k.in.Host.Name(), Last: last, Error: fault}))
	}
	for _, told := range sent {
		known = told.Get(ctx, nil) == nil || known
	}
	return known
}

// mayClose rejects requests to close an instance that no worker hosts.
func (k *instance) mayClose(_ workflow.Context, r api.CloseInstance) error {
	e := people.CheckClose(r)
	if e == nil && (k.closing != nil || k.hosted == nil || k.hosted.IsReady()) {
		e = &api.ControlError{Type: api.NoInstance,
			Message: "the conversation has no open instance of that name"}
	}
	return failure.Refusal(e)
}

// close closes the instance on a person's request.
func (k *instance) close(ctx workflow.Context, r api.CloseInstance) error {
	k.closing = &api.InstanceClosing{Why: "the last one was " + people.CloseNote(r)}
	ctx, k.stop = workflow.WithCancel(workflow.WithActivityOptions(ctx,
		workflow.ActivityOptions{
			TaskQueue:           k.in.Host.Queue,
			StartToCloseTimeout: closeWithin,
			Summary:             "close the instance of " + k.in.Host.Name(),
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2,
				MaximumInterval: closeWithin},
		}))
	workflow.ExecuteActivity(ctx, api.CloseInstanceActivity,
		instancerules.CloseRequest{OnDemand: true, Why: k.closing.Why})
	return nil
}
