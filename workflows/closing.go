package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/value/display"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// closeWithin bounds how long the end of a run waits for its instances to close.
	closeWithin = 15 * time.Second
	// announceAfter is how long no call has used an instance before the end of the run is announced
	// to its host, which then sends few heartbeats. An earlier end shows in the next heartbeat.
	announceAfter = 10 * time.Second
)

// close closes the instances at any end of the run and waits until they are closed.
func (s *instances) close(ctx workflow.Context) {
	s.closing = true
	s.notice(ctx)
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	hosted := 0
	for _, i := range s.list {
		if i.hostInstance == nil {
			continue
		}
		hosted++
		if i.member != nil {
			workflow.Go(ctx, i.leave)
			continue
		}
		i.cancel()
		i.announceEnd(ctx)
	}
	if hosted == 0 {
		return
	}
	_, _ = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{Timeout: closeWithin,
		TimerOptions: workflow.TimerOptions{Summary: "instances are closed"}}, func() bool {
		return !slices.ContainsFunc(s.list, func(i *instance) bool { return i.hostInstance != nil })
	})
}

// leave leaves the conversation's instance to later runs.
func (i *instance) leave(ctx workflow.Context) {
	i.member.Leave(ctx)
	i.hostInstance = nil
}

// announceEnd tells the host of an instance that no call has used lately that the run is ending.
// Servers need not push cancellation, and the host's next heartbeat can be far away.
func (i *instance) announceEnd(ctx workflow.Context) {
	if workflow.Now(ctx).Sub(i.used) < announceAfter {
		return
	}
	workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             "close/" + i.tool.InstanceName(),
		TaskQueue:              i.queue(),
		ScheduleToStartTimeout: closeWithin,
		StartToCloseTimeout:    closeWithin,
		Summary:                "close the run's instance of " + i.tool.InstanceName(),
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	}), api.CloseInstanceActivity, instancerules.CloseRequest{})
}

// closing is that an instance is being closed while its run goes on. Calls that were sent to the
// instance may end first, and calls after that wait until it is closed. They get a new one.
type closing struct {
	api.InstanceClosing
	// stop stops telling the host; it is nil before that began.
	stop func()
}

// end closes the instance that served a call which succeeded, if its tool declares that.
func (s *instances) End(ctx workflow.Context, c *Call, out api.CallOutcome) {
	if t := *c.tool; c.IsExecuted() && out.Error == nil && t.Closes &&
		t.Dispatch == api.DispatchInstance {
		s.of(t).closeOnDemand(ctx, "")
	}
}

// find returns the instance with that name, or that a tool of that name uses; nil for none.
func (s *instances) find(name string) *instance {
	if t := s.tools.Get(name); t != nil {
		name = t.InstanceName()
	}
	at := slices.IndexFunc(s.list, func(i *instance) bool { return i.tool.InstanceName() == name })
	if at < 0 {
		return nil
	}
	return s.list[at]
}

// isClosing reports whether calls of a tool wait until its instance is closed.
func (s *instances) isClosing(t api.Tool) bool {
	if t.Dispatch != api.DispatchInstance {
		return false
	}
	i := s.find(t.Name)
	return i != nil && i.closing != nil
}

// openNames returns the names of the instances that can be closed, separated by commas.
func (s *instances) openNames() string {
	var names []string
	for _, i := range s.list {
		if i.open() {
			names = append(names, i.tool.InstanceName())
		}
	}
	return strings.Join(names, ", ")
}

// open reports whether closing the instance has an effect: a worker hosts it, or the run lost it.
func (i *instance) open() bool {
	return i.closing == nil && (i.hostInstance != nil || i.gone != "")
}

// closeOnDemand closes the instance once the calls that were sent to it have ended. It does not
// wait. why is reported with the first result of the next instance; empty for none.
func (i *instance) closeOnDemand(ctx workflow.Context, why string) {
	if i.closing != nil {
		return
	}
	c := &closing{InstanceClosing: api.InstanceClosing{Why: why}}
	i.closing = c
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_ = workflow.Await(ctx, func() bool { return i.closing != c || len(i.calls) == 0 })
		switch { // the context is never cancelled
		case i.closing != c:
		case i.hostInstance == nil:
			i.finishClosing(ctx)
		default:
			i.tellHost(ctx)
		}
	})
}

// tellHost tells the worker that hosts the instance to close it. The host then ends, also if it is
// lost or another worker hosts the instance before that.
func (i *instance) tellHost(ctx workflow.Context) {
	ctx, i.closing.stop = workflow.WithCancel(workflow.WithActivityOptions(ctx,
		workflow.ActivityOptions{
			ActivityID:          fmt.Sprint("close/", i.tool.InstanceName(), "/", i.hosts),
			TaskQueue:           i.queue(),
			StartToCloseTimeout: closeWithin,
			Summary:             "close the instance of " + i.tool.InstanceName(),
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2,
				MaximumInterval: closeWithin},
		}))
	workflow.ExecuteActivity(ctx, api.CloseInstanceActivity,
		instancerules.CloseRequest{OnDemand: true, Why: i.closing.Why})
}

// finishClosing ends the closing of an instance that no worker hosts any more. It was asked for, so
// nothing is lost.
func (i *instance) finishClosing(ctx workflow.Context) {
	if i.closing.stop != nil {
		i.closing.stop()
	}
	i.last = i.last.AfterClose(i.closing.Why)
	i.closing, i.vanished, i.gone = nil, false, ""
	i.again(ctx)
}

// checkOpen returns the refusal to close an instance that is not open; nil if it is open.
func (s *instances) checkOpen(name string) *api.ControlError {
	if s == nil || s.openNames() == "" {
		return &api.ControlError{Type: api.NoInstance, Message: "the run has no open instance"}
	}
	if i := s.find(name); i != nil && i.open() {
		return nil
	}
	return &api.ControlError{Type: api.NoInstance, Message: fmt.Sprintf(
		"the run has no open instance %s; it has %s", display.Shorten(name, api.MaxAttribute),
		s.openNames())}
}
