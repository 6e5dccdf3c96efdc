package workflows

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// flow is what one coroutine of a run waits for while its calls are under way. A coroutine for each
// call would be resumed at each event and each local activity of the run: 500 of them cost seconds.
type flow struct {
	turn.Futures
	// own are the calls that the run itself makes and that are to be admitted together.
	own []ownCall
}

// steps takes a call from its admission decision to its outcome. Each step begins what the call
// waits for, and says what follows. They are the only ones that repeat a call; the server repeats
// an activity by its retry policy.
//
//	begin ─ approval ─ decide ─┬─ make ─ next ─┬─ finish
//	                           │      ↑        ├─ again (requeue, follow, lost workers) ─ make
//	                           │      └────────┴─ verify ─┬─ again
//	                           └─ finish                  └─ finish
type steps struct {
	*callRun
	ctx  workflow.Context
	flow *flow
	done func(api.CallOutcome)
}

// start takes the call to its outcome, which it passes to done, at once or while f is waited for.
func (c *callRun) start(ctx workflow.Context, f *flow, done func(api.CallOutcome)) {
	if outcome, decided := c.decided(); decided {
		done(outcome)
		return
	}
	c.pipeline.usage.Calls++
	steps{c, ctx, f, done}.begin()
}

// begin waits for the decision of a person, if the call needs one.
func (s steps) begin() {
	if s.decision.Approval == nil {
		s.make()
		return
	}
	o := s.pipeline.control.approvals.ask(s.ctx, s.call, s.decision)
	s.flow.Add(o.closed, func(workflow.Future) {
		s.unpaused(func(paused error) { s.decide(o, paused) })
	})
}

// unpaused calls then as soon as the run is not paused, with the error of a cancelled context.
func (s steps) unpaused(then func(error)) {
	control := s.pipeline.control
	if control.paused == nil {
		then(nil)
		return
	}
	resumed := control.resumed(s.ctx)
	s.flow.Add(resumed, func(workflow.Future) { then(resumed.Get(s.ctx, nil)) })
}

// decide goes on after a decision, or after the end of an approval without one. An edit replaces
// the decision of admission.
func (s steps) decide(o *approval, paused error) {
	c, p := s.callRun, s.pipeline
	c.decision, c.size = o.decision, 0
	c.tool = p.tools.Under(c.call.Tool, c.decision.Plan)
	p.runFacts.Changed(c.call.ID, c.arguments())
	switch {
	case paused != nil || o.fault != nil && o.fault.Type == api.ErrCancelled:
		s.finish(nil, api.CancelledBeforeStart())
	case o.fault != nil:
		s.finalize(api.FinalizeResultRequest{Call: c.call.ID, Tool: p.tools.Of(c.call.Tool),
			Origin: p.originOf(c.call.Asked()), Notes: c.decision.Notes, Error: o.fault})
	case c.decision.Result != nil:
		s.finish(c.decision.Result, nil)
	default:
		p.runFacts.Clear(c.call.ID, o.Clears)
		s.make()
	}
}

// make makes the first attempt. A call that the source of a forked run made has its outcome.
func (s steps) make() {
	if s.recorded != nil {
		s.finalize(forkedCall{s.callRun}.takeOver())
		return
	}
	s.await(s.execute(s.ctx))
}

// await waits for an attempt.
func (s steps) await(attempt workflow.Future) {
	s.flow.Add(attempt, func(workflow.Future) {
		result, failure, err := s.callRun.await(s.ctx, attempt)
		s.follow(result, failure, err)
	})
}

// follow decides what follows an attempt.
func (s steps) follow(result *api.Result, failure *api.Error, err error) {
	c := s.callRun
	switch c.next(s.ctx, failure) {
	case stepFollow:
		c.follows++
		c.lost, c.size = failure, 0
		s.again(requeuePause(c.follows), "left a task behind")
	case stepRequeue:
		c.requeues++
		c.pipeline.questions.requeued(c.call.ID)
		s.again(c.pause(), "requeued")
	case stepRequeueLost:
		c.losses++
		c.lost = failure
		s.again(requeuePause(c.losses), "lost its workers")
	case stepVerify:
		s.verify(failure)
	default:
		s.finish(result, err)
	}
}

// again makes another attempt, with the same ID and options, after a pause. That is never zero,
// because the SDK accepts the ID of an activity again only with the next workflow task.
func (s steps) again(pause time.Duration, why string) {
	over := workflow.NewTimerWithOptions(s.ctx, pause,
		workflow.TimerOptions{Summary: "call " + s.call.ID + " " + why})
	attempt := func(cancelled error) {
		if cancelled != nil {
			s.await(readyFuture(s.ctx, api.CancelledBeforeStart()))
			return
		}
		s.await(s.attempt(s.ctx))
	}
	s.flow.Add(over, func(workflow.Future) {
		if err := over.Get(s.ctx, nil); err != nil {
			attempt(err)
			return
		}
		s.unpaused(attempt)
	})
}

// finish ends the call.
func (s steps) finish(result *api.Result, err error) {
	s.done(s.callRun.finish(s.ctx, result, err))
}

// finalize ends the call with what the phase post_execution makes of an answer.
func (s steps) finalize(r api.FinalizeResultRequest) {
	ended, take := s.beginFinalizing(s.ctx, r)
	s.flow.Add(ended, func(workflow.Future) { s.finish(take()) })
}

// ownCall is a call that the run itself makes and that is not admitted yet.
type ownCall struct {
	api.Call
	// admitted goes on with the decision about the call, and its share of the run's limits. err is
	// why there is none.
	admitted func(v api.AdmissionDecision, share *api.Limits, err error)
}

// makeOwn makes a call that the run itself makes, with those that come up before the coroutine of
// the flow waits again. ended takes its outcome, or why it cannot be admitted.
func (p *pipeline) makeOwn(ctx workflow.Context, f *flow, call api.Call,
	ended func(api.CallOutcome, error)) {
	begin := func(v api.AdmissionDecision, share *api.Limits, err error) {
		if err != nil {
			ended(api.CallOutcome{}, err)
			return
		}
		c := p.newCall(call, v)
		c.share = share
		c.start(ctx, f, func(out api.CallOutcome) { ended(out, nil) })
	}
	f.own = append(f.own, ownCall{call, begin})
	if len(f.own) == 1 {
		f.Add(readyFuture(ctx, nil), func(workflow.Future) { p.admitOwn(ctx, f) })
	}
}

// admitOwn admits the calls that the run itself makes.
func (p *pipeline) admitOwn(ctx workflow.Context, f *flow) {
	own := f.own
	f.own = nil
	for len(own) > 0 {
		calls := make([]api.Call, len(own))
		for i, c := range own {
			calls[i] = c.Call
		}
		n := p.portion(calls)
		p.admitPortion(ctx, f, own[:n], calls[:n])
		own = own[n:]
	}
}

// admitPortion admits calls in one recorded step. If their decisions are long, that answers only
// the first ones.
func (p *pipeline) admitPortion(ctx workflow.Context, f *flow, own []ownCall, calls []api.Call) {
	answered, take := p.admitter.beginAdmission(ctx, calls, 0, true)
	f.Add(answered, func(workflow.Future) {
		decisions, err := take()
		if err != nil {
			for _, c := range own {
				c.admitted(api.AdmissionDecision{}, nil, err)
			}
			return
		}
		share := p.Divide(p.usage, decisions)
		if rest := own[len(decisions):]; len(rest) > 0 {
			p.admitPortion(ctx, f, slices.Clone(rest), calls[len(decisions):])
		}
		for i, v := range decisions {
			own[i].admitted(v, share, nil)
		}
	})
}

// makeOne makes a call that the run itself makes and returns its outcome. It returns an error if
// the call cannot be admitted.
func (p *pipeline) makeOne(ctx workflow.Context, call api.Call) (out api.CallOutcome, err error) {
	var f flow
	over := false
	p.makeOwn(ctx, &f, call, func(o api.CallOutcome, e error) { out, err, over = o, e, true })
	for !over {
		f.Wait(ctx)
	}
	return out, err
}
