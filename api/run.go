package api

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// RunInput is the input of every kind of run; the workflow type says whether Agent, Plan, Call or
// Session is set. An agent run may have a second input, by EncodeMessages: the conversation before
// the prompt, without the agent's instructions.
type RunInput struct {
	Agent *Agent        `json:"agent,omitempty"`
	Plan  *Packed[Plan] `json:"plan,omitempty"`
	Call  *Call         `json:"call,omitempty"`
	// Session is set for a session run, whose calls arrive as updates.
	Session *Session `json:"session,omitempty"`
	// Prompt is the user's message that starts an agent run.
	Prompt string `json:"prompt,omitempty"`
	// Conversation groups runs; empty makes the run its own conversation.
	Conversation string `json:"conversation,omitempty"`
	// Continue has an agent run start with the messages of the last run of its conversation,
	// instead of a second input. Its workflow id is the conversation, so that the server refuses
	// two runs at once.
	Continue bool `json:"continue,omitempty"`
	// LastRun is the last run of the conversation that is to be continued, as whoever starts the
	// run has just found it; nil if that was not looked up. The run then finds it in the server's
	// list of runs.
	LastRun   *LastRun       `json:"last_run,omitempty"`
	Caller    Caller         `json:"caller,omitzero"`
	Trace     string         `json:"trace,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
	// Mode overrides how strictly the arguments of all calls are validated.
	Mode Mode `json:"mode,omitempty"`
	// Priority is that of the run's steps and calls, and of its sub-agents; empty leaves it to the
	// tools.
	Priority Priority `json:"priority,omitempty"`
	// DryRun withholds calls, also of sub-agents, whose tools may change something, and answers
	// them with a WithheldEffect.
	DryRun bool `json:"dry_run,omitempty"`
	// Beginning is set for an agent run that goes on from turns that another run took. The feature
	// that starts it opens it with their messages.
	Beginning *Beginning `json:"beginning,omitempty"`
	// Features has what the features of the run need to know of it, by their names.
	Features Features `json:"features,omitempty"`
	// Parent is set for the run of a sub-agent or of a plan tool. Limits are what a plan tool's run
	// may use of its caller's budget; nil for no limit.
	Parent *Parent `json:"parent,omitempty"`
	Limits *Limits `json:"limits,omitempty"`
	// Policies of a sub-agent's run are the rules of the agents above it, which apply to its calls
	// too. Labels are those of the run above.
	Policies []PolicyRule `json:"policies,omitempty"`
	Labels   []string     `json:"labels,omitempty"`
	// Statements of a sub-agent's run are what people wrote to the run at the top, where rules read
	// it.
	Statements []*Statement `json:"statements,omitempty"`
	// Attributes names the search attributes that the run sets, from AttributeWaiting on, with
	// their types: those that the namespace has. Setting an unregistered attribute would block the
	// run.
	Attributes []string `json:"attributes,omitempty"`
	// State is set by the run when it continues as new.
	State *ContinueState `json:"continue_state,omitempty"`
}

// Beginning is where a run begins that goes on from turns of another run.
type Beginning struct {
	// Turn is the last of those turns, Before the number of turns that belong to earlier runs of
	// their conversation.
	Turn   int `json:"turn,omitempty"`
	Before int `json:"before,omitempty"`
	// Calls are those of the last turn that the run makes first.
	Calls []Call `json:"calls,omitempty"`
	// Prompt is the beginning of the prompt that led to the turns, for hooks and lists.
	Prompt string `json:"prompt,omitempty"`
}

// Features has values of features by their names.
type Features map[string]json.RawMessage

// ContinueState is the state of an agent or session run that crosses continue-as-new. The
// conversation of an agent run, from its first message on, is the run's second input.
type ContinueState struct {
	Run     string    `json:"run_id"`
	Started time.Time `json:"started"`
	Turn    int       `json:"turn"`
	// Before is how many turns the earlier runs of the conversation took.
	Before int            `json:"before,omitempty"`
	Usage  Usage          `json:"usage"`
	Pinned Packed[Pinned] `json:"pinned"`
	// Window describes the model's window, if its size is known or the conversation was compacted.
	Window *Window `json:"window,omitempty"`
	// Repeats are the repeated failures of the run.
	Repeats *Repeats `json:"repeats,omitempty"`
	// Prompt is the beginning of the run's prompt, for hooks after the run; empty if the agent has
	// neither hooks nor a checker.
	Prompt string `json:"prompt,omitempty"`
	// Instances are those of stateful tools that the run has or had.
	Instances []InstanceState `json:"instances,omitempty"`
	// Undo are the calls that undo what the run has done so far, in the order in which it was done.
	Undo *Packed[[]Call] `json:"undo,omitempty"`
	// Sent are the ids of the newest messages sent to the run, so that none is accepted twice. The
	// messages are part of the conversation.
	Sent []string `json:"sent,omitempty"`
	// Paused is set if the run is paused.
	Paused *Pause `json:"paused,omitempty"`
	// Labels are the labels the run has collected, Calls its calls by tool.
	Labels []string    `json:"labels,omitempty"`
	Calls  []PastCalls `json:"calls,omitempty"`
	// Earlier are its newest calls and Statements what people wrote, where rules read them.
	Earlier    *Packed[[]*EarlierCall] `json:"earlier,omitempty"`
	Statements []*Statement            `json:"statements,omitempty"`
	// DescendantCalls are the calls of its sub-agents, by tool.
	DescendantCalls []PastCalls `json:"descendant_calls,omitempty"`
	// Limits are the run's limits if a person granted more than the agent declares; Grants counts
	// the questions.
	Limits *Limits `json:"limits,omitempty"`
	Grants int     `json:"grants,omitempty"`
	// Features has the state of the run's features, by their names.
	Features Features `json:"features,omitempty"`
	// Session is set for a session run.
	Session *SessionState `json:"session,omitempty"`
}

// Window describes the model's window.
type Window struct {
	// Size is its size and Tokens the approximate length of the conversation, both in tokens; zero
	// is unknown.
	Size   int `json:"size,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Compactions counts the summarising model steps.
	Compactions int `json:"compactions,omitempty"`
	// Task is the index of the message with the task, if that is not the first user message.
	Task int `json:"task,omitempty"`
}

// Repeats counts failures without progress.
type Repeats struct {
	// Calls are the failed calls that are counted, the oldest first.
	Calls []Repeat `json:"calls,omitempty"`
	// Refused is how many turns in a row had only calls that were refused.
	Refused int `json:"refused,omitempty"`
	// Told is set once the model was warned, with no success since.
	Told bool `json:"told,omitempty"`
	// Changed are digests of calls that changed something since Calls started. Repeating one of
	// them is no progress.
	Changed []string `json:"changed,omitempty"`
}

// Repeat counts equal calls that failed in the same way.
type Repeat struct {
	// Key is a digest of tool, arguments and the error's type, Call one of tool and arguments.
	Key  string `json:"key"`
	Call string `json:"call,omitempty"`
	// Count counts since the last success of any call, All since the call itself succeeded or
	// something changed.
	Count int `json:"count"`
	All   int `json:"all,omitempty"`
	// Told is set once the model was warned about this one.
	Told bool `json:"told,omitempty"`
}

// MaxPayload bounds the JSON of one input or result, in bytes. Servers reject 2 MiB, and a workflow
// whose payload is rejected is stuck.
const MaxPayload = 3 << 19

// DefaultModelTimeout is the default timeout of one attempt of a model step.
const DefaultModelTimeout = Duration(2 * time.Minute)

// Pinned is what a run fixes and records at its start. No reload or deploy changes it.
type Pinned struct {
	Catalog  Catalog  `json:"catalog"`
	Provider Provider `json:"provider,omitempty"`
	// Model is the route of the model's steps, as their lane is configured when the run starts.
	Model Route `json:"model,omitzero"`
	// DescendantTools are further tools that the run may need: those of the sub-agents below it, at
	// any depth, and those that undo or verify calls.
	DescendantTools []Tool `json:"descendant_tools,omitempty"`
	// Policies are the rules for all runs, as the worker that pinned the run had them, or the first
	// worker with rules that admitted calls of the run. Every worker that admits the run's calls
	// applies them.
	Policies PinnedPolicies `json:"policies,omitzero"`
	// Problems, if any, say why the run cannot start.
	Problems []Problem `json:"problems,omitempty"`
}

// Find returns the tool of that name, the run's own or a descendant's, and whether there is one.
func (p Pinned) Find(name string) (Tool, bool) {
	if t, ok := p.Catalog.Find(name); ok {
		return t, true
	}
	return Catalog{Tools: p.DescendantTools}.Find(name)
}

// Setup is the result of SetupQuery: what a worker needs to know of a run besides its conversation.
type Setup struct {
	Agent  *Agent         `json:"agent,omitempty"`
	Pinned Packed[Pinned] `json:"pinned"`
	// Grows says that the run pins tools while it runs, as a session does.
	Grows bool `json:"grows,omitempty"`
	// Caller has the identity that budgets of principals are for, without claims. Queue is the
	// task queue of the run's workflow.
	Caller Caller `json:"caller,omitzero"`
	Queue  string `json:"queue,omitempty"`
}

// PinRequest asks for a run's tools to be pinned.
type PinRequest struct {
	Run string `json:"run_id"`
	// Parent is set for a sub-agent's run.
	Parent *Parent  `json:"parent,omitempty"`
	Agent  *Agent   `json:"agent,omitempty"`
	Plan   *Plan    `json:"plan,omitempty"`
	Tools  []string `json:"tools"`
	// Messages is the conversation so far if it is small, which the process caches for the first
	// model step.
	Messages []Message `json:"messages,omitempty"`
	// Caller and Queue are those of Setup.
	Caller Caller `json:"caller,omitzero"`
	Queue  string `json:"queue,omitempty"`
}

// ModelRequest is the input of a model step. It identifies the conversation without containing it.
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
	// Limit, if set, is the limit that was reached: the step answers without tools.
	Limit string `json:"limit,omitempty"`
	// Compact, if set, has the step summarise part of the conversation instead of answering it.
	Compact *Compaction `json:"compact,omitempty"`
	// Inline is set for an inline step, whose input is not encoded.
	Inline *InlineStep `json:"-"`
}

// ModelResponse is the result of a model step.
type ModelResponse struct {
	// Message is the assistant's message; without calls it is the final answer.
	Message Message `json:"message"`
	// Stop is why the model stopped: stop, tool_calls, length, refusal, content_filter.
	Stop  Stop   `json:"stop,omitempty"`
	Model string `json:"model,omitempty"`
	Usage Usage  `json:"usage"`
	// Estimated is our own count of the tokens of request and answer, if Usage is the provider's
	// count; zero otherwise, and if images were sent.
	Estimated int `json:"estimated,omitempty"`
	// Window is the size of the model's window in tokens, if known.
	Window int `json:"window,omitempty"`
	// Compacted is set on the result of a Compaction. Message is then the summary.
	Compacted *Compacted `json:"compacted,omitempty"`
	// Exhausted says which budget of the run's principal is used up. The model was then not asked.
	Exhausted string `json:"exhausted,omitempty"`
	// ReasoningLost is set if the provider refused the reasoning in earlier messages, so that the
	// model answered without it.
	ReasoningLost bool `json:"reasoning_lost,omitempty"`
	// Decisions are about the first calls of the message, if an inline step has admitted them.
	Decisions []AdmissionDecision `json:"decisions,omitempty"`
}

// Stop is why a model stopped.
type Stop string

// The reasons for which a model stops.
const (
	StopAnswer  Stop = "stop"
	StopCalls   Stop = "tool_calls"
	StopLength  Stop = "length"
	StopRefusal Stop = "refusal"
)

// Outcome is how a run that did not fail ended.
type Outcome string

const (
	// OutcomeAnswered: the agent answered.
	OutcomeAnswered Outcome = "answered"
	// OutcomeCompleted: every call of a plan or a direct call ran.
	OutcomeCompleted Outcome = "completed"
	// OutcomeLimit: a limit was reached, and the answer summarises what was known.
	OutcomeLimit Outcome = "limit_reached"
	// OutcomeFailed: calls of a plan or a direct call failed.
	OutcomeFailed Outcome = "failed"
	// OutcomeCancelled: the run was cancelled. Only hooks see this outcome; such a run has no
	// result.
	OutcomeCancelled Outcome = "cancelled"
)

// RunResult is the result of a run.
type RunResult struct {
	// Outcome says how the run ended.
	Outcome Outcome `json:"outcome"`
	// Answer is that of an agent.
	Answer string `json:"answer,omitempty"`
	// Stop is length if the model's answer was cut off.
	Stop Stop `json:"stop,omitempty"`
	// Limit is the limit that was reached: turns, calls, tokens, cost, wall_time, repeats,
	// conversation (too long for the model or for continue-as-new, and not to be shortened), or
	// principal (a budget of the principal, which Answer names).
	Limit string `json:"limit,omitempty"`
	// Output is the result of a plan or a direct call.
	Output json.RawMessage `json:"output,omitempty"`
	// Failures are the failed calls of a plan or a direct call.
	Failures []CallOutcome `json:"failures,omitempty"`
	// Usage is what the run used, with its sub-agents.
	Usage Usage `json:"usage"`
	// Undone describes how the calls of a failed or cancelled run were undone, in the order of
	// undoing.
	Undone []Undone `json:"undone,omitempty"`
	// Undo are, for a sub-agent's run that completed, the calls that undo it; its caller makes them
	// if necessary.
	Undo *Packed[[]Call] `json:"undo,omitempty"`
	// Labels are the labels the run has collected, sorted.
	Labels []string `json:"labels,omitempty"`
	// Checked is the evaluation of the agent's checker; nil if it was not called.
	Checked *Checked `json:"checked,omitempty"`
	// CallStats counts the run's calls; nil if it made none.
	CallStats *CallStats `json:"call_stats,omitempty"`
}

// maxShared bounds the JSON of the values that are shared, per type and in bytes.
const maxShared = 16 << 20

// shared decodes JSON and keeps the values, so that the runs of one process that have equal agents
// and tools have one copy of them. What a value has by reference must not be changed.
type shared[T any] struct {
	mu     sync.Mutex
	size   int
	values map[string]T
}

// decode decodes data into a value, or copies the value that equal data gave before.
func (s *shared[T]) decode(data []byte, into *T, decode func([]byte) (T, error)) error {
	s.mu.Lock()
	value, known := s.values[string(data)]
	s.mu.Unlock()
	if known {
		*into = value
		return nil
	}
	value, err := decode(data)
	if err != nil {
		return err
	}
	*into = value
	s.keep(string(data), value)
	return nil
}

// keep keeps a value. If the values become too large, it forgets the others.
func (s *shared[T]) keep(data string, value T) {
	if len(data) > maxShared {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += len(data); s.size > maxShared || s.values == nil {
		s.values, s.size = map[string]T{}, len(data)
	}
	s.values[data] = value
}

var (
	sharedAgents shared[*Agent]
	sharedPinned shared[Pinned]
)

// UnmarshalJSON decodes an input. Inputs whose agents have equal JSON share the agent, which must
// not be changed.
func (in *RunInput) UnmarshalJSON(data []byte) error {
	type plain RunInput
	apart := struct {
		*plain
		Agent json.RawMessage `json:"agent"`
	}{plain: (*plain)(in)}
	if err := json.Unmarshal(data, &apart); err != nil {
		return err
	}
	if apart.Agent == nil {
		return nil
	}
	return sharedAgents.decode(apart.Agent, &in.Agent, func(data []byte) (*Agent, error) {
		var a *Agent
		err := json.Unmarshal(data, &a)
		return a, err
	})
}

// UnmarshalJSON decodes what a run is pinned to. Values of equal JSON share what they have by
// reference. An append to one of their lists copies it.
func (p *Pinned) UnmarshalJSON(data []byte) error {
	return sharedPinned.decode(data, p, func(data []byte) (Pinned, error) {
		type plain Pinned
		var v plain
		err := json.Unmarshal(data, &v)
		v.Catalog.Tools = slices.Clip(v.Catalog.Tools)
		v.DescendantTools = slices.Clip(v.DescendantTools)
		v.Policies.Rules = slices.Clip(v.Policies.Rules)
		return Pinned(v), err
	})
}

// InlineStep is the input of an inline model step, with what it would otherwise query from its run.
// Like an InlineCall it is never encoded.
type InlineStep struct {
	ID       string
	Setup    *Setup
	Messages []Message
	// Admit, where set, has the step admit the calls that the model asks for, which saves a local
	// activity and its marker. It has everything but the calls.
	Admit *AdmissionRequest
	// Left is as in InlineCall.
	Left Duration
}

// HookRequest is the input of HookActivity: one hook of a run.
type HookRequest struct {
	Point  HookPoint `json:"point"`
	Hook   Hook      `json:"hook"`
	Agent  string    `json:"agent"`
	Prompt string    `json:"prompt,omitempty"`
	Origin Origin    `json:"origin"`
	// Parent is the path of the call on whose behalf the run works.
	Parent string `json:"parent,omitempty"`
	// Conversation identifies the conversation of the run so far, as for a model step.
	Conversation ModelRequest `json:"conversation"`
	// End is set when the run has ended.
	End *RunEnd `json:"end,omitempty"`
}

// HookAnswer is the result of a run's hook.
type HookAnswer struct {
	// Refused is why the run must not start; empty if it may.
	Refused string `json:"refused,omitempty"`
	// Text is the retrieved memory; empty for none.
	Text string `json:"text,omitempty"`
}

// RunEnd describes how a run ended, for hooks after it. Outcome is failed or cancelled for a run
// without a result. Usage is always set.
type RunEnd struct {
	RunResult
	// Failure and FailureType say why the run failed. FailureType is empty if the reason is not a
	// RunErrorType.
	Failure     string       `json:"failure,omitempty"`
	FailureType RunErrorType `json:"failure_type,omitempty"`
}
