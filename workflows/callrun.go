package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/workflow"
)

// Call is one call of a run, from its admission decision to its outcome. steps takes it there.
type Call struct {
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
	// known is the outcome that a feature has for the call; nil for none. The call is then not
	// executed. taken is set once the call has that outcome.
	known *KnownOutcome
	taken bool
	// refused is set if the call ended before anything was made of it.
	refused bool
	// repeated is set if the call was made again because it had no effect.
	repeated bool
	// finalized is set if a run below the call ended by itself without a result. It has undone its
	// own calls.
	finalized bool
	// open is set once the journal says that the call goes on after a failed attempt, and marked
	// once a marker has the end of the call.
	open, marked bool
	// session is the context of the session that goes on when the client cancels the call; nil for
	// the calls of other runs, which end with their run.
	session workflow.Context
}

func (p *pipeline) newCall(c api.Call, v api.AdmissionDecision) *Call {
	return &Call{pipeline: p, call: c, decision: v, tool: p.tools.Under(c.Tool, v.Plan)}
}

// Request returns the call as the model, or the run, made it.
func (c *Call) Request() api.Call { return c.call }

// Tool returns the tool of the call, with the bounds that the call's execution plan sets.
func (c *Call) Tool() api.Tool { return *c.tool }

// Part is one of the calls that a batched call replaces, with its validated arguments.
type Part struct {
	Request   api.Call
	Arguments json.RawMessage
}

// Parts returns the calls that a batched call replaces, and the call itself if it is not batched.
func (c *Call) Parts() []Part {
	if len(c.parts) == 0 {
		return []Part{{c.call, c.Arguments()}}
	}
	parts := make([]Part, len(c.parts))
	for i, p := range c.parts {
		parts[i] = Part{p.call, selectArguments(p.call, p.decision)}
	}
	return parts
}

// IsBatched reports whether the call replaces others.
func (c *Call) IsBatched() bool { return len(c.parts) > 0 }

// IsKnown reports whether the call got the outcome that a feature has for it.
func (c *Call) IsKnown() bool { return c.taken }

// endUnexecuted returns the outcome of a call that is not executed: admission rejected it, or a
// hook or a dry run provided its result.
func (c *Call) endUnexecuted(ctx workflow.Context) (out api.CallOutcome, decided bool) {
	switch v := c.decision; {
	case v.Error != nil:
		return c.refuse(ctx, v.Error), true
	case v.Result != nil:
		c.pipeline.usage.Calls++
		out := api.CallOutcome{ID: c.call.ID, Tool: c.call.Tool, Result: v.Result}
		c.pipeline.followers.End(ctx, c, out)
		return out, true
	}
	return api.CallOutcome{}, false
}

// refuse counts a call that is not executed because of e and returns its outcome.
func (c *Call) refuse(ctx workflow.Context, e *api.Error) api.CallOutcome {
	c.refused = true
	c.pipeline.usage.Calls++
	c.pipeline.usage.Failed++
	out := api.CallOutcome{ID: c.call.ID, Tool: c.call.Tool, Error: e}
	c.pipeline.followers.End(ctx, c, out)
	return out
}

// IsExecuted reports whether the outcome is that of the call's tool, or of a call that did not
// start: no hook, person, dry run or feature gave it.
func (c *Call) IsExecuted() bool {
	return !c.refused && !c.taken && c.decision.Result == nil
}

// partIDs returns the IDs of the calls that a batched call replaces.
func partIDs(c *Call) (ids []string) {
	for _, part := range c.parts {
		ids = append(ids, part.ID)
	}
	return ids
}

// historyNeed returns how many bytes the call may add to the history.
func (c *Call) historyNeed() int {
	return c.pipeline.sizes.History.Need(*c.tool, c.inputSize()) + c.referenced
}

// attempt executes the call: within the workflow task, as a run below this one, or as an
// activity. The future has an api.Result.
func (c *Call) attempt(ctx workflow.Context) workflow.Future {
	switch {
	case c.tool.Lane == api.LaneInline:
		return c.inline(ctx)
	case c.tool.Dispatch == api.DispatchChildWorkflow:
		return c.send(ctx, c.childRun)
	}
	return c.send(ctx, c.schedule)
}

// readyFuture returns a future that is ready, with an error or without one.
func readyFuture(ctx workflow.Context, err error) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	end.SetError(err)
	return future
}

// await returns the result of an attempt, or why it failed: as an error of a call, and as Temporal
// reports it.
func (c *Call) await(ctx workflow.Context, attempt workflow.Future) (*api.Result, *api.Error,
	error) {
	var result api.Result
	err := attempt.Get(ctx, &result)
	if err == nil {
		return &result, nil, nil
	}
	fault := callError(err, *c.tool, c.decision.Route)
	if c.tool.Lane != api.LaneInline {
		c.task = remoteTask(failure.Of(err), fault, c.task)
	}
	return nil, fault, err
}

// finish returns the outcome of the call and releases what it reserved.
func (c *Call) finish(ctx workflow.Context, result *api.Result, err error) api.CallOutcome {
	out := api.CallOutcome{ID: c.call.ID, Tool: c.call.Tool, Result: result}
	if err != nil {
		out.Result, out.Error = nil, c.failure(ctx, err)
		c.pipeline.usage.Failed++
	}
	c.pipeline.followers.End(ctx, c, out)
	return out
}

// failure returns the error of the call whose last attempt failed with err, and records it where
// the history does not say it.
func (c *Call) failure(ctx workflow.Context, err error) *api.Error {
	said := callError(err, *c.tool, c.decision.Route)
	e := said
	if ctx.Err() != nil && requeues(*c.tool, e, c.call.Purpose, c.requeues) {
		e = failures.CancelledBeforeStart()
	}
	e = c.afterEarlier(e)
	_, made := errors.AsType[*api.Error](err)
	c.noteEnd(ctx, e, said, made)
	return e
}

// afterEarlier returns what e, the error of the last attempt, means for the call after its earlier
// attempts.
func (c *Call) afterEarlier(e *api.Error) *api.Error {
	if c.lost != nil && e.BeforeStart() { // an earlier attempt may have started
		e = c.lost
	}
	if c.acted {
		e = failures.AfterEffect(e)
	}
	return e
}

// finalize takes the end of a call that no activity of its own executed through the phase
// post_execution, and records it, also if the run is cancelled.
func (c *Call) finalize(ctx workflow.Context, r api.FinalizeResultRequest) (*api.Result, error) {
	f := c.beginFinalizing(ctx, r)
	_ = f.record(&c.pipeline.sizes.Task) // the context is never cancelled
	return f.result, f.err
}

// finalization is the step that finalize records. It has the result, or the error, once it is made.
type finalization struct {
	recordedStep
	result *api.Result
	err    error
}

// beginFinalizing returns the step of finalize.
func (c *Call) beginFinalizing(ctx workflow.Context, r api.FinalizeResultRequest) *finalization {
	ctx, forget := workflow.NewDisconnectedContext(ctx)
	c.pipeline.usage.Add(r.Usage)
	most := c.pipeline.sizes.History.MaxResult(*c.tool)
	if r.Error != nil {
		most = measureJSON(r.Error)
	}
	f := &finalization{recordedStep: recordedStep{ctx: ctx, most: most}}
	f.start = func() workflow.Future {
		return workflow.ExecuteLocalActivity(withSummary(withLocalOptions(ctx, r.Hooks...),
			"end of call "+r.Call), api.FinalizeResultActivity, r)
	}
	f.take = func(ended workflow.Future) int {
		defer forget()
		var finalized api.FinalizedResult
		f.err = ended.Get(ctx, &finalized)
		if c.marked = f.err == nil; c.marked && finalized.Error != nil {
			f.err = finalized.Error
		}
		if f.err != nil || finalized.Result == nil {
			return 0
		}
		f.result = finalized.Result
		return jsonvalue.PayloadSize(f.result.Output)
	}
	return f
}

// endKnown returns the request to finalize the call with the outcome that a feature has for it.
func (c *Call) endKnown() api.FinalizeResultRequest {
	request, known := c.finalizeRequest(), c.known
	request.Hooks, request.Output, request.Error = nil, known.Output, known.Error
	request.Notes = append(slices.Clone(request.Notes),
		"not executed: the outcome is that of "+known.Source)
	return request
}

// finalizeRequest returns the request to finalize the call, without its result.
func (c *Call) finalizeRequest() api.FinalizeResultRequest {
	p := c.pipeline
	return api.FinalizeResultRequest{Call: c.call.ID, Tool: *c.tool,
		Origin: p.findOrigin(c.call.RequestedID()), Notes: c.decision.Notes,
		Hooks:     hookrules.For(p.hooks.AfterCall, c.call.Tool),
		Arguments: c.Arguments(), Parent: p.parent.Call}
}

// Arguments returns the validated arguments of the call.
func (c *Call) Arguments() json.RawMessage { return selectArguments(c.call, c.decision) }

// selectArguments returns the arguments of an admitted call.
func selectArguments(c api.Call, v api.AdmissionDecision) json.RawMessage {
	if len(v.Arguments) > 0 {
		return v.Arguments
	}
	return json.RawMessage(c.Arguments)
}

// part is one of the calls that a batched call replaces; place is its index in the turn.
type part struct {
	api.Part
	call     api.Call
	decision api.AdmissionDecision
	place    int
}

// origin returns the origin of the call, which may have a caller and a trace of its own.
func (c *Call) origin() api.Origin {
	o := c.pipeline.findOrigin(c.call.RequestedID())
	o.Trace = cmp.Or(c.call.Trace, o.Trace)
	return o
}

// activityOrigin returns the origin of the call for the input of its activity.
func (c *Call) activityOrigin() api.Origin {
	o, own := *c.pipeline.passed, c.origin()
	o.Caller, o.Trace = own.Caller.ToActivityInput(), own.Trace
	return o
}

// execution returns the input of the call's activity, without the lane-specific parts.
func (c *Call) execution() api.Execution {
	p := c.pipeline
	return api.Execution{Digest: c.tool.Digest, Arguments: c.Arguments(),
		Origin: c.activityOrigin(),
		Notes:  c.decision.Notes, Parent: p.parent.Call,
		Hooks:   hookrules.For(p.hooks.AfterCall, c.tool.Name),
		Timeout: policyrules.AttemptTimeout(c.decision.Plan), Task: c.task,
		HasErrors: p.usage.Failed > 0, Own: c.call.OfRun()}
}
