package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/command"
	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// Tool executes any tool. It is the dynamic activity, whose activity type is the tool's name. It
// takes one api.Execution, or as a local activity one *api.InlineCall, through the
// phases execution and post_execution. It returns an error made by Failure, or Temporal's own error
// of a cancelled activity.
func (a *Activities) Tool(ctx context.Context, input converter.EncodedValues) (api.Result, error) {
	t, err := readAttempt(ctx, input)
	if err != nil {
		return api.Result{}, executor.Failure(executor.UnreadableInput(err))
	}
	releaseRun(ctx, a.config.Client)
	p := newPulse(ctx, a.config.Client)
	defer p.stop()
	ctx = p.withTask(p.withProgress(ctx), t)
	if t.inline != nil {
		var stop context.CancelFunc
		ctx, stop = inlineContext(ctx, t.inline.Left)
		defer stop()
	}
	p.saveNote(ctx, instances.Note(ctx))
	var at stage
	result, failure := a.recoverCall(ctx, t, &at)
	if failure != waiting {
		failure = p.addEarlier(ctx, t, at.effect(), instances.AddNote(ctx, failure))
		slots.RecordWait(ctx, &result, failure)
	}
	switch failure {
	case waiting:
		return api.Result{}, activity.ErrResultPending
	case nil:
		a.keepOutcomes(t, api.CallOutcome{ID: t.id, Result: &result})
		return result, nil
	}
	return api.Result{}, t.fail(ctx, a, failure)
}

// fail returns the error of a call's activity.
func (t attempt) fail(ctx context.Context, a *Activities, failure *api.Error) error {
	if failure.Type == api.ErrCancelled && ctx.Err() != nil {
		return executor.CancelledError(failure)
	}
	task := leftTask(ctx)
	if !failure.Retryable && task == nil {
		a.keepOutcomes(t, api.CallOutcome{ID: t.id, Error: failure})
	}
	return executor.FailureAfter(failure, t.retryWait(failure), append(t.spent(), task...)...)
}

func (a *Activities) keepOutcomes(t attempt, whole api.CallOutcome) {
	if t.inline == nil || t.inline.Apart {
		for _, outcome := range t.outcomes(whole) {
			a.Conversations.KeepOutcome(t.Origin, outcome)
		}
	}
}

// inputs completes what a call needs from its run: the toolspec, and variables that the input names
// by digest.
func (a *Activities) inputs(ctx context.Context, t *attempt) (*toolspecs.Compiled, *api.Error) {
	compiled, err := a.findSpec(ctx, *t)
	what := "the pinned toolspec of " + t.tool
	if err == nil {
		what = "the run's variables"
		err = a.Conversations.RestoreVariables(ctx, &t.Origin)
	}
	if err == nil {
		return compiled, nil
	}
	e := api.Errorf(api.ErrExecutorNotFound, "the worker cannot get %s: %v", what, err)
	e.Phase, e.Retryable, e.NotStarted = api.PhaseExecution, true, true
	return nil, e
}

// recoverCall makes a call. A panic ends this call only: as outcome_unknown if its tool may have
// acted, else as execution_error.
func (a *Activities) recoverCall(ctx context.Context, t attempt, at *stage) (result api.Result,
	failure *api.Error) {
	defer panics.Tool.Contain(ctx, nil, func(failed error) {
		failure = api.Errorf(api.ErrExecution, "the call ended with %v", failed)
		failure.Phase, failure.NotStarted = api.PhaseExecution, !at.started
		if at.started {
			failures.SetUnclear(failure, at.effect())
		}
	}, "tool", t.tool, "call_id", t.id)
	return a.call(ctx, t, at)
}

// stage is how far an attempt has come.
type stage struct {
	// spec is that of the tool; nil until it is known.
	spec *toolspecs.Spec
	// started is set just before the tool can act.
	started bool
}

// effect returns the effect of the tool, as far as it is known.
func (s stage) effect() api.Effect {
	if s.spec == nil {
		return api.EffectIdempotent // of the others, a call has one attempt, or no effect
	}
	return s.spec.Execution.Effect
}

// call makes a call and keeps its stage in at.
func (a *Activities) call(ctx context.Context, t attempt, at *stage) (api.Result, *api.Error) {
	compiled, missing := a.inputs(ctx, &t)
	if missing != nil {
		return api.Result{}, missing
	}
	spec := t.boundSpec(&compiled.Spec)
	at.spec = spec
	kind, ok := findExecutor(a, compiled)
	if !ok {
		e := api.Errorf(api.ErrExecutorNotFound,
			"this worker does not execute tools of the kind %q", spec.Entry.Type())
		e.Phase, e.NotStarted = api.PhaseExecution, true
		return api.Result{}, e
	}
	hidden := executor.NewRedactor(compiled, t.Arguments)
	reported := &reports{inline: t.inline != nil}
	timeout, cancel := a.withTimeout(hidden.RedactReports(executor.WithRedactor(t.withContext(
		reported.withCollector(ctx), spec), hidden)), t, boundByTask(ctx, spec))
	defer cancel()
	if e := command.EnsureDependencies(timeout, spec); e != nil {
		if timeout.Err() != nil {
			e = executor.CallError(timeout, executor.NotStarted(context.Cause(timeout)), spec)
		}
		e.Phase = api.PhasePreValidation
		return api.Result{}, hidden.Error(e)
	}
	if e := a.overdue(ctx, t); e != nil {
		return api.Result{}, e
	}
	at.started = true
	began := time.Now()
	answer, err := instances.Execute(timeout, kind, spec, t.Arguments)
	took := time.Since(began)
	if errors.Is(err, activity.ErrResultPending) {
		return api.Result{}, waiting
	}
	if err != nil {
		return api.Result{}, hidden.Error(t.limitRetries(executor.CallError(timeout, err, spec),
			spec))
	}
	began = time.Now()
	answer.Notes = slices.Concat(t.Notes, describeReplies(timeout), answer.Notes)
	answer = hidden.Answer(answer)
	if len(t.Parts) > 0 {
		result, failure := a.apart(executor.WithRedactor(ctx, hidden), compiled, answer, t, took)
		return result, hidden.Error(failure)
	}
	result, failure := a.results.Process(ctx, compiled, answer,
		t.call(executor.WithRedactor(ctx, hidden), spec))
	result.Reports = reported.kept()
	result = t.fitInline(result)
	result.Slow = took > spec.Execution.SlowAfter.Std()
	result.ExecutionMicros, result.PostMicros = took.Microseconds(),
		time.Since(began).Microseconds()
	return result, hidden.Error(failure)
}

// fitInline bounds the result of an inline call to what a marker may carry.
func (t attempt) fitInline(result api.Result) api.Result {
	if t.inline == nil {
		return result
	}
	return results.FitInline(result)
}

// boundSpec returns the spec with the bounds of the call's execution plan.
func (t attempt) boundSpec(spec *toolspecs.Spec) *toolspecs.Spec {
	if t.Execution.Timeout <= 0 || t.Execution.Timeout >= spec.Execution.Timeout {
		return spec
	}
	within := *spec
	within.Execution.Timeout = t.Execution.Timeout
	return &within
}

// findSpec returns the exact spec of the attempt's call.
func (a *Activities) findSpec(ctx context.Context, t attempt) (*toolspecs.Compiled, error) {
	if t.inline != nil {
		return a.inlineSpec(t.inline.Tool)
	}
	return a.pinnedSpec(ctx, t.tool, t.Execution)
}

// pinnedSpec returns the exact spec that the run is pinned to, from this process's catalog or
// cache, or else by querying the run.
func (a *Activities) pinnedSpec(ctx context.Context, name string,
	x api.Execution) (*toolspecs.Compiled, error) {
	if c, ok := a.specs.Get(x.Digest); ok {
		return c, nil
	}
	if c, ok := a.config.Catalog().Get(name); ok && c.Tool().Digest == x.Digest {
		a.specs.Put(x.Digest, c)
		return c, nil
	}
	pins := func(p api.Pinned) bool {
		tool, ok := p.Find(name)
		return ok && tool.Digest == x.Digest
	}
	setup, err := a.Conversations.Setup(ctx, x.Origin.Run, pins)
	if err != nil {
		return nil, err
	}
	if !pins(setup.Pinned.Value) {
		return nil, fmt.Errorf("the run is not pinned to version %s of it", x.Digest)
	}
	tool, _ := setup.Pinned.Value.Find(name)
	return a.specs.Of(tool)
}

// withContext adds to ctx what the tool can know about the call.
func (t attempt) withContext(ctx context.Context, spec *toolspecs.Spec) context.Context {
	lane, fence, ok := slots.LaneFromContext(ctx)
	if !ok {
		lane = spec.Execution.Lane
	}
	origin := t.Origin
	origin.Conversation = cmp.Or(origin.Conversation, t.info.WorkflowExecution.ID)
	return callcontext.With(ctx, api.CallContext{
		CallID: t.id, Tool: t.tool, Origin: origin,
		WorkflowID: t.info.WorkflowExecution.ID, RunID: t.info.WorkflowExecution.RunID,
		ParentCall: t.Parent, Parts: t.Parts,
		Attempt: int(t.info.Attempt), MaxAttempts: t.maxAttempts(spec),
		Timeout:   spec.Execution.Timeout,
		HasErrors: t.HasErrors,
		Key:       api.IdempotencyKey(t.Origin.Run, t.id),
		Lane:      lane, Fence: fence,
	})
}

// call returns the attempt's call for the hooks after it.
func (t attempt) call(ctx context.Context, spec *toolspecs.Spec) results.Call {
	if len(t.Hooks) == 0 {
		return results.Call{Call: tool.HookCall{Arguments: t.Arguments}}
	}
	return results.Call{Context: t.withContext(ctx, spec), Hooks: t.Hooks,
		Call: tool.HookCall{ID: t.id, Tool: t.tool, Effect: spec.Execution.Effect,
			Arguments: t.Arguments}}
}
