package workflows

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"go.temporal.io/sdk/workflow"
)

// steps takes a call from its admission decision to its outcome. Each step begins what the call
// waits for, and says what follows. They are the only ones that repeat a call; the server repeats
// an activity by its retry policy.
//
//	begin    make, or decide after an approval
//	decide   make; end or finalize if it was denied, not decided in time, or cancelled
//	make     follow; finalize if a feature has the outcome
//	follow   end; again if it was requeued, left a task or lost its workers; or verify
//	again    follow
//	verify   again if it had no effect, else finalize
//	finalize end
type steps struct {
	call *Call
	flow *flow
	done func(api.CallOutcome)
}

// start takes the call to its outcome, which it passes to done, at once or while f is waited for.
func (c *Call) start(f *flow, done func(api.CallOutcome)) {
	if outcome, decided := c.endUnexecuted(f.ctx); decided {
		done(outcome)
		return
	}
	c.pipeline.usage.Calls++
	steps{c, f, done}.begin()
}

// begin waits for the decision of a person, if the call needs one.
func (s steps) begin() {
	c := s.call
	if c.decision.Approval == nil {
		s.make()
		return
	}
	o := c.pipeline.control.approvals.ask(s.flow.ctx, c.call, c.decision)
	s.flow.Add(o.closed, func(workflow.Future) {
		s.flow.afterPause(func(cancelled error) { s.decide(o, cancelled) })
	})
}

// decide goes on after a decision, or after the end of an approval without one. An edit replaces
// the decision of admission.
func (s steps) decide(o *approval, cancelled error) {
	c, p := s.call, s.call.pipeline
	c.decision, c.size = o.decision, 0
	c.tool = p.tools.Under(c.call.Tool, c.decision.Plan)
	var clears []api.Clearing
	if cancelled == nil && o.fault == nil && c.decision.Result == nil {
		clears = o.Clears
	}
	p.followers.Approve(c, clears)
	switch {
	case cancelled != nil || o.fault != nil && o.fault.Type == api.ErrCancelled:
		s.end(nil, failures.CancelledBeforeStart())
	case o.fault != nil:
		s.finalize(api.FinalizeResultRequest{Call: c.call.ID, Tool: p.tools.Of(c.call.Tool),
			Origin: p.findOrigin(c.call.RequestedID()), Notes: c.decision.Notes, Error: o.fault})
	case c.decision.Result != nil:
		s.end(c.decision.Result, nil)
	default:
		s.make()
	}
}

// make makes the first attempt, unless a feature has the outcome of the call.
func (s steps) make() {
	c := s.call
	if c.known != nil {
		c.taken = true
		s.finalize(c.endKnown())
		return
	}
	c.pipeline.followers.Begin(c)
	s.follow(c.attempt(s.flow.ctx))
}

// follow waits for an attempt and decides what follows it.
func (s steps) follow(attempt workflow.Future) {
	s.flow.Add(attempt, func(workflow.Future) {
		c := s.call
		result, failure, err := c.await(s.flow.ctx, attempt)
		switch c.next(s.flow.ctx, failure) {
		case stepFollow:
			c.follows++
			c.lost, c.size = failure, 0
			c.goOn(s.flow.ctx, api.JournalAttempt, failure)
			s.again(requeuePause(c.follows), "left a task behind")
		case stepRequeue:
			c.requeues++
			c.pipeline.followers.Requeue(c)
			c.goOn(s.flow.ctx, api.JournalAttempt, failure)
			s.again(c.pause(), "requeued")
		case stepRequeueLost:
			c.losses++
			c.lost = failure
			c.goOn(s.flow.ctx, api.JournalAttempt, failure)
			s.again(requeuePause(c.losses), "lost its workers")
		case stepVerify:
			s.verify(failure)
		default:
			s.end(result, err)
		}
	})
}

// again makes another attempt, with the same ID and options, after a pause. That is never zero,
// because the SDK accepts the ID of an activity again only with the next workflow task.
func (s steps) again(pause time.Duration, why string) {
	c, ctx := s.call, s.flow.ctx
	over := workflow.NewTimerWithOptions(ctx, pause,
		workflow.TimerOptions{Summary: "call " + c.call.ID + " " + why})
	attempt := func(cancelled error) {
		if cancelled != nil {
			s.follow(readyFuture(ctx, failures.CancelledBeforeStart()))
			return
		}
		s.follow(c.attempt(ctx))
	}
	s.flow.Add(over, func(workflow.Future) {
		if err := over.Get(ctx, nil); err != nil {
			attempt(err)
			return
		}
		s.flow.afterPause(attempt)
	})
}

// end ends the call.
func (s steps) end(result *api.Result, err error) {
	s.done(s.call.finish(s.flow.ctx, result, err))
}

// finalize ends the call with what the phase post_execution makes of an answer.
func (s steps) finalize(r api.FinalizeResultRequest) {
	answer := s.call.beginFinalizing(s.flow.ctx, r)
	s.flow.record(answer.recordedStep, func(error) { s.end(answer.result, answer.err) })
}
