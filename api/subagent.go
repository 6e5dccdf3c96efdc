package api

import (
	"encoding/json"
	"strings"
)

// MaxDepth bounds the depth of sub-agents. A run that was not started by a call has depth 0.
const MaxDepth = 5

// Parent identifies the call for which a sub-agent's run works.
type Parent struct {
	WorkflowID string `json:"workflow_id"`
	// Run is the id of the first execution of the calling run's chain.
	Run string `json:"run_id"`
	// Call is the path of the call, such as "2.1", or "2.1/1.3" if its run works for another call.
	Call string `json:"call_id"`
	// Catalog is the digest of the calling run's pinned catalog.
	Catalog string `json:"catalog,omitempty"`
	// Depth is the depth of the sub-agent, from 1.
	Depth int `json:"depth"`
	// Fairness is the fairness key of the whole tree of runs.
	Fairness string `json:"fairness,omitempty"`
}

// CallPath returns the path of a call in its tree of runs: its id, after the path of the call that
// its run works for. parent is empty for a run at the top.
func CallPath(parent, id string) string {
	if parent == "" {
		return id
	}
	return parent + "/" + id
}

// ChildWorkflowID returns the workflow id of the sub-agent's run for a call of a run.
func ChildWorkflowID(workflowID, callID string) string { return workflowID + "/" + callID }

// ChildCallID is the inverse of ChildWorkflowID: the call of run workflowID that child works for;
// false if there is none.
func ChildCallID(workflowID, child string) (callID string, ok bool) {
	callID, ok = strings.CutPrefix(child, workflowID+"/")
	return callID, ok && callID != ""
}

// ChildRun identifies a sub-agent's run.
type ChildRun struct {
	WorkflowID string `json:"workflow_id"`
	// RunID is its first execution; empty until it has started.
	RunID string `json:"run_id,omitempty"`
}

// FinalizeResultRequest is the input of FinalizeResultActivity: the outcome of a call that no
// tool's activity executed, before the phase post_execution.
type FinalizeResultRequest struct {
	Call   string `json:"call_id"`
	Tool   Tool   `json:"tool"`
	Origin Origin `json:"origin"`
	// Answer is a text; if the tool declares an output schema, it has to be JSON.
	Answer string `json:"answer,omitempty"`
	// Output, if set, is the answer as a JSON value.
	Output json.RawMessage `json:"output,omitempty"`
	Notes  []string        `json:"notes,omitempty"`
	// Hooks are those that run after the call with these arguments. Parent is the path of the call
	// that the run works for.
	Hooks     []Hook          `json:"hooks,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	// Error is set if there is no answer.
	Error *Error   `json:"error,omitempty"`
	Took  Duration `json:"took,omitzero"`
	// Usage is what the call used of the run's budget.
	Usage Usage `json:"usage,omitzero"`
}

// FinalizedResult is the outcome of such a call, as recorded in history.
type FinalizedResult struct {
	CallOutcome
	Usage Usage `json:"usage,omitzero"`
}

// Add adds what a sub-agent used of the budget. Its turns are not added.
func (u *Usage) Add(sub Usage) {
	u.Calls += sub.Calls
	u.Failed += sub.Failed
	u.addTokens(sub)
}

// AddStep adds what a model step used.
func (u *Usage) AddStep(step Usage) {
	u.Turns++
	u.addTokens(step)
}

func (u *Usage) addTokens(other Usage) {
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
	u.CachedTokens += other.CachedTokens
	u.WrittenTokens += other.WrittenTokens
	u.Cost += other.Cost
}
