package workflows

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/failure"
	"github.com/switchyard/switchyard/workflows/keeper"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// instances are the instances of a run: those of stateful tools, and sessions with MCP servers. An
// instance lives on one worker, its host: a long-running activity creates it and keeps it alive.
// The instance's calls go to a task queue that only this worker polls. They wait there while an
// instance is created or recreated. Several tools can share an instance.
//
// An instance of a conversation is hosted by a workflow of its own, keeper.Instance. The run joins
// it, and leaves it at its end.
type instances struct {
	Bystander
	base   string
	origin *api.Origin
	// tools are those of the run, by name.
	tools *turn.Tools
	sizes *budget.Sizes
	// list is in the order in which the instances were first needed.
	list []*instance
	// closing is set when the run ends. No instance is created after that.
	closing bool
	// conversation is that of the run; empty if no other run can use its instances. ends receives
	// what became of them; nil before the run has joined one.
	conversation string
	ends         workflow.ReceiveChannel
	// blocked counts by call the activities whose IDs cannot be used again, see afterCancel.
	blocked map[string]int
}

type instance struct {
	run *instances
	// tool is the first tool that needed the instance, with the longest heartbeat timeout of those
	// that share it. asks is set if calls of one of them may ask people.
	tool api.Tool
	asks bool
	// hostInstance is the future of the instance host activity, which ends with the instance; it
	// and cancel are nil where the run has none. Its ID is hostID; hosts counts the hosts in this
	// execution of the run.
	hostInstance workflow.Future
	cancel       func()
	// member is set while the run uses an instance of its conversation in place of its own host.
	member *keeper.Member
	hostID string
	hosts  int
	// adopting is set if the host activity is to adopt a living instance.
	adopting bool
	last     api.InstanceProgress
	before   []api.InstanceHost
	// vanished is set if the last instance was lost. gone is why, if it is not replaced after that.
	vanished bool
	gone     string
	// closing is set while the instance is being closed on demand.
	closing *closing
	// calls are the scheduled calls that have not ended, in order. used is when the last one ended.
	calls []*instanceCall
	used  time.Time
}

// instanceCall is a call that waits for its instance or runs on it.
type instanceCall struct {
	tool   api.Tool
	cancel func()
	// fault is the reason why the instance cannot serve the call, if known before the call ends.
	fault *api.Error
}

const (
	// maxContinued bounds the state of instances without a host that continue-as-new carries, in
	// bytes.
	maxContinued = 512 << 10
)

// call executes a call on the run's instance of a tool and creates the instance if there is none.
// The future has the result of the call's activity, or the reason why the instance could not serve
// it.
func (s *instances) call(ctx workflow.Context, t api.Tool, options workflow.ActivityOptions,
	x api.Execution) workflow.Future {
	i := s.of(t)
	if i.kept() {
		s.listen(ctx)
	}
	s.notice(ctx)
	future, settable := workflow.NewFuture(ctx)
	if i.gone != "" {
		e := keeper.InstanceLost(t, i.gone)
		e.NotStarted = true
		settable.SetError(e)
		return future
	}
	if i.hostInstance == nil {
		i.ask(ctx)
	}
	options.TaskQueue = i.queue()
	callCtx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	c := &instanceCall{tool: t, cancel: cancel}
	i.calls = append(i.calls, c)
	executed := workflow.ExecuteActivity(callCtx, t.Name, x)
	workflow.Go(ctx, func(ctx workflow.Context) {
		var r api.Result
		err := executed.Get(ctx, &r)
		i.calls = slices.DeleteFunc(i.calls, func(other *instanceCall) bool { return other == c })
		i.used = workflow.Now(ctx)
		if c.fault != nil {
			err = s.afterCancel(options.ActivityID, c, err)
		}
		settable.Set(r, err)
	})
	return future
}

// hostSize returns how many bytes a call of a tool sends to create its instance.
func (s *instances) hostSize(t api.Tool) int {
	if i := s.of(t); i.hostInstance == nil {
		return base64.StdEncoding.EncodedLen(len(i.last.State))
	}
	return 0
}

func (s *instances) of(t api.Tool) *instance {
	for _, i := range s.list {
		if i.tool.InstanceName() == t.InstanceName() {
			return i
		}
	}
	i := &instance{run: s, tool: t}
	for _, name := range s.tools.Keys() {
		other := s.tools.Of(name)
		if other.Dispatch == api.DispatchInstance && other.InstanceName() == t.InstanceName() {
			i.tool.Heartbeat = max(i.tool.Heartbeat, other.Heartbeat)
			if other.Name != t.Name {
				i.tool.Instance = t.InstanceName()
			}
			i.asks = i.asks || other.AnswerWithin > 0
		}
	}
	s.list = append(s.list, i)
	return i
}

// kept reports whether the conversation has the instance.
func (i *instance) kept() bool {
	return i.tool.Scope == api.ScopeConversation && i.run.conversation != ""
}

func (i *instance) queue() string {
	if i.kept() {
		return queues.ConversationInstance(i.run.base, i.tool.Lane, i.run.conversation,
			i.tool.InstanceName())
	}
	return queues.Instance(i.run.base, i.tool.Lane, i.run.origin.Run, i.tool.InstanceName())
}

// ask requests an instance from the workers of the tool's lane, or joins that of the conversation.
func (i *instance) ask(ctx workflow.Context) {
	if i.kept() {
		i.join(ctx, "")
		return
	}
	i.start(ctx, keeper.HostOptions(i.tool, i.run.base),
		api.HostInstanceRequest{Last: i.last, Lost: i.vanished, Before: i.before})
}

// adopt requests the living instance of the previous execution from its worker.
func (i *instance) adopt(ctx workflow.Context) {
	i.adopting = true
	i.start(ctx, keeper.AdoptOptions(i.tool, i.queue()), api.HostInstanceRequest{Adopt: true})
}

// start starts an instance host activity. It is not cancelled with the run, because the instance
// must be closed.
func (i *instance) start(ctx workflow.Context, options workflow.ActivityOptions,
	r api.HostInstanceRequest) {
	i.hosts++
	i.hostID = queues.InstanceHostID(i.tool.InstanceName(), i.hosts)
	options.ActivityID, options.Summary = i.hostID, "the run's instance of "+i.tool.InstanceName()
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	hostCtx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	i.describe(&r)
	i.run.sizes.Task.Add(ctx, base64.StdEncoding.EncodedLen(len(r.Last.State)))
	i.watch(ctx, workflow.ExecuteActivity(hostCtx, api.HostInstanceActivity, r), cancel)
}

// describe sets in r which instance is requested.
func (i *instance) describe(r *api.HostInstanceRequest) {
	r.Instance, r.Queue, r.Asks = i.tool.Instance, i.queue(), i.asks
	if i.tool.Instance != "" {
		r.Heartbeat = i.tool.Heartbeat
	}
	r.Tool, r.Digest, r.Origin = i.tool.Name, i.tool.Digest, *i.run.origin
}

// watch sets the future that ends with the instance.
func (i *instance) watch(ctx workflow.Context, hostInstance workflow.Future, cancel func()) {
	i.hostInstance, i.cancel = hostInstance, cancel
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = hostInstance.Get(ctx, nil) // it is looked at below, unless it has been
		if i.hostInstance == hostInstance {
			i.handleEnd(ctx)
		}
	})
}

// notice processes instance hosts that ended in the current workflow task, so that no decision
// relies on an instance that is already gone.
func (s *instances) notice(ctx workflow.Context) {
	var e instancerules.Ended
	for ; s.ends != nil && s.ends.ReceiveAsync(&e); e = (instancerules.Ended{}) {
		s.told(e)
	}
	for _, i := range s.list {
		if i.hostInstance != nil && i.hostInstance.IsReady() {
			i.handleEnd(ctx)
		}
	}
}

// handleEnd handles the end of an instance host: the instance was idle for too long, could not be
// created, or was lost.
func (i *instance) handleEnd(ctx workflow.Context) {
	var left api.InstanceProgress
	err := i.hostInstance.Get(ctx, &left)
	adopted := i.adopting
	i.hostInstance, i.cancel, i.adopting, i.member = nil, nil, false, nil
	if err == nil {
		i.last, i.before, i.vanished = left, nil, false
	} else if left, known := failure.Progress(err); known {
		i.last, i.before = left, nil
	}
	switch {
	case i.closing != nil && len(i.calls) == 0:
		i.finishClosing(ctx)
	case err == nil:
		i.again(ctx)
	default:
		i.handleFailure(ctx, failure.Of(err), adopted)
	}
}

// handleFailure handles the failure of an instance host.
func (i *instance) handleFailure(ctx workflow.Context, f failures.ActivityFailure, adopted bool) {
	if !adopted && keeper.HostNeverStarted(f) {
		i.again(ctx)
		return
	}
	fault, lost := keeper.InstanceHostError(f, i.tool, adopted)
	i.vanished = i.vanished || lost != ""
	switch {
	case fault == nil:
	case lost != "" && i.tool.OnLoss != api.OnLossRecreate:
		i.gone = lost
		i.fail(f, adopted)
	case lost != "" && adopted:
		i.again(ctx)
	default:
		// A host activity that is retried automatically fails only if an operator ended it. The
		// next call creates an instance again.
		i.fail(f, adopted)
	}
}

// again creates an instance again if calls wait for one.
func (i *instance) again(ctx workflow.Context) {
	if len(i.calls) > 0 && !i.run.closing {
		i.ask(ctx)
	}
}

// fail ends the calls that wait for the instance, whose host ended with that failure.
func (i *instance) fail(f failures.ActivityFailure, adopted bool) {
	for _, c := range i.calls {
		c.fault, _ = keeper.InstanceHostError(f, c.tool, adopted)
		c.cancel()
	}
}

// save adds what continue-as-new carries of the instances.
func (s *instances) Save(ctx workflow.Context, next *api.ContinueState) {
	next.Instances = s.state(ctx)
}

func (s *instances) state(ctx workflow.Context) []api.InstanceState {
	s.notice(ctx)
	var continued []api.InstanceState
	historyBudget := maxContinued
	for _, i := range s.list {
		c := api.InstanceState{Instance: i.tool.Instance, Tool: i.tool.Name, Last: i.last,
			Hosted: i.hostInstance != nil, Before: i.before, Vanished: i.vanished, Lost: i.gone}
		if i.closing != nil {
			c.Closing = &i.closing.InstanceClosing
		}
		if i.member != nil {
			c.Ticket = i.member.Ticket()
			c.Hosted = c.Ticket != ""
		} else if c.Hosted {
			c.Before = keeper.WithHost(ctx, c.Before, i.hostID)
		}
		if historyBudget -= len(c.Last.State); historyBudget < 0 {
			c.Last.State = nil
		}
		continued = append(continued, c)
	}
	return continued
}

// restore restores the instances of the previous execution.
func (s *instances) Restore(ctx workflow.Context, before *api.ContinueState) {
	s.takeOver(ctx, before.Instances)
}

// takeOver takes over instances. It adopts living ones at once, because they wait only briefly.
func (s *instances) takeOver(ctx workflow.Context, continued []api.InstanceState) {
	for _, c := range continued {
		i := s.of(s.tools.Of(c.Tool))
		i.last, i.before, i.vanished, i.gone = c.Last, c.Before, c.Vanished, c.Lost
		switch {
		case c.Ticket != "":
			s.listen(ctx)
			i.join(ctx, c.Ticket)
		case c.Hosted:
			i.adopt(ctx)
		}
		if c.Closing != nil {
			i.closeOnDemand(ctx, c.Closing.Why)
		}
	}
}

// join has the run use the conversation's instance. ticket is that of the previous execution; empty
// if it has not joined.
func (i *instance) join(ctx workflow.Context, ticket string) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	id := api.InstanceWorkflowID(i.run.base, i.tool.Lane, i.run.conversation, i.tool.InstanceName())
	if ticket != "" {
		i.member = keeper.Resume(ctx, id, ticket)
	} else {
		i.hosts++
		r := instancerules.JoinRequest{Keeper: id, Conversation: i.run.conversation}
		i.describe(&r.HostInstanceRequest)
		i.member = keeper.Join(ctx, i.tool, r, fmt.Sprint(i.tool.InstanceName(), "/", i.hosts))
	}
	i.watch(ctx, i.member.Hosted, func() {})
}

// listen receives what becomes of the conversation's instances.
func (s *instances) listen(ctx workflow.Context) {
	if s.ends != nil {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	s.ends = workflow.GetSignalChannel(ctx, api.InstanceEndedSignal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var e instancerules.Ended
			s.ends.Receive(ctx, &e)
			s.told(e)
		}
	})
}

// told handles the end of an instance of the conversation. The runs of an agent's conversation have
// one workflow ID, so a loss can reach another run than the one with its ticket. The run that is
// told of it has lost the instance.
func (s *instances) told(e instancerules.Ended) {
	for _, i := range s.list {
		if i.member.Holds(e.Ticket) {
			i.member.End(e)
			return
		}
	}
	for _, name := range s.tools.Keys() {
		if t := s.tools.Of(name); keeper.EndsTool(e, t) {
			s.of(t).lost(e)
			return
		}
	}
}

// lost handles the loss of the conversation's instance of which another run was to be told.
func (i *instance) lost(e instancerules.Ended) {
	switch {
	case !i.kept():
	case i.member != nil:
		i.member.End(e)
	default:
		i.gone, i.vanished = e.Error.Message, true
	}
}

// afterCancel returns the error of a call that the run cancelled because of its fault, and whose
// activity ended with err. The activity of a started call can end otherwise than cancelled: its
// worker was lost, or reported before it knew. The SDK then keeps the activity's ID, and fails
// workflow tasks that give it to another activity. The next one of the call has another ID.
func (s *instances) afterCancel(activityID string, c *instanceCall, err error) error {
	if temporal.IsCanceledError(err) {
		fault := *c.fault
		// A worker reports a cancelled call with its error. Without one, the server has cancelled
		// an activity that no worker had. An earlier attempt may have started.
		if reported := new(api.Error); failure.Of(err).Details(reported) != nil {
			fault.NotStarted = fault.NotStarted || c.tool.Attempts() == 1
		}
		return &fault
	}
	if s.blocked == nil {
		s.blocked = map[string]int{}
	}
	s.blocked[api.CallOfActivity(activityID)]++
	return err
}

// activityID returns the ID of the next activity of a call.
func (s *instances) activityID(callID string) string {
	return api.CallActivityID(callID, s.blocked[callID])
}

// observe returns the instances of the run. It changes nothing, so that a replay makes the recorded
// decisions.
func (s *instances) observe(ctx workflow.Context) []Instance {
	list := make([]Instance, len(s.list))
	for n, i := range s.list {
		state := api.InstanceState{Instance: i.tool.Instance, Tool: i.tool.Name, Last: i.last,
			Vanished: i.vanished, Lost: i.gone}
		live := i.hostInstance != nil || i.member != nil
		if i.hostInstance != nil && i.member == nil && i.hostInstance.IsReady() {
			live = i.hostInstance.Get(ctx, &state.Last) != nil
		}
		list[n] = Instance{Name: i.tool.InstanceName(), State: state,
			Live: live || len(i.before) > 0}
	}
	return list
}
