package results

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// checkOutput validates an answer against the tool's declared output. If the tool tolerates invalid
// output, it adds a note instead of returning an error.
func checkOutput(compiled *toolspecs.Compiled, answer executor.Answer) (executor.Answer,
	*api.Error) {
	problems := compiled.CheckOutput(answer.Output)
	if len(problems) == 0 {
		return answer, nil
	}
	if compiled.Spec.Execution.OnInvalidOutput != "warn" {
		e := api.Errorf(api.ErrInvalidOutput, "the answer of %s does not have the declared form",
			compiled.Spec.Name)
		e.Problems, e.Phase = problems, api.PhasePostExecution
		return executor.Answer{}, e
	}
	answer.Notes = append(answer.Notes, "invalid output: "+problems[0].String())
	return answer, nil
}

// Bound makes an answer a result: it truncates the answer, stores the whole of it if storage is
// configured, and counts its tokens.
func (p *Processor) Bound(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer) api.Result {
	spec := compiled.Spec
	result := api.Result{Output: answer.Output, Notes: answer.Notes}
	result.Output, result.Cut = executor.Truncate(answer.Output, spec.Execution.MaxResult)
	if result.Cut > 0 {
		whole := len(jsonvalue.Plain(answer.Output))
		note := fmt.Sprintf("cut to %d of %d bytes, the limit of %s; ask it for less at a time",
			whole-result.Cut, whole, spec.Name)
		result.Whole, note = p.keepWhole(ctx, answer.Output, note)
		result.Notes = append(result.Notes, note)
	}
	result.Tokens = tokens.Count(result.ForModel())
	return result
}

// keepWhole stores an output of which the run holds a part, and adds its reference to the note. A
// failure to store it does not fail the call.
func (p *Processor) keepWhole(ctx context.Context, output json.RawMessage, note string) (reference,
	noted string) {
	if p.config.Keep == nil {
		return "", note
	}
	reference, err := p.config.Keep(ctx, output)
	if err != nil {
		return "", note + "; the whole output could not be stored: " + err.Error()
	}
	return reference, note + "; to read the whole output: starter payload " + reference
}

// FitInline truncates the result of an inline call whose text is short but whose JSON is not: JSON
// encodes some characters as six bytes.
func FitInline(r api.Result) api.Result {
	const longest = (api.MaxInlineRecord - 2) / 6 // without the quotes
	if len(r.Output) <= longest {
		return r
	}
	if data, err := json.Marshal(r.Output); err == nil && len(data) <= api.MaxInlineRecord {
		return r
	}
	output, cut := executor.Truncate(r.Output, longest)
	r.Output, r.Cut = output, r.Cut+cut
	r.Notes = append(r.Notes, fmt.Sprintf(
		"cut by %d bytes: what runs inline may take %d bytes in history", cut, api.MaxInlineRecord))
	r.Tokens = tokens.Count(r.ForModel())
	return r
}

// OutputFromAnswer returns an answer as a JSON value; plain text becomes a JSON string. If the tool
// declares an output schema, it extracts the JSON from the text, with or without a code fence,
// unless only the text itself is valid.
func OutputFromAnswer(compiled *toolspecs.Compiled, answer string) json.RawMessage {
	text, err := jsonvalue.Encode(strings.ToValidUTF8(answer, "\uFFFD"))
	if err != nil || compiled.OutputSchema() == nil {
		return text
	}
	for _, candidate := range []string{answer, stripFence(answer)} {
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

// stripFence returns the text between the first and the last code fence.
func stripFence(text string) string {
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
