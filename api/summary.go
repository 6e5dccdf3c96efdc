package api

import (
	"encoding/json"
	"time"
)

// MaxCallStatsTools bounds the tools that CallStats lists.
const MaxCallStatsTools = 50

// CallStats summarises the calls of a run and of its sub-agents.
type CallStats struct {
	Calls int `json:"calls"`
	// SuccessRate is the share of calls that neither failed nor were refused, from 0 to 1.
	SuccessRate float64 `json:"success_rate"`
	// Tools are the tools that were called, the most used first, at most MaxCallStatsTools.
	Tools []PastCalls `json:"tools,omitempty"`
	// Others counts the calls of tools that are not listed: further tools, unknown tools, and those
	// of sub-agents whose calls are not known.
	Others int `json:"others,omitempty"`
}

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

// Checker is a tool that evaluates an agent's run when it ends.
type Checker struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object with the placeholders {{args.prompt}} and {{args.answer}} in its
	// strings; default {"prompt": "{{args.prompt}}", "answer": "{{args.answer}}"}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
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
