package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/batches"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxBatched bounds the results of a batch in total, in bytes, because they are one result in
// history.
const maxBatched = 1 << 20

// apart splits the answer to a batch and runs the phase post_execution for each call's part. It
// returns an error for the whole batch if the answer is not a list with one element for each.
func (a *Activities) apart(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer, t attempt, took time.Duration) (api.Result, *api.Error) {
	var answers []json.RawMessage
	want := 0
	for _, p := range t.Parts {
		want += p.Elements
	}
	if err := json.Unmarshal(answer.Output, &answers); err != nil || len(answers) != want {
		e := api.Errorf(api.ErrInvalidOutput,
			"%d calls of %s were executed as one batch, and the answer is not a list of %d elements, one for each of theirs",
			len(t.Parts), compiled.Spec.Name, want)
		e.Phase = api.PhasePostExecution
		return api.Result{}, e
	}
	smaller := *compiled
	smaller.Spec.Execution.MaxResult = min(compiled.Spec.Execution.MaxResult,
		maxBatched/len(t.Parts))
	// the run has built the batch from such lists
	elements, _, _ := batches.Elements(*compiled.Spec.Batch, t.Arguments)
	whole, at := api.Result{}, 0
	for _, p := range t.Parts {
		mine := t
		mine.id = p.ID
		if arguments, err := batches.Arguments(*compiled.Spec.Batch, t.Arguments,
			elements[at:at+p.Elements]); err == nil {
			mine.Arguments = arguments
		}
		output, _ := jsonvalue.Encode(answers[at : at+p.Elements]) // they were decoded from JSON
		at += p.Elements
		whole.Parts = append(whole.Parts, a.processPart(ctx, &smaller,
			executor.Answer{Output: output,
				Notes: answer.Notes}, mine, took))
	}
	return whole, nil
}

// processPart makes the result of one call of the batch.
func (a *Activities) processPart(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer, t attempt, took time.Duration) api.CallOutcome {
	began := time.Now()
	part := api.CallOutcome{ID: t.id, Tool: t.tool}
	result, failure := a.results.Process(ctx, compiled, answer, t.call(ctx, &compiled.Spec))
	if part.Error = executor.RedactorFromContext(ctx).Error(failure); failure == nil {
		result.Slow = took > compiled.Spec.Execution.SlowAfter.Std()
		result.ExecutionMicros, result.PostMicros = took.Microseconds(),
			time.Since(began).Microseconds()
		part.Result = &result
	}
	return part
}

// outcomes returns the outcome of the attempt's call, or of each call of its batch.
func (t attempt) outcomes(whole api.CallOutcome) []api.CallOutcome {
	if len(t.Parts) == 0 {
		return []api.CallOutcome{whole}
	}
	var all []api.CallOutcome
	for _, p := range t.Parts {
		all = append(all, batches.Part(whole, p.ID))
	}
	return all
}
