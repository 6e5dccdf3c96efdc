package api

import "encoding/json"

// Plan is a list of calls that runs without a model.
type Plan struct {
	Name  string     `json:"name,omitempty"`
	Mode  Mode       `json:"mode,omitempty"`
	Calls []PlanCall `json:"calls"`
	// Output is the result of the plan: any JSON value with references to calls. Without it the
	// result is an object, by call id, of the results that no other call refers to or depends on.
	Output json.RawMessage `json:"output,omitempty"`
	// Undo lists the ends of a run after which its calls are undone; default both.
	Undo UndoWhen `json:"undo,omitempty"`
}

// PlanCall is one call of a plan.
type PlanCall struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments is a JSON object whose strings may refer to results of other calls; a reference is
	// a dependency.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// DependsOn names further calls that must have succeeded first.
	DependsOn []string `json:"depends_on,omitempty"`
	// Priority overrides those of the run and of the tool.
	Priority Priority `json:"priority,omitempty"`
	// Ask, if set, requires approval of the call, whatever its tool and the rules require, and is
	// the reason shown.
	Ask string `json:"ask,omitempty"`
}

// MaxAsk bounds the recorded reason for an approval, in characters.
const MaxAsk = 1000

// Rules in the problems of Plan.Check, and of inputs of runs.
const (
	RuleRequired = "required"

	RuleCycle = "cycle"
	RuleTool  = "tool"
	RuleType  = "type"

	// RuleConversation is that of problems with the conversation that a run starts with.
	RuleConversation = "conversation"
)
