package activities

import (
	"context"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/api"
)

// FinalizeResult runs the phase post_execution for a call that no tool activity executed. It runs
// as a local activity, so that the call's outcome is one marker in history.
func (a *Activities) FinalizeResult(ctx context.Context,
	r api.FinalizeResultRequest) (api.FinalizedResult, error) {
	finalized := api.FinalizedResult{CallOutcome: api.CallOutcome{ID: r.Call, Tool: r.Tool.Name,
		Error: r.Error}, Usage: r.Usage}
	if r.Error == nil {
		finalized.Result, finalized.Error = a.finalize(ctx, r)
	}
	if finalized.Error != nil {
		e := executor.ValidError(finalized.Error)
		finalized.Error = &e
	}
	a.Conversations.KeepOutcome(r.Origin, finalized.CallOutcome)
	return finalized, nil
}

// finalize checks an answer and makes the call's result from it.
func (a *Activities) finalize(ctx context.Context, r api.FinalizeResultRequest) (*api.Result,
	*api.Error) {
	compiled, err := a.specs.Of(r.Tool)
	if err != nil {
		e := api.Errorf(api.ErrExecutorNotFound,
			"the pinned toolspec of %q cannot be used here: %v", r.Tool.Name, err)
		e.Phase = api.PhasePostExecution
		return nil, e
	}
	began := time.Now()
	output := r.Output
	if len(output) == 0 {
		output = results.OutputFromAnswer(compiled, r.Answer)
	}
	result, failure := a.results.Process(ctx, compiled, executor.Answer{Output: output,
		Notes: slices.Clone(r.Notes)},
		results.NewAnsweredCall(ctx, r.Origin, r.Parent, r.Call, r.Tool, r.Arguments, r.Hooks))
	if failure != nil {
		return nil, failure
	}
	result.Slow = r.Took > compiled.Spec.Execution.SlowAfter
	result.ExecutionMicros, result.PostMicros = r.Took.Std().Microseconds(),
		time.Since(began).Microseconds()
	return &result, nil
}
