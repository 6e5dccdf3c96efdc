package api

import (
	"encoding/json"
	"strings"
)

// MaxDepth is how many sub-agents may work below each other. A run that no call started is at depth 0.
const MaxDepth = 5

// Parent says for which call of which run a sub-agent's run works.
type Parent struct {
	WorkflowID string `json:"workflow_id"`
	// Run is the id of the first execution of the calling run's chain.
	Run string `json:"run_id"`
	// Call is the call's path, such as "2.1", or "2.1/1.3" where its run works for another call.
	Call string `json:"call_id"`
	// Catalog is the digest of what the calling run is pinned to.
	Catalog string `json:"catalog,omitempty"`
	// Depth is the sub-agent's, from 1.
	Depth int `json:"depth"`
	// Fairness is the fairness key of the whole tree of runs, which is that of its top.
	Fairness string `json:"fairness,omitempty"`
	// Reserve has the run end its turns while what is left of its tokens and cost takes one more step and the answer that sums
	// up. Runs that an older version began do without.
	Reserve bool `json:"reserve,omitempty"`
}

// CallPath returns the path of a call in its whole tree of runs: its id, after the path of the call that its run works
// for. parent is empty for a run that works for none.
func CallPath(parent, id string) string {
	if parent == "" {
		return id
	}
	return parent + "/" + id
}

// ChildWorkflowID returns the workflow id of the sub-agent's run that works for a call of a run.
func ChildWorkflowID(workflowID, callID string) string { return workflowID + "/" + callID }

// ChildCallID is the inverse of ChildWorkflowID: the call of run workflowID that child works for; false if it works for
// none.
func ChildCallID(workflowID, child string) (callID string, ok bool) {
	callID, ok = strings.CutPrefix(child, workflowID+"/")
	return callID, ok && callID != ""
}

// ChildRun names a sub-agent's run.
type ChildRun struct {
	WorkflowID string `json:"workflow_id"`
	// RunID is its first execution; empty until it has started.
	RunID string `json:"run_id,omitempty"`
}

// SettleRequest is what became of a call that no tool's activity executed, before the phase post_execution. It is the
// input of SettleActivity.
type FinalizeResultRequest struct {
	Call   string `json:"call_id"`
	Tool   Tool   `json:"tool"`
	Origin Origin `json:"origin"`
	// Answer is a text; where the tool declares its output, the JSON that it holds.
	Answer string `json:"answer,omitempty"`
	// Output, where set, is the answer as a JSON value.
	Output json.RawMessage `json:"output,omitempty"`
	Notes  []string        `json:"notes,omitempty"`
	// Hooks are those that run after the call, which had these arguments; Parent is the path of the call that the run works for.
	Hooks     []Hook          `json:"hooks,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Parent    string          `json:"parent,omitempty"`
	// Error is set where there is no answer.
	Error *Error   `json:"error,omitempty"`
	Took  Duration `json:"took,omitzero"`
	// Usage is what the call took of the run's budget.
	Usage Usage `json:"usage,omitzero"`
}

// Settled is the end of such a call, as history records it.
type FinalizedResult struct {
	CallOutcome
	Usage Usage `json:"usage,omitzero"`
}

// Add adds to u what a sub-agent used of the budget; its turns are its own.
func (u *Usage) Add(sub Usage) {
	u.Calls += sub.Calls
	u.Failed += sub.Failed
	u.addTokens(sub)
}

// AddStep adds to u what a model step used.
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
