package toolspecs

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Spec is the declaration of one tool, decoded from YAML with all defaults filled in. Runs pin its
// JSON form, and its digest covers that form.
type Spec struct {
	// Name has letters, digits, _ and -, at most 64 characters.
	Name string `json:"name" yaml:"name" rule:"required"`
	// Version is a semantic version.
	Version string `json:"version" yaml:"version" rule:"required" pattern:"^(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)([.](0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$ version %q is not a semantic version" hint:"write three numbers, such as 1.0.0"`
	// Description is the text that models read, at most 32 KiB.
	Description string `json:"description" yaml:"description" rule:"required"`
	// Category may select the lane of the calls.
	Category string `json:"category,omitempty" yaml:"category" rule:"enum=http|database|file|ai|notification|custom"`
	// Tags are any words, used for lookup and policies.
	Tags []string `json:"tags,omitempty" yaml:"tags" pattern:"\\S the tag is empty" hint:"remove it"`
	// Status is active, the default, deprecated (calls run and get a note) or disabled (calls are
	// rejected).
	Status api.Status `json:"status" yaml:"status" rule:"enum=active|deprecated|disabled"`
	// Parameters and InputSchema are two ways to declare the arguments; at most one is set.
	Parameters  []Parameter     `json:"parameters,omitempty" yaml:"parameters" rule:"keyed=name,short=type"`
	InputSchema json.RawMessage `json:"input_schema,omitempty" yaml:"input_schema"`
	// Output and OutputSchema are two ways to declare the result; without either, any result is
	// valid.
	Output       *Parameter      `json:"output,omitempty" yaml:"output" rule:"short=type"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty" yaml:"output_schema"`
	// Requires lists the variables and dependencies that calls need.
	Requires Requires `json:"requires,omitzero" yaml:"requires"`
	// Entry says what executes the tool; its type is the kind.
	Entry Entry `json:"entry" yaml:"entry" rule:"required"`
	// Execution says where and how calls run.
	Execution ExecutionSpec `json:"execution" yaml:"execution"`
	// Undo declares the call that undoes a call of the tool; default none.
	Undo *api.Undo `json:"undo,omitempty" yaml:"undo"`
	// Verify declares how to determine the outcome of a call whose outcome is unknown; only for
	// tools with the effect once.
	Verify *api.Verify `json:"verify,omitempty" yaml:"verify"`
	// ExecutionPlan says whether calls carry an execution plan. Models see the plan in the schema
	// if it is required or optional. By default calls may carry one, and models are not told.
	ExecutionPlan string `json:"execution_plan,omitempty" yaml:"execution_plan" rule:"enum=required|optional|none"`
	// Batch declares how calls of a turn are batched; default not at all.
	Batch *api.Batch `json:"batch,omitempty" yaml:"batch"`
	// places maps paths of the spec to places in its file; nil if it comes from no file.
	places map[string]filePlace
	// Approval declares which calls wait for a person's approval: always, never, the default, or a
	// condition.
	Approval *Approval `json:"approval,omitempty" yaml:"approval" rule:"short=when"`
	// Policies names rules that must be in force, in the worker's file or the agent's, for the tool
	// to be callable.
	Policies []string `json:"policies,omitempty" yaml:"policies" rule:"unique" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot name a rule" hint:"use up to 64 letters, digits, _, - and .; the first one a letter or digit"`
	// Effects are the tool's capabilities, such as external_write; any words, which rules use.
	Effects []string `json:"effects,omitempty" yaml:"effects" rule:"unique" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot name a capability of a tool" hint:"use up to 64 letters, digits, _, - and .; the first one a letter or digit"`
	// Emits are the labels of its results, such as untrusted; {label, when} for a condition.
	Emits []policies.Emission `json:"emits,omitempty" yaml:"emits" rule:"short=label"`
	// Clears are the labels of the run that a completed call removes, or replaces: {label, to}.
	Clears []api.Clearing `json:"clears,omitempty" yaml:"clears" rule:"short=label"`
}

// Parameter declares one argument, or a value inside one, to any depth.
type Parameter struct {
	Name     string `json:"name,omitempty" yaml:"name" pattern:"^[A-Za-z0-9_.-]{1,64}$ %q cannot name a parameter; models accept 1 to 64 letters, digits, _, - and ."`
	Type     string `json:"type" yaml:"type" rule:"required,enum=string|number|integer|boolean|array|object|any"`
	Required bool   `json:"required,omitempty" yaml:"required"`
	// Default is filled in for an absent argument. A default of null also makes null acceptable.
	Default     json.RawMessage `json:"default,omitempty" yaml:"default"`
	Description string          `json:"description,omitempty" yaml:"description"`
	// Sensitive values are redacted in summaries, logs, metrics and records.
	Sensitive  bool        `json:"sensitive,omitempty" yaml:"sensitive"`
	Validation *Validation `json:"validation,omitempty" yaml:"validation"`
	// Properties and Items are other places for those of Validation. Properties may map names to
	// types.
	Properties []Parameter `json:"properties,omitempty" yaml:"properties" rule:"keyed=name,short=type"`
	Items      *Parameter  `json:"items,omitempty" yaml:"items" rule:"short=type"`
}

// Validation holds the rules of a parameter; its type determines which rules apply.
type Validation struct {
	// Pattern, MinLength and MaxLength apply to strings. Lengths count characters.
	Pattern   string `json:"pattern,omitempty" yaml:"pattern"`
	MinLength *int   `json:"min_length,omitempty" yaml:"min_length" rule:"min=0"`
	MaxLength *int   `json:"max_length,omitempty" yaml:"max_length" rule:"min=0"`
	// Enum is for strings, numbers and integers.
	Enum []json.RawMessage `json:"enum,omitempty" yaml:"enum" rule:"min=1"`
	// Min and Max apply to numbers and integers, inclusive.
	Min *json.Number `json:"min,omitempty" yaml:"min"`
	Max *json.Number `json:"max,omitempty" yaml:"max"`
	// Items, MinItems and MaxItems apply to arrays.
	Items    *Parameter `json:"items,omitempty" yaml:"items" rule:"short=type"`
	MinItems *int       `json:"min_items,omitempty" yaml:"min_items" rule:"min=0"`
	MaxItems *int       `json:"max_items,omitempty" yaml:"max_items" rule:"min=0"`
	// Properties and Required apply to objects. Required names properties; Required of a property
	// is equivalent.
	Properties []Parameter `json:"properties,omitempty" yaml:"properties" rule:"keyed=name,short=type"`
	Required   []string    `json:"required,omitempty" yaml:"required"`
}

// Requires lists the preconditions of a call.
type Requires struct {
	// Variables are names of run variables that must be set (starter run --var project=…).
	Variables []string `json:"variables,omitempty" yaml:"variables" pattern:"^[A-Za-z_][A-Za-z0-9_.-]*$ %q cannot name a run variable" hint:"use letters, digits, _, - and ."`
	// Dependencies are checked on the worker before each call.
	Dependencies []Dependency `json:"dependencies,omitempty" yaml:"dependencies"`
}

// Dependency is a program or service that a tool needs.
type Dependency struct {
	Name string `json:"name" yaml:"name" rule:"required"`
	// Check is an argv that exits with 0 if the dependency is up.
	Check []string `json:"check" yaml:"check" rule:"required,min=1"`
	// Start is an argv that starts it; without one, a dependency that is down is an error.
	Start []string `json:"start,omitempty" yaml:"start" rule:"min=1"`
	// Within bounds starting and checking; default 10s.
	Within api.Duration `json:"within,omitzero" yaml:"within" rule:"above=0s,max=1h"`
}

// ExecutionSpec declares where and how calls run. In YAML, parallelizable: true or false is
// an alias of access: shared or exclusive.
type ExecutionSpec struct {
	// Lane is general, serial, inline, a lane of lanes.yaml, or one that workers serve with
	// --lanes; by default that of the category, else serial for exclusive calls and general for
	// others.
	Lane string `json:"lane" yaml:"lane"`
	// laneless is set if the spec named no lane, so that the lane of its category takes precedence
	// over Lane.
	laneless bool
	// Access is shared: calls of a run overlap on the lane, or exclusive: a call runs alone there.
	// Default shared; exclusive on instances and MCP sessions of a run if the effect is not read.
	Access api.Access `json:"access" yaml:"access" rule:"enum=shared|exclusive"`
	// Effect is what a second execution would do. Default once; read for human tools, and for REST
	// tools with GET, HEAD and OPTIONS.
	Effect api.Effect `json:"effect" yaml:"effect" rule:"enum=read|idempotent|once"`
	// Priority is that of calls whose run and plan set none; default normal.
	Priority api.Priority `json:"priority,omitempty" yaml:"priority" rule:"enum=urgent|high|normal|low"`
	// Timeout bounds one attempt; default 30s, 2s on the lane inline, and 1h for a sub-agent's
	// whole run.
	Timeout api.Duration `json:"timeout" yaml:"timeout" rule:"above=0s,max=24h"`
	// QueueTimeout bounds the wait for a worker; default that of the lane.
	QueueTimeout api.Duration `json:"queue_timeout,omitzero" yaml:"queue_timeout" rule:"above=0s"`
	// Heartbeat is the time without a heartbeat after which a worker counts as lost, at least 1s;
	// default 1m for effect once, else 3s, and 15s for stateful tools and MCP sessions.
	Heartbeat api.Duration `json:"heartbeat" yaml:"heartbeat" rule:"min=1s,max=1h"`
	Retry     api.Retry    `json:"retry,omitzero" yaml:"retry"`
	// MaxResult bounds the result; default 32KiB. The rest is cut, with a note for the model.
	MaxResult int `json:"max_result" yaml:"max_result" rule:"size,min=1,max=1MiB"`
	// SlowAfter marks calls that take longer as slow; default 5s, and 10m for a sub-agent.
	SlowAfter api.Duration `json:"slow_after" yaml:"slow_after" rule:"above=0s"`
	// ExpectedTokens is the usual number of tokens of a result, which reports compare with actual
	// ones.
	ExpectedTokens int `json:"expected_tokens,omitempty" yaml:"expected_tokens" rule:"min=1,max=1000000"`
	// Arguments is how arguments are validated; default that of the run, else strict.
	Arguments api.Mode `json:"arguments,omitempty" yaml:"arguments" rule:"enum=strict|lenient"`
	// OnInvalidOutput is fail, the default: a call whose result violates its schema ends as
	// invalid_output; or warn: it gets a note.
	OnInvalidOutput string `json:"on_invalid_output,omitempty" yaml:"on_invalid_output" rule:"enum=fail|warn"`
}

// filePlace is a place in a file.
type filePlace struct {
	file         string
	line, column int
}

// Approval declares which calls of a tool wait for a person's approval. In YAML, a plain string
// sets When.
type Approval struct {
	// When is always (the default), never, or an expression of package policies: calls for which it
	// is true wait.
	When string `json:"when" yaml:"when"`
	// Timeout bounds the wait for a decision, without which the call is not made; default 24h.
	Timeout api.Duration `json:"timeout" yaml:"timeout" rule:"min=1s,max=8760h"`
	// Ask is the template of the text that people see; default the tool's description and all
	// arguments.
	Ask string `json:"ask,omitempty" yaml:"ask"`
	// ByCaller lets whoever makes a call approve it. By default another person has to.
	ByCaller bool `json:"by_caller,omitempty" yaml:"by_caller"`
	// Approvers are who may decide; empty for everyone but the caller.
	Approvers []api.Approver `json:"approvers,omitempty" yaml:"approvers" rule:"min=1,short=name" hint:"omit approvers if everyone but the caller may decide"`
}
