package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// FinalizeResult runs the phase post_execution for a call that no tool activity executed. It runs
// as a local activity, so that the call's outcome is one marker in history.
func (a *Activities) FinalizeResult(ctx context.Context,
	r api.FinalizeResultRequest) (api.FinalizedResult, error) {
	finalized := api.FinalizedResult{CallOutcome: api.CallOutcome{ID: r.Call, Tool: r.Tool.Name,
		Error: r.Error}, Usage: r.Usage}
	if r.Error == nil {
		finalized.Result, finalized.Error = a.finalized(ctx, r)
	}
	if finalized.Error != nil {
		e := executor.ValidError(finalized.Error)
		finalized.Error = &e
	}
	a.remember(r.Origin, finalized.CallOutcome)
	return finalized, nil
}

// finalized checks an answer and makes the call's result from it.
func (a *Activities) finalized(ctx context.Context, r api.FinalizeResultRequest) (*api.Result,
	*api.Error) {
	compiled, err := a.specs.of(r.Tool)
	if err != nil {
		e := api.Errorf(api.ErrExecutorNotFound,
			"the pinned toolspec of %q cannot be used here: %v", r.Tool.Name, err)
		e.Phase = api.PhasePostExecution
		return nil, e
	}
	began := time.Now()
	output := r.Output
	if len(output) == 0 {
		output = outputOf(compiled, r.Answer)
	}
	result, failure := a.postExecute(ctx, compiled, executor.Answer{Output: output,
		Notes: slices.Clone(r.Notes)},
		unexecuted(ctx, r.Origin, r.Parent, r.Call, r.Tool, r.Arguments, r.Hooks))
	if failure != nil {
		return nil, failure
	}
	result.Slow = r.Took > compiled.Spec.Execution.SlowAfter
	result.ExecutionMicros, result.PostMicros = r.Took.Std().Microseconds(),
		time.Since(began).Microseconds()
	return &result, nil
}

// outputOf returns an answer as a JSON value; plain text becomes a JSON string. If the tool
// declares an output schema, it extracts the JSON from the text, with or without a code fence,
// unless only the text itself is valid.
func outputOf(compiled *toolspecs.Compiled, answer string) json.RawMessage {
	text, err := api.EncodeJSON(strings.ToValidUTF8(answer, "\uFFFD"))
	if err != nil || compiled.OutputSchema() == nil {
		return text
	}
	for _, candidate := range []string{answer, unfenced(answer)} {
		var value bytes.Buffer
		if json.Compact(&value, []byte(candidate)) != nil {
			continue
		}
		if len(compiled.CheckOutput(value.Bytes())) > 0 && len(compiled.CheckOutput(text)) == 0 {
			return text
		}
		return value.Bytes()
	}
	return text
}

const fence = "```"

// unfenced returns the text between the first and the last code fence.
func unfenced(text string) string {
	_, text, ok := strings.Cut(text, fence)
	end := strings.LastIndex(text, fence)
	if !ok || end < 0 {
		return ""
	}
	_, inner, ok := strings.Cut(text[:end], "\n") // after the name of the language
	if !ok {
		return text[:end]
	}
	return inner
}
