package api

import (
	"encoding/json"
	"strings"
)

// Agent is what an agent file declares.
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Instructions become the system message.
	Instructions string `json:"instructions,omitempty"`
	Model        Model  `json:"model"`
	// Tools names the tools the agent may call, or selects them; see SelectsTools. Empty means
	// none.
	Tools []string `json:"tools,omitempty"`
	// Search says whether its model searches for tools; default ToolSearchAuto.
	Search ToolSearch `json:"tool_search,omitempty"`
	Order  Order      `json:"order,omitempty"`
	Mode   Mode       `json:"mode,omitempty"`
	Limits Limits     `json:"limits,omitzero"`
	// Undo lists the ends of a run after which its calls are undone; default both.
	Undo  UndoWhen `json:"undo,omitempty"`
	Hooks Hooks    `json:"hooks,omitzero"`
	// Checker evaluates a finished run; nil for none.
	Checker *Checker `json:"checker,omitempty"`
	// Policies are rules for the calls of its runs and of the sub-agents below it, besides those of
	// the workers.
	Policies []PolicyRule `json:"policies,omitempty"`
}

// Provider is a way to reach a model.
type Provider string

const (
	// ProviderOpenAI uses OpenAI chat completions at OPENAI_BASE_URL with the worker's
	// OPENAI_API_KEY.
	ProviderOpenAI Provider = "openai"
	// ProviderAnthropic uses Anthropic messages at ANTHROPIC_BASE_URL with the worker's
	// ANTHROPIC_API_KEY.
	ProviderAnthropic Provider = "anthropic"
	// ProviderScripted plays a script, without a network.
	ProviderScripted Provider = "scripted"
)

// Model is the model of an agent and its settings.
type Model struct {
	Provider Provider `json:"provider"`
	Name     string   `json:"name,omitempty"`
	// Script is the script of the scripted provider. With another provider it is the fallback for a
	// worker without credentials; the choice is made at the start of the run and recorded.
	Script      *Packed[Script] `json:"script,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	// MaxTokens bounds one answer; zero leaves it to the provider.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Timeout bounds one attempt of a model step; default 2m.
	Timeout Duration `json:"timeout,omitzero"`
	// Lane is the lane of the model steps; default general. On the lane inline they are local
	// activities of the run.
	Lane string `json:"lane,omitempty"`
	// MaxAttempts bounds the attempts of one model step; default 5.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Price is the model's price; default is that of the worker's table of models, else zero.
	Price Price `json:"price,omitzero"`
	// ToolChoice is one of the Choice constants, or the name of a tool to call first; default auto.
	// A required choice applies until the model has made it.
	ToolChoice string `json:"tool_choice,omitempty"`
	// ParallelCalls, if false, asks the model for one call at a time.
	ParallelCalls *bool `json:"parallel_calls,omitempty"`
	// Window is the size of the model's window in tokens; zero leaves it to the worker's table of
	// models.
	Window int `json:"window,omitempty"`
	// CompactAt is the share of the window at which older turns are summarised; zero is
	// DefaultCompactAt.
	CompactAt float64 `json:"compact_at,omitempty"`
}

// How a model chooses among the tools.
const (
	ChoiceAuto     = "auto"
	ChoiceRequired = "required"
	ChoiceNone     = "none"
)

// Script is the script of the scripted model: one step per turn, in order. Texts and arguments may
// refer to results of earlier calls of the script, as in a plan: ${id} or ${id.field.0}.
type Script struct {
	Steps []ScriptStep `json:"steps"`
	// Summary is the answer at a limit; by default the last tool results are listed.
	Summary string `json:"summary,omitempty"`
	// Window is the length at which a conversation overflows the scripted model, in tokens, without
	// a warning in advance; zero is no limit.
	Window int `json:"window,omitempty"`
}

// ScriptStep is one answer of the scripted model: Calls, or the final Answer.
type ScriptStep struct {
	// Text accompanies the calls.
	Text   string       `json:"text,omitempty"`
	Calls  []ScriptCall `json:"calls,omitempty"`
	Answer string       `json:"answer,omitempty"`
	// Delay is how long the step takes. Its text is streamed in the meantime, as a live model's is.
	Delay Duration `json:"delay,omitzero"`
}

// ScriptCall is one call that a step asks for.
type ScriptCall struct {
	// ID lets later steps refer to the result; it may be empty.
	ID        string          `json:"id,omitempty"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsText is sent unchanged instead of Arguments, also if it is not JSON, for tests of
	// malformed calls.
	ArgumentsText string `json:"arguments_text,omitempty"`
	// Repeat makes the call that many times at once; zero is once.
	Repeat int `json:"repeat,omitempty"`
}

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
	// Policies is the digest of the calling run's pinned policies; empty for none.
	Policies string `json:"policies,omitempty"`
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

// ToolSearch says whether a model gets the tools of its agent, or FindTools to search for them.
type ToolSearch string

const (
	// ToolSearchAuto, the default, searches if the agent has more than SearchAbove tools.
	ToolSearchAuto ToolSearch = "auto"
	// ToolSearchAlways and ToolSearchNever do not depend on the number of tools.
	ToolSearchAlways ToolSearch = "always"
	ToolSearchNever  ToolSearch = "never"
)

// SearchAbove is the number of tools above which a model searches for tools by default.
const SearchAbove = 64

// FindTools is the tool with which a model searches for tools.
const FindTools = "find_tools"

// The other tools of a gateway's own: GetResult returns the result of a pending call, and CallTool
// calls a tool that FindTools found.
const (
	GetResult = "get_result"
	CallTool  = "call_tool"
)

// MaxOffered returns how many tools models of a provider accept; zero for no limit.
func (p Provider) MaxOffered() int {
	if p == ProviderOpenAI {
		return 128
	}
	return 0
}
