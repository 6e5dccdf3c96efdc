package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// RunEvaluation is a person's evaluation of a finished run.
type RunEvaluation struct {
	Solved bool `json:"solved"`
	// By identifies the person; Reason may be empty.
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
}

// EvaluatedResult is the evaluation of a run in the records of its calls.
type EvaluatedResult struct {
	// WorkflowID and RunID identify the run; RunID is the last execution of its chain.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id,omitempty"`
	// Evaluation is solved, failed or open.
	Evaluation string `json:"evaluation"`
	// EvaluatedBy is person, checker or end; By is the person's name or the checker's tool.
	EvaluatedBy string `json:"evaluated_by"`
	By          string `json:"by,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// maxEvaluationText bounds name and reason, in bytes.
const maxEvaluationText = 2000

// Check returns why the evaluation is invalid; nil if it is valid.
func (v RunEvaluation) Check() error {
	switch {
	case IsBlankIdentity(v.By):
		return fmt.Errorf("an evaluation needs the name of the person who gives it")
	case len(v.By) > maxEvaluationText || len(v.Reason) > maxEvaluationText:
		return fmt.Errorf("name and reason of an evaluation have at most %d bytes each",
			maxEvaluationText)
	}
	return nil
}

// Checker is a tool that evaluates an agent's run when it ends.
type Checker struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object with the placeholders {{args.prompt}} and {{args.answer}} in its
	// strings; default {"prompt": "{{args.prompt}}", "answer": "{{args.answer}}"}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// maxCheckArguments bounds the arguments of the checking call, in bytes: history has them twice.
const maxCheckArguments = 256 << 10

// checkCallID is the id of the checking call.
const checkCallID = "check"

// call returns tool and arguments as an Undo.
func (c Checker) call() Undo {
	u := Undo(c)
	if len(u.Arguments) == 0 {
		u.Arguments = json.RawMessage(`{"prompt": "{{args.prompt}}", "answer": "{{args.answer}}"}`)
	}
	return u
}

// CheckedRun is what a checker evaluates.
type CheckedRun struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
}

// Call returns the checking call. It fails if the arguments are malformed or too long.
func (c Checker) Call(run CheckedRun) (Call, error) {
	of, err := EncodeJSON(map[string]any{"prompt": run.Prompt, "answer": run.Answer})
	if err != nil {
		return Call{}, err
	}
	template, err := DecodeJSON(c.call().Arguments)
	if err != nil {
		return Call{}, err
	}
	filled, _, err := UndoSource{Arguments: of}.fill(template)
	if err != nil {
		return Call{}, err
	}
	arguments, err := EncodeJSON(filled)
	if err == nil && len(arguments) > maxCheckArguments {
		err = fmt.Errorf("prompt and answer are too long to check: the arguments of %s would have %d bytes; the maximum is %d",
			c.Tool, len(arguments), maxCheckArguments)
	}
	return Call{ID: checkCallID, Tool: c.Tool, Arguments: string(arguments),
		CallPurpose: CallPurpose{Purpose: PurposeCheck}}, err
}

// Problems calls report with the path, which starts with path, and the fault of each string with an
// invalid placeholder.
func (c Checker) Problems(path string, report func(path, fault string)) {
	err := c.call().Strings(path, func(at, text string) {
		if Stray(text) {
			report(at, "has double braces outside of a placeholder")
		}
		for _, p := range PlaceholdersIn(text) {
			if p.Source != UndoArguments || len(p.Path) != 1 || p.Path[0] != "prompt" &&
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

// Checked is the evaluation by a checker.
type Checked struct {
	Tool   string `json:"tool"`
	Solved bool   `json:"solved"`
	Reason string `json:"reason,omitempty"`
	// Problem says why there is no evaluation: the check failed, or its answer is unusable. Solved
	// is then meaningless.
	Problem string `json:"problem,omitempty"`
}

// maxCheckedText bounds the texts of a Checked, in characters.
const maxCheckedText = 1000

// Evaluate reads the answer of the checker.
func (c Checker) Evaluate(out CallOutcome) Checked {
	solved, reason, err := evaluated(out)
	if err != nil {
		return Checked{Tool: c.Tool, Problem: Shorten(err.Error(), maxCheckedText)}
	}
	return Checked{Tool: c.Tool, Solved: solved, Reason: Shorten(reason, maxCheckedText)}
}

func evaluated(out CallOutcome) (solved bool, reason string, err error) {
	switch {
	case out.Error != nil:
		return false, "", fmt.Errorf("the check failed: %w", out.Error)
	case out.Result == nil:
		return false, "", fmt.Errorf("the check gave no answer")
	case out.Result.Cut > 0:
		return false, "", fmt.Errorf("%d bytes of the answer of %s were cut", out.Result.Cut,
			out.Tool)
	}
	value, err := DecodeJSON(out.Result.Output)
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
