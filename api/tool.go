package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/internal/value/redaction"
)

// Status says whether a tool may be called.
type Status string

// The statuses of a tool. A deprecated tool runs, with a note in its result; a disabled one does
// not.
const (
	StatusActive     Status = "active"
	StatusDeprecated Status = "deprecated"
	StatusDisabled   Status = "disabled"
)

// Access says which calls of one lane may overlap within a run.
type Access string

// Shared calls overlap each other; an exclusive call overlaps no other call of its lane in its run.
const (
	AccessShared    Access = "shared"
	AccessExclusive Access = "exclusive"
)

// Effect says what a second execution of the same call does, and so whether it is allowed.
type Effect string

const (
	// EffectRead changes nothing and may be repeated.
	EffectRead Effect = "read"
	// EffectIdempotent changes something, and a repetition changes nothing more.
	EffectIdempotent Effect = "idempotent"
	// EffectOnce must not be executed twice automatically. It is the default.
	EffectOnce Effect = "once"
)

// Dispatch is how a run executes the calls of a tool. It is all that a run and the audit know of a
// tool's kind, so a kind that uses one of these values needs no change of workflows and audit.
type Dispatch string

const (
	// DispatchLane, the default, is an activity on the tool's lane, local on the lane inline. Only
	// such calls take slots of a lane; only they can be inline or batched.
	DispatchLane Dispatch = ""
	// DispatchInstance is an activity on the task queue of the run's instance of the tool.
	DispatchInstance Dispatch = "instance"
	// DispatchChildWorkflow is a child workflow, the run of a sub-agent. It undoes its own calls if
	// it fails, and a dry run is passed on to it.
	DispatchChildWorkflow Dispatch = "child_workflow"
	// DispatchQuestion is an activity that a person's reply completes. No worker is busy with it
	// meanwhile.
	DispatchQuestion Dispatch = "question"
)

// TakesSlots reports whether the calls are activities of a lane.
func (d Dispatch) TakesSlots() bool { return d == DispatchLane }

// Schedules reports whether the calls are activities that the run can schedule again. Only such
// calls can be requeued or verified, and verify or undo other calls.
func (d Dispatch) Schedules() bool { return d == DispatchLane || d == DispatchInstance }

// Order is the order of conflicting calls of one turn.
type Order string

const (
	// OrderAsCalled, the default, keeps the order in which the calls were made.
	OrderAsCalled Order = "as_called"
	// OrderParallelFirst runs the shared calls of a lane before its exclusive ones.
	OrderParallelFirst Order = "parallel_first"
)

// Mode is how strictly arguments are validated.
type Mode string

const (
	// ModeStrict, the default, refuses arguments that the tool does not declare.
	ModeStrict Mode = "strict"
	// ModeLenient drops undeclared arguments and converts numeric and boolean strings to the
	// declared type, with notes.
	ModeLenient Mode = "lenient"
)

// Retry is the retry policy of a tool, for failures that another attempt may cure. The defaults of
// tools that read from network services are others, see package toolspecs.
type Retry struct {
	// MaxAttempts includes the first attempt; default 3, and always 1 for a tool with effect once.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// InitialInterval is the wait before the second attempt; default 200ms.
	InitialInterval Duration `json:"initial_interval,omitzero"`
	// Backoff multiplies the wait from attempt to attempt; default 2.
	Backoff float64 `json:"backoff,omitempty"`
	// MaxInterval bounds the wait; default 10s.
	MaxInterval Duration `json:"max_interval,omitzero"`
}

// Tool is a pinned tool: the facts that decisions need, and the whole toolspec for the workers that
// execute it. It has names of secrets, never their values.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Digest identifies the content of the toolspec.
	Digest string `json:"digest"`
	Status Status `json:"status,omitempty"`
	// Dispatch is how the run executes its calls. The kind of the tool sets it.
	Dispatch Dispatch `json:"dispatch,omitempty"`
	Lane     string   `json:"lane"`
	Access   Access   `json:"access"`
	Effect   Effect   `json:"effect"`
	// Priority is the default priority of its calls; empty is normal.
	Priority Priority `json:"priority,omitempty"`
	// Timeout bounds one attempt.
	Timeout Duration `json:"timeout"`
	// QueueTimeout bounds the wait for a worker; zero waits as long as the run lasts.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Heartbeat is how long a worker may be silent during a call before it is considered lost.
	Heartbeat Duration `json:"heartbeat,omitzero"`
	Retry     Retry    `json:"retry,omitzero"`
	// AnswerWithin bounds the wait for a person's answer during a call, by which the call may last
	// longer.
	AnswerWithin Duration `json:"answer_within,omitzero"`
	// OutputSchema of a human tool is the JSON Schema of the answer; empty accepts any JSON value.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Instance is the name of the instance that serves the calls. Tools of the same name share it.
	// It is empty for the tool's own instance and for other tools.
	Instance string `json:"instance,omitempty"`
	// HostWithin bounds how long calls wait for a worker that hosts their instance; zero waits as
	// long as the run lasts.
	HostWithin Duration `json:"host_within,omitzero"`
	// OnLoss and IdleTimeout are for tools with instances.
	OnLoss      OnLoss   `json:"on_loss,omitempty"`
	IdleTimeout Duration `json:"idle_timeout,omitzero"`
	// Scope is ScopeConversation if the instance outlives the run; empty is ScopeRun.
	Scope Scope `json:"scope,omitempty"`
	// Closes says that a successful call closes the instance.
	Closes bool `json:"closes,omitempty"`
	// Batch declares how calls of a turn are batched; nil if they are not.
	Batch *Batch `json:"batch,omitempty"`
	// Undo declares the call that undoes a call of the tool; nil if there is none.
	Undo *Undo `json:"undo,omitempty"`
	// Verify declares how an unknown outcome is resolved; nil if it is not.
	Verify *Verify `json:"verify,omitempty"`
	// Emits are labels of the results, for policies.
	Emits []string `json:"emits,omitempty"`
	// Sensitive lists the parameters whose values are sensitive, or contain sensitive values.
	Sensitive []string `json:"sensitive,omitempty"`
	// Mask says which parts of those parameters are sensitive, if not all; see ArgumentMask.
	// OutputMask says which parts of a result are sensitive.
	Mask       *redaction.Mask `json:"mask,omitempty"`
	OutputMask *redaction.Mask `json:"output_mask,omitempty"`
	// Spec is the toolspec as JSON, in the form that package toolspecs decodes.
	Spec json.RawMessage `json:"spec"`
}

// InstanceName returns the name of the instance that serves the calls of the tool.
func (t Tool) InstanceName() string { return cmp.Or(t.Instance, t.Name) }

// Catalog is the set of tools a run is pinned to, in the order in which the agent or plan names
// them.
type Catalog struct {
	// Digest identifies the whole set.
	Digest string `json:"digest"`
	Tools  []Tool `json:"tools"`
}

// Find returns the tool of that name, and whether there is one.
func (c Catalog) Find(name string) (Tool, bool) {
	i := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return c.Tools[i], true
}

// Names returns the names of the tools, in order.
func (c Catalog) Names() []string {
	names := make([]string, len(c.Tools))
	for i, t := range c.Tools {
		names[i] = t.Name
	}
	return names
}

// MaxToolName is the longest tool name that models accept.
const MaxToolName = 64

// CheckToolName returns why name is not a valid tool name: models accept letters, digits, _ and -,
// at most 64.
func CheckToolName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	if len(name) > MaxToolName {
		return fmt.Errorf("name %.20q… has %d characters; models accept at most %d", name,
			len(name), MaxToolName)
	}
	for _, r := range name {
		if !IsNameRune(r) {
			return fmt.Errorf(
				"name %q contains %q; models accept only letters, digits, _ and - (github.search becomes github_search)",
				name, r)
		}
	}
	return nil
}

func IsNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' ||
		r == '-'
}

// OnLoss says what a run does when an instance is lost, for example with its worker.
type OnLoss string

const (
	// OnLossFail, the default, ends the tool for this run: later calls fail with worker_lost, so
	// that lost state is never replaced silently.
	OnLossFail OnLoss = "fail"
	// OnLossRecreate makes a new instance, from the last snapshot if the tool takes snapshots.
	OnLossRecreate OnLoss = "recreate"
)

// Scope says which runs use an instance.
type Scope string

const (
	// ScopeRun, the default, is an instance of each run, which is closed with it.
	ScopeRun Scope = "run"
	// ScopeConversation is an instance that the runs of a conversation use one after the other. It
	// is closed when no call has used it for its idle timeout.
	ScopeConversation Scope = "conversation"
)

// Progress is how far a running call has come, as its tool reports it.
type Progress struct {
	Done float64 `json:"done"`
	// Total is what Done will be at the end; zero if unknown.
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

// FairnessAll is the fairness key of calls without fairness. An activity without a key would
// inherit its workflow's.
const FairnessAll = "all"

// Batch declares how calls of one turn to a tool are batched (requirement G3): calls whose other
// arguments are equal become one, whose list has the elements of all of them. The output is a list
// with one element for each.
type Batch struct {
	// Argument is the parameter that holds the list.
	Argument string `json:"argument" rule:"required" hint:"write argument: and the name of the parameter that holds the list"`
	// Max bounds the elements of one batch; default 50.
	Max int `json:"max" rule:"min=2,max=1000"`
}

// DefaultBatch is the default bound of a batch.
const DefaultBatch = 50

// Part is one of the batched calls.
type Part struct {
	// ID is the id of the call.
	ID string `json:"call_id"`
	// Elements is how many elements of the list belong to the call, after those of the parts before
	// it.
	Elements int `json:"elements"`
}

// Attempts returns how many attempts the server makes of a call of the tool.
func (t Tool) Attempts() int {
	if t.Effect == EffectOnce {
		return 1
	}
	return max(t.Retry.MaxAttempts, 1)
}
