// Package checkers makes the call that evaluates the answer of an agent, and reads what it
// found.
package checkers

import (
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/core/undorules"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// maxArguments bounds the arguments of the checking call, in bytes: history has them twice.
const maxArguments = 256 << 10

// callID is the id of the checking call.
const callID = "check"

// arguments returns tool and arguments as an Undo.
func arguments(c api.Checker) api.Undo {
	u := api.Undo(c)
	if len(u.Arguments) == 0 {
		u.Arguments = json.RawMessage(`{"prompt": "{{args.prompt}}", "answer": "{{args.answer}}"}`)
	}
	return u
}

// Call returns the checking call. It fails if the arguments are malformed or too long.
func Call(c api.Checker, run Run) (api.Call, error) {
	of, err := jsonvalue.Encode(map[string]any{"prompt": run.Prompt, "answer": run.Answer})
	if err != nil {
		return api.Call{}, err
	}
	template, err := jsonvalue.Decode(arguments(c).Arguments)
	if err != nil {
		return api.Call{}, err
	}
	filled, _, err := placeholders.Source{Arguments: of}.Fill(template)
	if err != nil {
		return api.Call{}, err
	}
	arguments, err := jsonvalue.Encode(filled)
	if err == nil && len(arguments) > maxArguments {
		err = fmt.Errorf("prompt and answer are too long to check: the arguments of %s would have %d bytes; the maximum is %d",
			c.Tool, len(arguments), maxArguments)
	}
	return api.Call{ID: callID, Tool: c.Tool, Arguments: string(arguments),
		CallPurpose: api.CallPurpose{Purpose: api.PurposeCheck}}, err
}

// Problems calls report with the path, which starts with path, and the fault of each string with an
// invalid placeholder.
func Problems(c api.Checker, path string, report func(path, fault string)) {
	err := undorules.VisitStrings(arguments(c), path, func(at, text string) {
		if placeholders.HasStray(text) {
			report(at, "has double braces outside of a placeholder")
		}
		for _, p := range placeholders.Find(text) {
			if p.Source != placeholders.Arguments || len(p.Path) != 1 || p.Path[0] != "prompt" &&
				p.Path[0] != "answer" {
				report(at, p.Text+
					" is not a placeholder; placeholders are {{args.prompt}} and {{args.answer}}")
			}
		}
	})
	if err != nil {
		report(path, err.Error())
	}
}

// maxText bounds the texts of a Checked, in characters.
const maxText = 1000

// Evaluate reads the answer of the checker.
func Evaluate(c api.Checker, out api.CallOutcome) api.Checked {
	solved, reason, err := evaluate(out)
	if err != nil {
		return api.Checked{Tool: c.Tool, Problem: display.Shorten(err.Error(), maxText)}
	}
	return api.Checked{Tool: c.Tool, Solved: solved, Reason: display.Shorten(reason, maxText)}
}

func evaluate(out api.CallOutcome) (solved bool, reason string, err error) {
	switch {
	case out.Error != nil:
		return false, "", fmt.Errorf("the check failed: %w", out.Error)
	case out.Result == nil:
		return false, "", fmt.Errorf("the check gave no answer")
	case out.Result.Cut > 0:
		return false, "", fmt.Errorf("%d bytes of the answer of %s were cut", out.Result.Cut,
			out.Tool)
	}
	value, err := jsonvalue.Decode(out.Result.Output)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return false, "", fmt.Errorf("the answer of %s is not a JSON object", out.Tool)
	}
	if solved, ok = object["solved"].(bool); !ok {
		return false, "", fmt.Errorf("the answer of %s has neither true nor false at \"solved\"",
			out.Tool)
	}
	if reason, ok = object["reason"].(string); !ok && object["reason"] != nil {
		return false, "", fmt.Errorf("the answer of %s has no text at \"reason\"", out.Tool)
	}
	return solved, reason, nil
}

// Run is what a checker evaluates.
type Run struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
}
