package interactions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// conversation is a session with its clients.
type conversation struct {
	*execution
	actor   *actor
	session *switchyard.Session
	ended   chan struct{}

	mu    sync.Mutex
	calls int
}

// converse does what the clients of a session do, and ends it.
func (x *execution) converse(a *actor) {
	c := &conversation{execution: x, actor: a, ended: make(chan struct{}),
		session: x.client.Session(a.name, switchyard.SessionStart{Client: "tester",
			Variables: map[string]any{actorVariable: a.name}})}
	run := x.client.Open(a.name)
	if a.asks() {
		go x.decide(run, c.ended)
	}
	var beside sync.WaitGroup
	for _, b := range a.blocks {
		if !b.beside {
			beside.Wait()
		}
		beside.Go(func() { c.do(b) })
	}
	beside.Wait()
	close(c.ended)
	_ = x.again(func(ctx context.Context) error {
		return c.session.End(ctx, api.EndSession{By: "ada", Grace: api.Duration(time.Second)})
	})
	r := &ranRun{id: a.name, actor: a}
	x.awaitEnd(run, r)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.runs = append(x.runs, r)
}

// call returns a call of an order under a new ID.
func (c *conversation) call(o order) api.SessionCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return api.SessionCall{ID: fmt.Sprint("c", c.calls), Tool: o.spec.name,
		Arguments: string(o.arguments())}
}

// submit submits a call; ok is false if the scenario ends before there is an answer.
func (c *conversation) submit(call api.SessionCall) (status api.SessionCallStatus, ok bool) {
	err := c.again(func(ctx context.Context) (err error) {
		status, err = c.session.Call(ctx, call)
		return err
	})
	if err != nil {
		c.fault("call %s of %s: %v", call.ID, c.actor.name, err)
	}
	return status, err == nil
}

// outcome waits for the end of a call that was submitted.
func (c *conversation) outcome(call api.SessionCall,
	status api.SessionCallStatus) *api.CallOutcome {
	for status.Outcome == nil {
		now, err := c.session.Wait(c.ctx, status, 5*time.Second)
		if err == nil {
			status = now
		}
		if status.Outcome == nil && !c.pause(askAgain) {
			c.fault("call %s of %s does not end: %+v, %v", call.ID, c.actor.name, status, err)
			return nil
		}
	}
	return status.Outcome
}

// note adds what a client wanted and what it was told.
func (c *conversation) note(i intent) {
	i.session = c.actor.name
	c.execution.mu.Lock()
	defer c.execution.mu.Unlock()
	c.evidence.intents = append(c.evidence.intents, i)
}

// do does what a client does with a call.
func (c *conversation) do(b block) {
	call := c.call(b.order)
	if b.kind == blockKey {
		call.Key = "key-" + call.ID
	}
	first, ok := c.submit(call)
	if !ok {
		return
	}
	switch b.kind {
	case blockCall:
		told := c.outcome(call, first)
		c.note(intent{spec: b.order.spec, calls: []string{call.ID}, told: told,
			attached: first.Attached})
	case blockRepeat:
		c.repeat(b, call, first)
	case blockCancel:
		c.cancelCall(b, call, first)
	default:
		c.resubmit(b, call)
	}
}

// leaveCall tells the session that the client of a call is gone.
func (c *conversation) leaveCall(id string) {
	err := c.again(func(ctx context.Context) error {
		return c.session.Leave(ctx, api.LeaveCall{ID: id})
	})
	if err == nil {
		c.occurred(featureLeave)
	}
}

// repeat repeats a call whose answer was lost. Where the session knows that its client is gone, or
// the call has not ended, the repetition is the same intention. Where neither is so, it is another.
func (c *conversation) repeat(b block, call api.SessionCall, first api.SessionCallStatus) {
	if !c.pause(b.wait.after) {
		return
	}
	if b.leave == leaveBefore {
		c.leaveCall(call.ID)
	}
	second := call
	second.ID = c.call(b.order).ID
	status, ok := c.submit(second)
	if !ok {
		return
	}
	c.occurred(featureRepetition)
	one := intent{spec: b.order.spec, calls: []string{call.ID, second.ID}}
	if !status.Attached && (b.leave != leaveBefore || b.order.spec.effect != api.EffectOnce) {
		one.calls = one.calls[1:]
		c.note(intent{spec: b.order.spec, calls: []string{call.ID},
			told: c.outcome(call, first), attached: first.Attached})
	}
	switch b.leave {
	case leaveAfter:
		c.leaveCall(call.ID)
	case leaveOther:
		c.leaveCall(second.ID)
	}
	// A repetition that is not attached is an intention of its own.
	if one.told = c.outcome(second, status); b.leave == leaveOther && status.Attached {
		one.told = c.outcome(call, first)
	}
	c.note(one)
	if status.Attached && one.told != nil && b.again {
		c.anew(b, *one.told)
	}
}

// anew makes a call once more on purpose, after its client knows how the equal one ended.
func (c *conversation) anew(b block, told api.CallOutcome) {
	if told.Error != nil && mayHaveActed(b.order.spec, told.Error) {
		return // an equal call repeats one whose outcome is unknown
	}
	call := c.call(b.order)
	if status, ok := c.submit(call); ok {
		c.note(intent{spec: b.order.spec, calls: []string{call.ID}, anew: true,
			attached: status.Attached, told: c.outcome(call, status)})
	}
}

// resubmit submits a call again under its ID, or its key.
func (c *conversation) resubmit(b block, call api.SessionCall) {
	if !c.pause(b.wait.after) {
		return
	}
	one := intent{spec: b.order.spec, calls: []string{call.ID}}
	c.occurred(featureRepetition)
	if b.kind == blockKey {
		c.occurred(featureKey)
		call.ID = c.call(b.order).ID
		one.calls = append(one.calls, call.ID)
	}
	status, ok := c.submit(call)
	if !ok {
		return
	}
	one.told = c.outcome(call, status)
	c.note(one)
	if b.again && one.told != nil && b.kind == blockID {
		c.anew(b, *one.told)
	}
}

// cancelCall cancels a call, and repeats it if it was cancelled: then nothing has left the worker.
func (c *conversation) cancelCall(b block, call api.SessionCall, first api.SessionCallStatus) {
	one := intent{spec: b.order.spec, calls: []string{call.ID}, attached: first.Attached}
	ended := make(chan struct{})
	var told *api.CallOutcome
	go func() {
		defer close(ended)
		told = c.outcome(call, first)
	}()
	if c.await(c.actor.name, b.wait, ended) {
		err := c.again(func(ctx context.Context) error {
			return c.session.Cancel(ctx, api.CancelCall{ID: call.ID, By: "ada"})
		})
		if err == nil {
			c.occurred(featureCancelCall)
		}
	}
	<-ended
	if one.told = told; told == nil || told.Error == nil {
		c.note(one)
		return
	}
	if told.Error.Type == api.ErrCancelled || mayHaveActed(b.order.spec, told.Error) {
		second := c.call(b.order)
		if status, ok := c.submit(second); ok {
			c.note(one)
			c.occurred(featureRepetition)
			one.calls, one.told = append(one.calls, second.ID), c.outcome(second, status)
		}
	}
	c.note(one)
}
