package api

import "encoding/json"

// AdmissionRequest asks for decisions about calls that are ready to run together.
type AdmissionRequest struct {
	Calls []Call `json:"calls"`
	// Run is the id of the first execution of the run's chain.
	Run string `json:"run_id,omitempty"`
	// Base is the task queue of the run's workflow.
	Base   string `json:"base,omitempty"`
	Caller Caller `json:"caller,omitzero"`
	// Tools are the pinned tools that the calls name; any other tool is unknown.
	Tools []Tool `json:"tools"`
	// Known are the names of all tools of the run, for near names.
	Known []string `json:"known,omitempty"`
	// AnyTool says that the caller may call every tool of the catalog, as a direct call may.
	AnyTool bool `json:"any_tool,omitempty"`
	Mode    Mode `json:"mode,omitempty"`
	// Variables are the names of the run's variables, for tools that require some.
	Variables []string `json:"variables,omitempty"`
	// Allow is how many more calls the run's budget allows; nil is no limit.
	Allow *int `json:"allow,omitempty"`
	// Refuse, if set, is why all of the calls are refused, which the run knows: its history cannot
	// take them, their tools could not be pinned, or the answer with them was cut off.
	Refuse *Error `json:"refuse,omitempty"`
	// Depth is the run's depth; sub-agents are one deeper.
	Depth int `json:"depth,omitempty"`
	// Spent names the limit, tokens or cost, of which nothing is left for sub-agents; empty if
	// there is.
	Spent string `json:"spent,omitempty"`
	// Blocked are calls that failed in the same way so often that equal calls are refused.
	Blocked []Repeat `json:"blocked,omitempty"`
	// DryRun withholds calls whose tools may change anything.
	DryRun bool `json:"dry_run,omitempty"`
	// Hooks are those that run before the calls. Origin and Parent, which their calls share, are
	// set if there are any.
	Hooks  []Hook  `json:"hooks,omitempty"`
	Origin *Origin `json:"origin,omitempty"`
	Parent string  `json:"parent,omitempty"`
	// Policies are the rules of the run's agent and of its parent agents.
	Policies []PolicyRule `json:"policies,omitempty"`
	// PinnedPolicies are the rules for all runs that the run is pinned to.
	PinnedPolicies PinnedPolicies `json:"pinned_policies,omitzero"`
	// Facts are the facts of the run for policies.
	Facts RunFacts `json:"facts,omitzero"`
	// Final has calls refused whose ledger does not answer. Otherwise the decisions end before the
	// first of them, and the run asks again.
	Final bool `json:"final,omitempty"`
}

// AdmissionDecision is what admission decided about one call. It is recorded in history.
type AdmissionDecision struct {
	ID string `json:"call_id"`
	// Arguments are the validated arguments if they differ from the caller's (defaults, coercions).
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Notes say what was dropped, coerced or should be known (a deprecated tool).
	Notes []string `json:"notes,omitempty"`
	// Tokens estimates the size of the arguments for a model.
	Tokens int `json:"tokens,omitempty"`
	// ExpectedTokens is the usual size of the result according to the toolspec; zero if unknown.
	ExpectedTokens int `json:"expected_tokens,omitempty"`
	// Question is the question to a person, for a call of a human tool, with sensitive arguments
	// redacted.
	Question string `json:"question,omitempty"`
	// Prompt is the prompt of a sub-agent: the tool's template, filled in.
	Prompt string `json:"prompt,omitempty"`
	// Claim is how many further calls of the run's budget the call claims: one for a sub-agent with
	// tools.
	Claim int `json:"claim,omitempty"`
	// Route is where the call goes.
	Route Route `json:"route,omitzero"`
	// Hooks are the effects of hooks before the call.
	Hooks []HookAction `json:"hooks,omitempty"`
	// Plan is the execution plan of the call; Arguments are without it.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Policies are the effects of the rules that matched.
	Policies []PolicyAction `json:"policies,omitempty"`
	// Labels are the labels the run had collected by then, if a rule matched.
	Labels []string `json:"labels,omitempty"`
	// Sources are the sources of values that rules asked about.
	Sources []ValueSources `json:"sources,omitempty"`
	// Reserved is set if ledgers count the call for rules about time.
	Reserved *Reservation `json:"reserved,omitempty"`
	// Approval is set if a person has to approve the call before it runs.
	Approval *ApprovalNeed `json:"approval,omitempty"`
	// Batch is the id of the first call of the batch, which may be this one; empty without
	// batching.
	Batch string `json:"batch,omitempty"`
	// Result is set if a hook or a dry run answers the call instead of the tool, which must not
	// run.
	Result *Result `json:"result,omitempty"`
	// DryRun says that Result is a WithheldEffect.
	DryRun bool `json:"dry_run,omitempty"`
	// Error is set if the call must not run.
	Error *Error `json:"error,omitempty"`
	// Pinned are the rules of the worker that decided, if the run was pinned to none before. The
	// run is pinned to them from then on. Only the first decision has them.
	Pinned *Packed[PinnedPolicies] `json:"pinned,omitempty"`
	// CallPurpose and Tool are those of a call with a purpose: no earlier event of the history
	// names them.
	CallPurpose
	Tool string `json:"tool,omitempty"`
}

// EditRequest is the input of AdmitEditActivity, which admits a waiting call again with edited
// arguments.
type EditRequest struct {
	// Admit has the one call, with its present arguments.
	Admit AdmissionRequest `json:"admit"`
	// Decision is the edit.
	Decision Decision `json:"decision"`
}
