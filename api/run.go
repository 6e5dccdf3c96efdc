package api

import (
	"cmp"
	"encoding/json"
	"time"
)

// RunInput is the input of every kind of run: the workflow's type says whether Agent, Plan or Call is set. An agent run
// may have a second input: the conversation before the prompt, without the agent's instructions, by EncodeMessages.
type RunInput struct {
	Agent *Agent        `json:"agent,omitempty"`
	Plan  *Packed[Plan] `json:"plan,omitempty"`
	Call  *Call         `json:"call,omitempty"`
	// Prompt is the user's message that an agent run starts with.
	Prompt string `json:"prompt,omitempty"`
	// Conversation ties runs together; empty makes the run its own conversation.
	Conversation string `json:"conversation,omitempty"`
	// Continue has an agent run go on where the last run of its conversation ended: it begins with that run's messages, in
	// place of a second input. Such a run has the conversation as its workflow id, so that the server refuses two at once.
	Continue  bool           `json:"continue,omitempty"`
	Caller    Caller         `json:"caller,omitzero"`
	Trace     string         `json:"trace,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	// Mode overrides how strictly the arguments of all calls are read.
	Mode Mode `json:"mode,omitempty"`
	// Priority is that of the run's steps and calls, and of its sub-agents'; empty leaves calls to their tools.
	Priority Priority `json:"priority,omitempty"`
	// DryRun withholds the calls, also those of its sub-agents, whose tools may change anything: they are answered with what
	// they would have done.
	DryRun bool `json:"dry_run,omitempty"`
	// FromDryRun is set for the run of a plan that makes the calls that a dry run withheld.
	FromDryRun *FromDryRun `json:"from_dry_run,omitempty"`
	// Parent is set for a sub-agent's run.
	Parent *Parent `json:"parent,omitempty"`
	// Policies are, of a sub-agent's run, the rules of the agents above it: its calls are checked against those too. Labels
	// are those that the run above had seen.
	Policies []PolicyRule `json:"policies,omitempty"`
	Labels   []string     `json:"labels,omitempty"`
	// Attributes names the search attributes that the run itself keeps, from AttributeWaiting on: those that the namespace has, with
	// their types. A run that sets one that is not registered can do nothing any more.
	Attributes []string `json:"attributes,omitempty"`
	// Carry is set by the run itself when it continues as new.
	State *ContinueState `json:"continue_state,omitempty"`
}

// Carry is the state of an agent run that crosses continue-as-new; the conversation, from its first message on, is the
// run's second input.
type ContinueState struct {
	Run     string    `json:"run_id"`
	Started time.Time `json:"started"`
	Turn    int       `json:"turn"`
	// Before is how many turns the earlier runs of the conversation took.
	Before int            `json:"before,omitempty"`
	Usage  Usage          `json:"usage"`
	Pinned Packed[Pinned] `json:"pinned"`
	// Window is how full the model's window is, where the run knows its size or has compacted the conversation.
	Window *Window `json:"window,omitempty"`
	// Repeats are the failures that the run has seen again and again.
	Repeats *Repeats `json:"repeats,omitempty"`
	// Prompt is the beginning of the one that the run started with, for hooks after the run; empty where the agent has neither hooks nor a checker.
	Prompt string `json:"prompt,omitempty"`
	// Instances are those of stateful tools that the run has or had.
	Instances []InstanceState `json:"instances,omitempty"`
	// Undo are the calls that undo what the run has done so far, in the order in which that was done.
	Undo *Packed[[]Call] `json:"undo,omitempty"`
	// Sent are the ids of the messages that the run was sent last, so that none of them is taken twice. The messages
	// themselves are part of the conversation.
	Sent []string `json:"sent,omitempty"`
	// Paused is set where the run is paused.
	Paused *Pause `json:"paused,omitempty"`
	// Labels are those that the run has seen, Calls what it has done, by tool.
	Labels []string    `json:"labels,omitempty"`
	Calls  []PastCalls `json:"calls,omitempty"`
	// Below are the calls of its sub-agents, by tool.
	DescendantCalls []PastCalls `json:"descendant_calls,omitempty"`
	// Limits are the run's where a person was asked for more than its agent declares, Grants counts how often one was.
	Limits *Limits `json:"limits,omitempty"`
	Grants int     `json:"grants,omitempty"`
}

// Window is what a run knows of its model's window.
type Window struct {
	// Size is the window's, Tokens about what the conversation takes of it, both in tokens; zero is unknown.
	Size   int `json:"size,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Compactions counts the model steps that summed up.
	Compactions int `json:"compactions,omitempty"`
	// Task is the index of the message with what the run is to do, where that is not the first of a user.
	Task int `json:"task,omitempty"`
}

// Repeats counts failures that lead nowhere.
type Repeats struct {
	// Calls are those that failed and are held against the model, the oldest first.
	Calls []Repeat `json:"calls,omitempty"`
	// Refused is how many turns in a row consisted of nothing but calls that could not be made at all.
	Refused int `json:"refused,omitempty"`
	// Told is set once the model was told that it repeats itself, with no success since.
	Told bool `json:"told,omitempty"`
	// Changed are digests of calls that have changed something since there are Calls. One of them once more is no news.
	Changed []string `json:"changed,omitempty"`
}

// Repeat counts equal calls that failed in the same way.
type Repeat struct {
	// Key is a digest of tool, arguments and the error's type, Call one of tool and arguments.
	Key  string `json:"key"`
	Call string `json:"call,omitempty"`
	// Count is how often since the last success of any call, All since the call itself succeeded or something changed.
	Count int `json:"count"`
	All   int `json:"all,omitempty"`
	// Told is set once the model was told of this one.
	Told bool `json:"told,omitempty"`
}

// Agent is what an agent file declares.
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Instructions become the system message.
	Instructions string `json:"instructions,omitempty"`
	Model        Model  `json:"model"`
	// Tools names the tools the agent may call; empty means none.
	Tools  []string `json:"tools,omitempty"`
	Order  Order    `json:"order,omitempty"`
	Mode   Mode     `json:"mode,omitempty"`
	Limits Limits   `json:"limits,omitzero"`
	// Undo says at which ends of a run its calls are undone; default both.
	Undo  UndoWhen `json:"undo,omitempty"`
	Hooks Hooks    `json:"hooks,omitzero"`
	// Checker says at the end of a run whether it did what it was for; nil for none.
	Checker *Checker `json:"checker,omitempty"`
	// Policies are the rules that the calls of its runs are checked against, beside those of the workers; and so are the calls
	// of the sub-agents below it.
	Policies []PolicyRule `json:"policies,omitempty"`
}

// Provider names a way to reach a model.
type Provider string

const (
	// ProviderOpenAI speaks OpenAI's chat completions, to OPENAI_BASE_URL with OPENAI_API_KEY of the worker.
	ProviderOpenAI Provider = "openai"
	// ProviderAnthropic speaks Anthropic's messages, to ANTHROPIC_BASE_URL with ANTHROPIC_API_KEY of the worker.
	ProviderAnthropic Provider = "anthropic"
	// ProviderScripted plays a script: no network, the same answers every time.
	ProviderScripted Provider = "scripted"
)

// Model says which model an agent uses, and how.
type Model struct {
	Provider Provider `json:"provider"`
	Name     string   `json:"name,omitempty"`
	// Script is what the scripted provider plays. With another provider it is the fallback for a worker that has no
	// credentials for it; the choice is made once, at the start of the run, and recorded.
	Script      *Packed[Script] `json:"script,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	// MaxTokens bounds one answer; zero leaves it to the provider.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Timeout bounds one attempt of a model step; default 2m.
	Timeout Duration `json:"timeout,omitzero"`
	// Lane is the lane of the model steps; default general. On the lane inline they run within the run's workflow tasks.
	Lane string `json:"lane,omitempty"`
	// MaxAttempts bounds the attempts of one model step; default 5.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Price is what the model costs; default is what the worker's table of models says, else nothing.
	Price Price `json:"price,omitzero"`
	// ToolChoice is one of the Choice… constants, or the name of a tool of the agent that has to be called; default auto.
	// What is required is so until the model has done it; after that it chooses.
	ToolChoice string `json:"tool_choice,omitempty"`
	// ParallelCalls, where it is false, asks the model for one call at a time.
	ParallelCalls *bool `json:"parallel_calls,omitempty"`
	// Window is how many tokens the model reads at most; zero leaves it to what the workers know of the model.
	Window int `json:"window,omitempty"`
	// CompactAt is the part of the window from which on older turns are summed up; zero is DefaultCompactAt.
	CompactAt float64 `json:"compact_at,omitempty"`
}

// How a model chooses among the tools.
const (
	ChoiceAuto     = "auto"
	ChoiceRequired = "required"
	ChoiceNone     = "none"
)

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
	// CachedInput is for input that the provider had in its cache, CacheWrite for what it put there; zero is Input.
	CachedInput float64 `json:"cached_input,omitempty"`
	CacheWrite  float64 `json:"cache_write,omitempty"`
}

// Cost returns what a model's use costs, in US dollars.
func (p Price) Cost(u Usage) float64 {
	plain := u.InputTokens - u.CachedTokens - u.WrittenTokens
	return (float64(plain)*p.Input + float64(u.CachedTokens)*cmp.Or(p.CachedInput, p.Input) +
		float64(u.WrittenTokens)*cmp.Or(p.CacheWrite, p.Input) + float64(u.OutputTokens)*p.Output) / 1e6
}

// MaxPayload is how many bytes of JSON one input or result may take. Servers refuse 2 MiB, and a workflow whose own
// payload is refused can do nothing any more.
const MaxPayload = 3 << 19

// DefaultModelTimeout bounds one attempt of a model step where the agent names no timeout.
const DefaultModelTimeout = Duration(2 * time.Minute)

// Usage counts what a run used.
type Usage struct {
	// Turns counts model steps; a summary step is one of them.
	Turns        int `json:"turns,omitempty"`
	Calls        int `json:"calls,omitempty"`
	Failed       int `json:"failed,omitempty"`
	InputTokens  int `json:"input_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	// CachedTokens and WrittenTokens are those of the input that the provider had in its cache, and that it put there.
	CachedTokens  int     `json:"cached_tokens,omitempty"`
	WrittenTokens int     `json:"written_tokens,omitempty"`
	Cost          float64 `json:"cost,omitempty"`
}

// Pinned is what a run fixes at its start and records: from here on no reload and no deploy changes it.
type Pinned struct {
	Catalog  Catalog  `json:"catalog"`
	Provider Provider `json:"provider,omitempty"`
	// Model is where the model's steps go and by which rules, as their lane is configured when the run starts.
	Model Route `json:"model,omitzero"`
	// Below are the tools that the run may need besides its own: those of the sub-agents below it, however deep, and those
	// that undo or verify calls.
	DescendantTools []Tool `json:"descendant_tools,omitempty"`
	// Problems, if any, are reasons why the run cannot start.
	Problems []Problem `json:"problems,omitempty"`
}

// Find returns the tool of that name, the run's own or one that it may need besides, and whether there is one.
func (p Pinned) Find(name string) (Tool, bool) {
	if t, ok := p.Catalog.Find(name); ok {
		return t, true
	}
	return Catalog{Tools: p.DescendantTools}.Find(name)
}

// Setup is the answer to SetupQuery: what a worker needs to know of a run besides its conversation.
type Setup struct {
	Agent  *Agent         `json:"agent,omitempty"`
	Pinned Packed[Pinned] `json:"pinned"`
}

// PinRequest asks for a run's tools to be pinned.
type PinRequest struct {
	Run string `json:"run_id"`
	// Parent is set for a sub-agent's run.
	Parent *Parent  `json:"parent,omitempty"`
	Agent  *Agent   `json:"agent,omitempty"`
	Plan   *Plan    `json:"plan,omitempty"`
	Tools  []string `json:"tools"`
	// Messages is the conversation so far where it is small: the process keeps it for the first model step.
	Messages []Message `json:"messages,omitempty"`
}

// AdmitRequest asks for verdicts on calls that are ready to run together.
type AdmissionRequest struct {
	Calls []Call `json:"calls"`
	// Run is the id of the first execution of the run's chain.
	Run string `json:"run_id,omitempty"`
	// Base is the task queue of the run's workflow; empty, as in runs begun by older versions, for calls without a Route.
	Base   string `json:"base,omitempty"`
	Caller Caller `json:"caller,omitzero"`
	// Tools are the pinned tools that the calls name; a call of a tool that is not among them is unknown.
	Tools []Tool `json:"tools"`
	// Known are the names of all tools of the run, for near names.
	Known []string `json:"known,omitempty"`
	// AnyTool says that the caller may call whatever the catalog has, as a direct call may: near names come from there.
	AnyTool bool `json:"any_tool,omitempty"`
	Mode    Mode `json:"mode,omitempty"`
	// Variables are the names of the run's variables, for tools that require some.
	Variables []string `json:"variables,omitempty"`
	// Allow is how many more calls the run's budget allows; nil is no limit.
	Allow *int `json:"allow,omitempty"`
	// Full, where set, says why the run's history has no room for the calls: all of them are refused.
	Full string `json:"full,omitempty"`
	// Depth is the run's own; sub-agents stand one below it.
	Depth int `json:"depth,omitempty"`
	// Spent names the limit, tokens or cost, of which nothing is left for sub-agents; empty where there is.
	Spent string `json:"spent,omitempty"`
	// Blocked are calls that failed in the same way so often that equal ones are refused.
	Blocked []Repeat `json:"blocked,omitempty"`
	// DryRun withholds calls whose tools may change anything.
	DryRun bool `json:"dry_run,omitempty"`
	// Hooks are those that run before the calls; Origin and Parent, what their calls have in common, are set where there are
	// some.
	Hooks  []Hook  `json:"hooks,omitempty"`
	Origin *Origin `json:"origin,omitempty"`
	Parent string  `json:"parent,omitempty"`
	// Policies are the rules of the run's agent, and of those above it.
	Policies []PolicyRule `json:"policies,omitempty"`
	// Facts are what policies can know of the run.
	Facts RunFacts `json:"facts,omitzero"`
}

// ModelRequest is the input of a model step. It says which conversation to answer without containing it.
type ModelRequest struct {
	Run  string `json:"run_id"`
	Turn int    `json:"turn"`
	// Before is how many of the turns belong to earlier runs of the conversation.
	Before int `json:"before,omitempty"`
	// Chain is the digest of the first Seen messages, New the digests of those after them.
	Chain string   `json:"chain,omitempty"`
	Seen  int      `json:"seen,omitempty"`
	New   []string `json:"new,omitempty"`
	// Catalog is the digest of the run's pinned catalog.
	Catalog string `json:"catalog,omitempty"`
	// Limit, where set, names the limit that was reached: the step answers without tools.
	Limit string `json:"limit,omitempty"`
	// Compact, where set, has the step sum up a part of the conversation in place of answering it.
	Compact *Compaction `json:"compact,omitempty"`
	// Inline is set for a step that runs inline. Such a step's input is not encoded.
	Inline *InlineStep `json:"-"`
}

// ModelResponse is the answer of a model step.
type ModelResponse struct {
	// Message is the assistant's; without calls it is the final answer.
	Message Message `json:"message"`
	// Stop is why the model stopped: stop, tool_calls, length, refusal, content_filter.
	Stop  Stop   `json:"stop,omitempty"`
	Model string `json:"model,omitempty"`
	Usage Usage  `json:"usage"`
	// Estimated is how many tokens our own tokenizer counts of the request and the answer, where Usage is the provider's count; zero
	// where it is ours, and where images were sent.
	Estimated int `json:"estimated,omitempty"`
	// Window is how many tokens the model reads at most, where that is known.
	Window int `json:"window,omitempty"`
	// Compacted is set on the answer to a Compaction. Message is then what stands for the messages that were summed up.
	Compacted *Compacted `json:"compacted,omitempty"`
	// Verdicts are those of the message's first calls, where an inline step has admitted them; all others are to come.
	Decisions []AdmissionDecision `json:"decisions,omitempty"`
}

// Stop is why a model stopped.
type Stop string

// The reasons a model stops for.
const (
	StopAnswer  Stop = "stop"
	StopCalls   Stop = "tool_calls"
	StopLength  Stop = "length"
	StopRefusal Stop = "refusal"
)

// Outcome is how a run that did not fail ended.
type Outcome string

const (
	// OutcomeAnswered: the agent gave its answer.
	OutcomeAnswered Outcome = "answered"
	// OutcomeCompleted: every call of a plan or a direct call ran.
	OutcomeCompleted Outcome = "completed"
	// OutcomeLimit: a limit was reached and the answer sums up what was known.
	OutcomeLimit Outcome = "limit_reached"
	// OutcomeFailed: calls of a plan or a direct call failed.
	OutcomeFailed Outcome = "failed"
	// OutcomeCancelled: the run was cancelled. Only hooks are told this; such a run has no result.
	OutcomeCancelled Outcome = "cancelled"
)

// RunResult is what a run returns.
type RunResult struct {
	Outcome Outcome `json:"outcome"`
	Answer  string  `json:"answer,omitempty"`
	// Stop is length where the model was cut off in its answer.
	Stop Stop `json:"stop,omitempty"`
	// Limit is the limit that was reached: turns, calls, tokens, cost, wall_time, repeats, or conversation (it is too long
	// for the model, or to be carried on, and cannot be made shorter).
	Limit string `json:"limit,omitempty"`
	// Output is a plan's or a direct call's result.
	Output json.RawMessage `json:"output,omitempty"`
	// Failures are the failed calls of a plan or a direct call.
	Failures []CallOutcome `json:"failures,omitempty"`
	Usage    Usage         `json:"usage"`
	// Undone tells, of a run that failed or was cancelled, what became of the undoing of its calls, in the order in which
	// they were undone.
	Undone []Undone `json:"undone,omitempty"`
	// Undo are, of a sub-agent's run that completed, the calls that undo what it did: its caller makes them if it has to.
	Undo *Packed[[]Call] `json:"undo,omitempty"`
	// Labels are those that the run has seen, sorted.
	Labels []string `json:"labels,omitempty"`
	// Checked is what the agent's checker said of the run; nil where it was not asked.
	Checked *Checked `json:"checked,omitempty"`
	// Brief tells of the run's calls; nil where it made none.
	CallStats *CallStats `json:"call_stats,omitempty"`
}
