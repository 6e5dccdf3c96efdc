package api

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Status says whether a tool may be called.
type Status string

// The states of a tool. A deprecated tool runs, with a note in its result; a disabled one does not.
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

// Effect says what a second execution of the same call would do, and so whether one is allowed.
type Effect string

const (
	// EffectRead changes nothing: repeat at will.
	EffectRead Effect = "read"
	// EffectIdempotent changes something, but twice is as good as once.
	EffectIdempotent Effect = "idempotent"
	// EffectOnce must never be executed twice on its own account. It is the default, the safe one.
	EffectOnce Effect = "once"
)

// Order is how calls of one turn that conflict are put in order.
type Order string

const (
	// OrderAsCalled keeps the order in which the calls were made. It is the default.
	OrderAsCalled Order = "as_called"
	// OrderParallelFirst runs the shared calls of a lane before its exclusive ones.
	OrderParallelFirst Order = "parallel_first"
)

// Mode is how strictly arguments are read.
type Mode string

const (
	// ModeStrict refuses arguments that the tool does not declare. It is the default.
	ModeStrict Mode = "strict"
	// ModeLenient drops undeclared arguments and turns numeric and boolean strings into what is declared; both are noted.
	ModeLenient Mode = "lenient"
)

// Retry is a tool's retry policy. It applies to failures that another attempt may cure.
type Retry struct {
	// MaxAttempts counts the first one too; default 3, and always 1 for a tool whose effect is once.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// InitialInterval is the wait before the second attempt; default 200ms.
	InitialInterval Duration `json:"initial_interval,omitzero"`
	// Backoff multiplies the wait from attempt to attempt; default 2.
	Backoff float64 `json:"backoff,omitempty"`
	// MaxInterval bounds the wait; default 10s.
	MaxInterval Duration `json:"max_interval,omitzero"`
}

// Tool is what a run is pinned to: the facts of one toolspec that decisions need, and the whole spec for the workers
// that execute it. It contains no secret, only names of secrets.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Digest identifies the spec's content; two specs with one digest are the same spec.
	Digest string `json:"digest"`
	Status Status `json:"status,omitempty"`
	// Kind is set where a run treats calls in another way than by one activity on the tool's lane: KindStateful,
	// KindAgent, KindHuman.
	Kind   string `json:"kind,omitempty"`
	Lane   string `json:"lane"`
	Access Access `json:"access"`
	Effect Effect `json:"effect"`
	// Priority is that of calls whose run and plan name none; empty is normal.
	Priority Priority `json:"priority,omitempty"`
	// Timeout bounds one attempt.
	Timeout Duration `json:"timeout"`
	// QueueTimeout bounds the wait for a worker; zero waits for as long as the run lasts.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Heartbeat is how long a worker may be silent during a call before it counts as lost.
	Heartbeat Duration `json:"heartbeat,omitzero"`
	Retry     Retry    `json:"retry,omitzero"`
	// AnswerWithin is how long a person may take over what a call asks; a call may last that much longer.
	AnswerWithin Duration `json:"answer_within,omitzero"`
	// OutputSchema is, of a human tool, the JSON Schema that an answer must fit; empty takes any JSON value.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// OnLoss and IdleTimeout are for stateful tools.
	OnLoss      OnLoss   `json:"on_loss,omitempty"`
	IdleTimeout Duration `json:"idle_timeout,omitzero"`
	// Batch says how calls of a turn are made together; nil where they are not.
	Batch *Batch `json:"batch,omitempty"`
	// Undo is the call that undoes a call of the tool; nil for a tool that declares none.
	Undo *Undo `json:"undo,omitempty"`
	// Verify is how to find out what became of a call whose outcome is unknown; nil for a tool that declares nothing.
	Verify *Verify `json:"verify,omitempty"`
	// Emits are the labels that results carry, for policies.
	Emits []string `json:"emits,omitempty"`
	// Sensitive lists the parameters whose values are, or contain, what is never shown.
	Sensitive []string `json:"sensitive,omitempty"`
	// Mask says which parts of the arguments are meant where that is not all of the parameters that Sensitive lists; see
	// ArgumentMask. OutputMask says which parts of a result are never shown.
	Mask       *Mask `json:"mask,omitempty"`
	OutputMask *Mask `json:"output_mask,omitempty"`
	// Spec is the whole toolspec as JSON, in the form that package toolspecs reads back.
	Spec json.RawMessage `json:"spec"`
}

// Catalog is the set of tools a run is pinned to, in the order the agent or plan names them.
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

// MaxToolName is the longest name of a tool that the models' function calling accepts.
const MaxToolName = 64

// CheckToolName reports why name cannot name a tool: models accept letters, digits, _ and -, at most 64 of them.
func CheckToolName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	if len(name) > MaxToolName {
		return fmt.Errorf("name %.20q… has %d characters; models accept at most %d", name, len(name), MaxToolName)
	}
	for _, r := range name {
		if !isNameRune(r) {
			return fmt.Errorf("name %q contains %q; models accept only letters, digits, _ and - (github.search becomes github_search)", name, r)
		}
	}
	return nil
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
