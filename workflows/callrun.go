package workflows

import (
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/failure"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// callRun takes one call of a run from its admission decision to its outcome. The method run is the
// place to start reading: decided, awaitApproval, execute and untilOutcome are its steps. The run
// repeats a call only through attemptAgain. The server repeats an activity by its retry policy.
type callRun struct {
	pipeline *pipeline
	call     api.Call
	// decision is that of admission, or that of the approval that changed the call.
	decision api.AdmissionDecision
	// tool has the bounds that the call's execution plan sets.
	tool *api.Tool
	// share limits the run of a sub-agent; nil for no limit.
	share *api.Limits
	// parts are the calls that a batched call replaces; place is the index of a call in its turn.
	parts []part
	place int
	// referenced is the size in bytes of the results that a plan call's arguments refer to, until
	// the call is admitted.
	referenced int
	// size is the result of inputSize; zero until it is known.
	size int
	// requeues counts how often the call was scheduled again because it had not started,
	// verifications how often a tool was asked for its outcome.
	requeues, verifications int
	// losses counts how often the call was scheduled again because its workers were lost, lost is
	// the last such failure.
	losses int
	lost   *api.Error
	// acted is set if an attempt before the last one may have taken effect.
	acted bool
	// task is the remote task that the last attempt waited for; nil if there is none. follows
	// counts how often the call was scheduled again to wait for one.
	task    *api.RemoteTask
	follows int
	// recorded is the equal call that the source of a forked run made; nil for none. Its outcome is
	// that of this call, which is not executed. taken is set once the call has it.
	recorded *api.RecordedCall
	taken    bool
	// repeated is set if the call was made again because it had no effect.
	repeated bool
	// finalized is set if a run below the call ended by itself without a result. It has undone its
	// own calls.
	finalized bool
	// session is the context of the session that goes on when the client cancels the call; nil for
	// the calls of other runs, which end with their run.
	session workflow.Context
}

func (p *pipeline) newCall(c api.Call, v api.AdmissionDecision) *callRun {
	return &callRun{pipeline: p, call: c, decision: v, tool: p.tools.Under(c.Tool, v.Plan)}
}

// run takes the call from its admission decision to its outcome.
func (c *callRun) run(ctx workflow.Context) api.CallOutcome {
	if outcome, decided := c.decided(); decided {
		return outcome
	}
	c.pipeline.usage.Calls++
	return c.proceed(ctx)
}

// proceed takes a call that is to be executed to its outcome.
func (c *callRun) proceed(ctx workflow.Context) api.CallOutcome {
	if outcome, denied := c.awaitApproval(ctx); denied {
		return outcome
	}
	if c.recorded != nil {
		return forkedCall{c}.takeOver(ctx)
	}
	return c.untilOutcome(ctx, c.execute(ctx))
}

// untilOutcome awaits an attempt, and repeats the call until next finishes it.
func (c *callRun) untilOutcome(ctx workflow.Context, attempt workflow.Future) api.CallOutcome {
	for {
		result, failure, err := c.await(ctx, attempt)
		switch c.next(ctx, failure) {
		case stepFollow:
			c.follows++
			c.lost, c.size = failure, 0
			attempt = c.attemptAgain(ctx, requeuePause(c.follows), "left a task behind")
		case stepRequeue:
			c.requeues++
			c.pipeline.questions.requeued(c.call.ID)
			attempt = c.attemptAgain(ctx, c.pause(), "requeued")
		case stepRequeueLost:
			c.losses++
			c.lost = failure
			attempt = c.attemptAgain(ctx, requeuePause(c.losses), "lost its workers")
		case stepVerify:
			verified, repeat, err := c.verify(ctx, failure)
			if !repeat {
				return c.finish(ctx, verified, err)
			}
			c.repeated, c.task = true, nil
			attempt = c.attemptAgain(ctx, time.Millisecond, "had no effect")
		default:
			return c.finish(ctx, result, err)
		}
	}
}

// start begins the call and passes its outcome to done, which is called when f is waited for. It
// does the same as run. A call that ends with its first attempt and waits for no approval needs no
// coroutine, which keeps calls that run inline cheap.
func (c *callRun) start(ctx workflow.Context, f *turn.Futures, done func(api.CallOutcome)) {
	if outcome, decided := c.decided(); decided {
		done(outcome)
		return
	}
	c.pipeline.usage.Calls++
	if c.decision.Approval != nil || c.recorded != nil {
		c.inCoroutine(ctx, f, done, c.proceed)
		return
	}
	f.Add(c.execute(ctx), func(attempt workflow.Future) {
		result, failure, err := c.await(ctx, attempt)
		if c.next(ctx, failure) == stepFinish {
			done(c.finish(ctx, result, err))
			return
		}
		c.inCoroutine(ctx, f, done, func(ctx workflow.Context) api.CallOutcome {
			return c.untilOutcome(ctx, attempt)
		})
	})
}

func (c *callRun) inCoroutine(ctx workflow.Context, f *turn.Futures, done func(api.CallOutcome),
	run func(workflow.Context) api.CallOutcome) {
	ended, end := workflow.NewFuture(ctx)
	var outcome api.CallOutcome
	workflow.Go(ctx, func(ctx workflow.Context) {
		outcome = run(ctx)
		end.SetValue(nil)
	})
	f.Add(ended, func(workflow.Future) { done(outcome) })
}

// decided returns the outcome of a call that is not executed: admission rejected it, or a hook or a
// dry run provided its result.
func (c *callRun) decided() (out api.CallOutcome, decided bool) {
	p, v := c.pipeline, c.decision
	switch {
	case v.Error != nil:
		return c.refuse(v.Error), true
	case v.Result != nil:
		p.usage.Calls++
		out := api.CallOutcome{ID: c.call.ID, Tool: c.call.Tool, Result: v.Result}
		p.runFacts.Ended(out, p.tools.Of(c.call.Tool))
		return out, true
	}
	return api.CallOutcome{}, false
}

// refuse counts a call that is not executed because of e, with its parts, and returns its outcome.
func (c *callRun) refuse(e *api.Error) api.CallOutcome {
	out := c.pipeline.refused(c.call, e)
	for _, part := range c.parts {
		c.pipeline.runFacts.Refused(part.call)
	}
	reservations{c.pipeline}.end(c, out)
	return out
}

// awaitApproval waits for the decision of a person, if the call needs one. It returns the outcome
// of a call that is not executed after that. An edit replaces the call's decision.
func (c *callRun) awaitApproval(ctx workflow.Context) (out api.CallOutcome, denied bool) {
	if c.decision.Approval == nil {
		return out, false
	}
	p := c.pipeline
	o := p.control.approvals.ask(ctx, c.call, c.decision)
	if !o.over {
		p.changed(ctx)
	}
	_ = o.closed.Get(ctx, nil) // has no error
	paused := p.control.goOn(ctx)
	c.decision, c.size = o.decision, 0
	c.tool = p.tools.Under(c.call.Tool, c.decision.Plan)
	p.runFacts.Changed(c.call.ID, c.arguments())
	switch {
	case paused != nil || o.fault != nil && o.fault.Type == api.ErrCancelled:
		return c.finish(ctx, nil, api.CancelledBeforeStart()), true
	case o.fault != nil:
		result, err := c.finalize(ctx, api.FinalizeResultRequest{Call: c.call.ID,
			Tool: p.tools.Of(c.call.Tool), Origin: p.originOf(c.call.Asked()),
			Notes: c.decision.Notes, Error: o.fault})
		return c.finish(ctx, result, err), true
	case c.decision.Result != nil:
		return c.finish(ctx, c.decision.Result, nil), true
	}
	p.runFacts.Clear(c.call.ID, o.Clears)
	return out, false
}

// execute starts the first attempt of the call.
func (c *callRun) execute(ctx workflow.Context) workflow.Future {
	p := c.pipeline
	p.sizes.History.Enter(c.call.ID, c.historyNeed())
	p.runFacts.Begin(c.call.ID, partIDs(c))
	p.questions.begin(c)
	forkedCall{c}.observe()
	return c.attempt(ctx)
}

// partIDs returns the IDs of the calls that a batched call replaces.
func partIDs(c *callRun) (ids []string) {
	for _, part := range c.parts {
		ids = append(ids, part.ID)
	}
	return ids
}

// historyNeed returns how many bytes the call may add to the history.
func (c *callRun) historyNeed() int {
	return c.pipeline.sizes.History.Need(*c.tool, sender{c}.inputSize()) + c.referenced
}

// attempt executes the call: within the workflow task, as a run below this one, or as an
// activity. The future has an api.Result.
func (c *callRun) attempt(ctx workflow.Context) workflow.Future {
	switch {
	case c.tool.Lane == api.LaneInline:
		return c.inline(ctx)
	case c.tool.Dispatch == api.DispatchChildWorkflow:
		return sender{c}.send(ctx, c.childRun)
	}
	return sender{c}.send(ctx, c.schedule)
}

// attemptAgain executes the call again, with the same ID and options, after a pause.
func (c *callRun) attemptAgain(ctx workflow.Context, pause time.Duration,
	why string) workflow.Future {
	if c.pipeline.control.goOnAfter(ctx, pause, "call "+c.call.ID+" "+why) != nil {
		return failed(ctx, api.CancelledBeforeStart())
	}
	return c.attempt(ctx)
}

// failed returns a future with an error.
func failed(ctx workflow.Context, err error) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	end.SetError(err)
	return future
}

// await returns the result of an attempt, or why it failed: as an error of a call, and as Temporal
// reports it.
func (c *callRun) await(ctx workflow.Context, attempt workflow.Future) (*api.Result, *api.Error,
	error) {
	var result api.Result
	err := attempt.Get(ctx, &result)
	if err == nil {
		return &result, nil, nil
	}
	fault := callError(err, *c.tool, c.decision.Route)
	if c.tool.Lane != api.LaneInline {
		c.task = failure.Of(err).RemoteTask(fault, c.task)
	}
	return nil, fault, err
}

// callStep is what follows an attempt.
type callStep int

const (
	stepFinish callStep = iota
	// stepFollow: the attempt is over, and the remote task that it waited for may go on.
	stepFollow
	// stepRequeue: the call did not start.
	stepRequeue
	// stepRequeueLost: the workers of all attempts were lost, and the call is safe to repeat.
	stepRequeueLost
	// stepVerify: the call may have taken effect, and its tool declares how to verify that.
	stepVerify
)

// next decides what follows an attempt with that failure; nil is a success. A call is not repeated
// beyond the size of a history at which the server ends the run: its last failure is its outcome.
func (c *callRun) next(ctx workflow.Context, failure *api.Error) callStep {
	if failure == nil {
		return stepFinish
	}
	c.acted = c.acted || c.tool.MayActBefore(failure, c.task)
	step := c.after(ctx, failure)
	events, bytes := c.pipeline.written(ctx)
	if step != stepFinish &&
		!c.pipeline.sizes.History.FitAgain(events, bytes, step == stepVerify) {
		return stepFinish
	}
	return step
}

// after decides what follows a failed attempt, wherever the history ends.
func (c *callRun) after(ctx workflow.Context, failure *api.Error) callStep {
	switch {
	case ctx.Err() != nil:
		return c.afterCancel(failure)
	case c.task.Follows(failure, c.follows):
		return stepFollow
	case c.tool.Requeues(failure, c.call.Purpose, c.requeues):
		return stepRequeue
	case c.tool.RequeuesLost(failure, c.losses):
		return stepRequeueLost
	case c.tool.Verifiable(failure):
		return stepVerify
	}
	return stepFinish
}

// afterCancel decides what follows a cancelled attempt with that failure. A run that was cancelled
// ends. A session of which one call was cancelled goes on and undoes nothing, so that verifying the
// call is the only way to find out what it did.
func (c *callRun) afterCancel(failure *api.Error) callStep {
	if c.session != nil && c.session.Err() == nil && c.tool.Verifiable(failure) {
		return stepVerify
	}
	return stepFinish
}

// The pauses before requeued calls.
const (
	requeueStep     = time.Second
	maxRequeuePause = 10 * time.Second
	// maxOwnPause bounds that of calls that the run itself makes, which double: MaxRequeues of them
	// take two hours.
	maxOwnPause = 10 * time.Minute
)

// pause returns the pause before the call is requeued.
func (c *callRun) pause() time.Duration {
	if c.call.OfRun() && c.requeues > 2 {
		return min(requeueStep<<(c.requeues-2), maxOwnPause)
	}
	return requeuePause(c.requeues)
}

// requeuePause returns the pause before a call is requeued for the nth time.
func requeuePause(n int) time.Duration {
	return min(max(time.Duration(n-1)*requeueStep, time.Millisecond), maxRequeuePause)
}

// finish returns the outcome of the call and releases what it reserved.
func (c *callRun) finish(ctx workflow.Context, result *api.Result, err error) api.CallOutcome {
	p, id := c.pipeline, c.call.ID
	out := api.CallOutcome{ID: id, Tool: c.call.Tool, Result: result}
	size := 0
	if err != nil {
		out.Result, out.Error = nil, c.failure(ctx, err)
		p.usage.Failed++
	} else {
		size = api.JSONSize(result.Output)
	}
	p.sizes.History.Leave(id)
	p.sizes.Task.Leave(ctx, id, size)
	p.questions.end(out)
	p.runFacts.Ended(out, p.tools.Of(c.call.Tool))
	reservations{p}.end(c, out)
	forkedCall{c}.observeEnd(out)
	if c.decision.Result == nil && !c.taken { // else nothing was executed
		if err == nil {
			p.instances.closeAfter(ctx, *c.tool)
		}
		c.noteUndo(out)
	}
	return out
}

// failure returns the error of the call whose last attempt failed with err.
func (c *callRun) failure(ctx workflow.Context, err error) *api.Error {
	e := callError(err, *c.tool, c.decision.Route)
	if ctx.Err() != nil && c.tool.Requeues(e, c.call.Purpose, c.requeues) {
		e = api.CancelledBeforeStart()
	}
	if c.lost != nil && e.BeforeStart() { // an earlier attempt may have started
		e = c.lost
	}
	if c.acted {
		e = e.AfterEffect()
	}
	return e
}

// finalize takes the end of a call that no activity of its own executed through the phase
// post_execution, and records it, also if the run is cancelled.
func (c *callRun) finalize(ctx workflow.Context, r api.FinalizeResultRequest) (*api.Result, error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	c.pipeline.usage.Add(r.Usage)
	var finalized api.FinalizedResult
	var err error
	options := saying(withLocalOptions(ctx, r.Hooks...), "end of call "+r.Call)
	_ = c.pipeline.sizes.Task.Record(ctx, c.pipeline.sizes.History.MaxResult(*c.tool), func() int {
		err = workflow.ExecuteLocalActivity(options, api.FinalizeResultActivity, r).Get(ctx,
			&finalized)
		if finalized.Result == nil {
			return 0
		}
		return api.JSONSize(finalized.Result.Output)
	}) // the context is never cancelled
	switch {
	case err != nil:
		return nil, err
	case finalized.Error != nil:
		return nil, finalized.Error
	}
	return finalized.Result, nil
}

// finalizeRequest returns the request to finalize the call, without its result.
func (c *callRun) finalizeRequest() api.FinalizeResultRequest {
	p := c.pipeline
	return api.FinalizeResultRequest{Call: c.call.ID, Tool: *c.tool,
		Origin: p.originOf(c.call.Asked()), Notes: c.decision.Notes,
		Hooks:     api.HooksFor(p.hooks.AfterCall, c.call.Tool),
		Arguments: c.arguments(), Parent: p.parent.Call}
}

// arguments returns the validated arguments of the call.
func (c *callRun) arguments() json.RawMessage { return validated(c.call, c.decision) }

// validated returns the arguments of an admitted call.
func validated(c api.Call, v api.AdmissionDecision) json.RawMessage {
	if len(v.Arguments) > 0 {
		return v.Arguments
	}
	return json.RawMessage(c.Arguments)
}
