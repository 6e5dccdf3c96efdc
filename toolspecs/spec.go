package toolspecs

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Spec is the declaration of one tool, decoded from YAML with all defaults filled in. Runs pin its
// JSON form, and its digest covers that form.
type Spec struct {
	Name        string     `json:"name" yaml:"name" rule:"required"`
	Version     string     `json:"version" yaml:"version" rule:"required"`
	Description string     `json:"description" yaml:"description" rule:"required"`
	Category    string     `json:"category,omitempty" yaml:"category" rule:"enum=http|database|file|ai|notification|custom"`
	Tags        []string   `json:"tags,omitempty" yaml:"tags"`
	Status      api.Status `json:"status" yaml:"status" rule:"enum=active|deprecated|disabled"`
	// Parameters and InputSchema are two ways to declare the arguments; at most one is set.
	Parameters  []Parameter     `json:"parameters,omitempty" yaml:"parameters" rule:"keyed=name,short=type"`
	InputSchema json.RawMessage `json:"input_schema,omitempty" yaml:"input_schema"`
	// Output and OutputSchema are two ways to declare the result; without either, any result is
	// valid.
	Output       *Parameter      `json:"output,omitempty" yaml:"output" rule:"short=type"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty" yaml:"output_schema"`
	Requires     Requires        `json:"requires,omitzero" yaml:"requires"`
	Entry        Entry           `json:"entry" yaml:"entry" rule:"required"`
	Execution    ExecutionSpec   `json:"execution" yaml:"execution"`
	// Undo declares the call that undoes a call of the tool; nil for none.
	Undo *api.Undo `json:"undo,omitempty" yaml:"undo"`
	// Verify declares how to determine the outcome of a call whose outcome is unknown; only for
	// tools with the effect once.
	Verify *api.Verify `json:"verify,omitempty" yaml:"verify"`
	// ExecutionPlan is required, optional or none. Models see the execution plan in the schema if
	// it is required or optional. If empty, calls may carry one, and models are not told.
	ExecutionPlan string `json:"execution_plan,omitempty" yaml:"execution_plan" rule:"enum=required|optional|none"`
	// Batch declares how calls of a turn are batched; nil for no batching.
	Batch *api.Batch `json:"batch,omitempty" yaml:"batch"`
	// places maps paths of the spec to places in its file; nil if it comes from no file.
	places map[string]filePlace
	// Approval declares which calls wait for a person's approval; nil for none.
	Approval *Approval `json:"approval,omitempty" yaml:"approval" rule:"short=when"`
	// Policies names rules that must be in force, in the worker's file or the agent's, for the tool
	// to be callable.
	Policies []string `json:"policies,omitempty" yaml:"policies"`
	// Effects are the tool's capabilities, such as external_write. Emits are the labels of its
	// results, such as untrusted. Clears are the labels of the run that a completed call removes or
	// replaces. Policies use them; any words are valid.
	Effects []string            `json:"effects,omitempty" yaml:"effects"`
	Emits   []policies.Emission `json:"emits,omitempty" yaml:"emits" rule:"short=label"`
	Clears  []api.Clearing      `json:"clears,omitempty" yaml:"clears" rule:"short=label"`
}

// Parameter declares one argument, or a value inside one, to any depth.
type Parameter struct {
	Name     string `json:"name,omitempty" yaml:"name"`
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
	Variables []string `json:"variables,omitempty" yaml:"variables"`
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

// Entry declares how the tool is executed. The tag kinds names the kinds that a field is for; a
// test and the checker enforce it.
type Entry struct {
	Type string `json:"type" yaml:"type" rule:"required"`
	// Handler names the Go function or the stateful type; default Instance, or else the tool's
	// name.
	Handler string `json:"handler,omitempty" yaml:"handler" kinds:"function,stateful"`

	// Argv is the program and its arguments, without a shell. For a command its elements may
	// contain {{args.name}}; an element that is only the placeholder of an absent optional argument
	// is omitted. For mcp it is the server, which communicates over standard input and output.
	Argv []string `json:"argv,omitempty" yaml:"argv" rule:"min=1" kinds:"command,mcp"`
	// Dir is the working folder; a relative one is under the worker's folder for tool files.
	Dir string `json:"dir,omitempty" yaml:"dir" kinds:"command,mcp"`
	// Env lists the environment variables that the program gets besides PATH, HOME, LANG and
	// TMPDIR.
	Env []string `json:"env,omitempty" yaml:"env" kinds:"command,mcp"`
	// SetEnv maps further environment variables of the program to values that are not secret.
	SetEnv map[string]string `json:"set_env,omitempty" yaml:"set_env" kinds:"command,mcp"`
	// Secrets maps names to references, env:NAME or file:/path. A program gets them as environment
	// variables, a Go function calls tool.Secret. Their values are redacted in the tool's
	// results and errors.
	Secrets map[string]string `json:"secrets,omitempty" yaml:"secrets" rule:"secret" kinds:"command,mcp,function,stateful"`
	// Stdin is json (the arguments; the default) or none.
	Stdin string `json:"stdin,omitempty" yaml:"stdin" rule:"enum=json|none" kinds:"command"`
	// Stdout is text (the default) or json.
	Stdout string `json:"stdout,omitempty" yaml:"stdout" rule:"enum=text|json" kinds:"command"`
	// OKExitCodes are the exit codes of success; default only 0.
	OKExitCodes []int `json:"ok_exit_codes,omitempty" yaml:"ok_exit_codes" rule:"min=1" kinds:"command"`
	// TransientExitCodes are the exit codes of failures that may be retried.
	TransientExitCodes []int `json:"transient_exit_codes,omitempty" yaml:"transient_exit_codes" kinds:"command"`
	// MaxOutput bounds standard output and standard error, in bytes, each; default 1 MiB. A program
	// that exceeds it is killed.
	MaxOutput int `json:"max_output,omitempty" yaml:"max_output" rule:"size,min=1,max=1GiB" kinds:"command"`
	// MaxMemory bounds the program's address space in bytes, where the system supports it; zero
	// means no bound.
	MaxMemory int `json:"max_memory,omitempty" yaml:"max_memory" rule:"size,min=1MiB" kinds:"command"`

	// Instance is the name of the instance that tools of a run share; empty for the tool's own
	// instance.
	Instance string `json:"instance,omitempty" yaml:"instance" kinds:"stateful"`
	// OnLoss is fail (the default) or recreate: what happens if the instance, or the session with
	// an MCP server, is lost.
	OnLoss api.OnLoss `json:"on_loss,omitempty" yaml:"on_loss" rule:"enum=fail|recreate" kinds:"stateful,mcp"`
	// IdleTimeout is the time without calls after which an instance or session is closed; default
	// 10m.
	IdleTimeout api.Duration `json:"idle_timeout,omitzero" yaml:"idle_timeout" rule:"min=1s,max=24h" kinds:"stateful,mcp"`

	// Scope is run (the default) or conversation: whether each run has its own instance or session,
	// or the runs of a conversation use one after the other.
	Scope api.Scope `json:"scope,omitempty" yaml:"scope" rule:"enum=run|conversation" kinds:"stateful,mcp"`
	// Closes says that a successful call closes the instance or session.
	Closes bool `json:"closes,omitempty" yaml:"closes" kinds:"stateful,mcp"`

	// BaseURL is the API's http or https URL without placeholders, or env:NAME for an environment
	// variable of the worker that holds the URL.
	BaseURL string `json:"base_url,omitempty" yaml:"base_url" kinds:"rest"`
	// Method of a rest tool is GET (the default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS. For
	// stateful it is the method of the type; default the only one.
	Method string `json:"method,omitempty" yaml:"method" kinds:"rest,stateful"`
	// Path follows the base URL; each {{args.name}} in it is a path segment or a part of one.
	Path string `json:"path,omitempty" yaml:"path" kinds:"rest"`
	// Query and Headers map names to templates. An entry that is only the placeholder of an absent
	// optional argument is omitted; a list repeats a query parameter.
	Query   json.RawMessage `json:"query,omitempty" yaml:"query" kinds:"rest"`
	Headers json.RawMessage `json:"headers,omitempty" yaml:"headers" kinds:"rest,mcp"`
	// Body is any JSON value with placeholders in its strings; a string that is only a placeholder
	// becomes the argument with its type.
	Body json.RawMessage `json:"body,omitempty" yaml:"body" kinds:"rest"`
	// Encoding is the encoding of Body: json (the default), form, or text.
	Encoding string `json:"encoding,omitempty" yaml:"encoding" rule:"enum=json|form|text" kinds:"rest"`
	// Auth declares which secret is sent and where.
	Auth *outbound.Auth `json:"auth,omitempty" yaml:"auth" rule:"secret" kinds:"rest,mcp"`
	// Extract selects a part of a JSON response: a JSON pointer if it begins with /, else a
	// JMESPath expression.
	Extract string `json:"extract,omitempty" yaml:"extract" kinds:"rest"`
	// Statuses override the meaning of response statuses. By default 2xx is an answer, 429, 503 and
	// other 5xx are retried, and every other status is a failure.
	Statuses []StatusRule `json:"statuses,omitempty" yaml:"statuses" kinds:"rest"`
	// MaxResponse bounds the part of a response that is read, in bytes; default 1 MiB.
	MaxResponse int `json:"max_response,omitempty" yaml:"max_response" rule:"size,min=1,max=64MiB" kinds:"rest"`
	// Allow lists host names, addresses and ranges that may be reached besides the host of base_url
	// or url, and those allowed although they are loopback, private or otherwise not public.
	Allow []string `json:"allow,omitempty" yaml:"allow" kinds:"rest,mcp"`

	// Server names a server of the servers file, which declares how to reach it and defaults of its
	// tools. Decoding fills them in.
	Server string `json:"server,omitempty" yaml:"server" kinds:"mcp"`
	// URL is the MCP server's streamable-HTTP endpoint, or env:NAME; it is set if Argv is not.
	URL string `json:"url,omitempty" yaml:"url" kinds:"mcp"`
	// Tool is the tool's name on the MCP server; default the tool's name.
	Tool string `json:"tool,omitempty" yaml:"tool" kinds:"mcp"`
	// unresolved is set if Server could not be looked up.
	unresolved bool
	// Session is run (a session of each run; the default) or shared (for servers without state).
	Session string `json:"session,omitempty" yaml:"session" rule:"enum=run|shared" kinds:"mcp"`
	// Pin is the digest of the remote tool's name, description and schema when it was accepted.
	Pin string `json:"pin,omitempty" yaml:"pin" kinds:"mcp"`

	// Agent is the agent that runs. In YAML, agent: is the path of its file, relative to the
	// toolspec's.
	Agent *api.Agent `json:"agent,omitempty" yaml:"-" kinds:"agent"`
	// AgentFile is the path of the file that Agent was read from.
	AgentFile string `json:"-" yaml:"agent" kinds:"agent"`
	// Prompt is the template of the agent's prompt; default the argument prompt or task if there is
	// one, else all arguments as JSON.
	Prompt string `json:"prompt,omitempty" yaml:"prompt" kinds:"agent"`

	// Plan is the plan that runs. Strings in the arguments of its calls and in its output can have
	// placeholders {{args.name}}. In YAML, plan: is the path of its file, relative to the
	// toolspec's.
	Plan *api.Plan `json:"plan,omitempty" yaml:"-" kinds:"plan"`
	// PlanFile is the path of the file that Plan was read from.
	PlanFile string `json:"-" yaml:"plan" kinds:"plan"`

	// Question is the template of the question to the person; default the argument question if
	// there is one, else the tool's description and all arguments.
	Question string `json:"question,omitempty" yaml:"question" kinds:"human"`
	// AnswerWithin bounds the wait for a person's answer. For human it defaults to 168h. For mcp it
	// allows the server to ask a person during a call; without it, the default, such questions are
	// declined. For tools written in Go it allows tool.Ask.
	AnswerWithin api.Duration `json:"answer_within,omitzero" yaml:"answer_within" rule:"above=0s,max=8760h" kinds:"human,mcp,function,stateful"`
}

// StatusRule sets the meaning of responses with some statuses.
type StatusRule struct {
	// Status is a number such as 404, or 4xx.
	Status string `json:"status" yaml:"status" rule:"required"`
	// Means is answer, retry or fail.
	Means string `json:"means" yaml:"means" rule:"required,enum=answer|retry|fail"`
	// Message is the first text that the model gets about a failure.
	Message string `json:"message,omitempty" yaml:"message"`
}

// ExecutionSpec declares where and how calls run. In YAML, parallelizable: true or false is
// an alias of access: shared or exclusive.
type ExecutionSpec struct {
	Lane string `json:"lane" yaml:"lane"`
	// laneless is set if the spec named no lane, so that the lane of its category takes precedence
	// over Lane.
	laneless bool
	Access   api.Access `json:"access" yaml:"access" rule:"enum=shared|exclusive"`
	Effect   api.Effect `json:"effect" yaml:"effect" rule:"enum=read|idempotent|once"`
	// Priority is that of calls whose run and plan set none; empty is normal.
	Priority api.Priority `json:"priority,omitempty" yaml:"priority" rule:"enum=urgent|high|normal|low"`
	// Timeout bounds one attempt; default 30s, 2s on the lane inline, and 1h for a sub-agent's
	// whole run.
	Timeout api.Duration `json:"timeout" yaml:"timeout" rule:"above=0s,max=24h"`
	// QueueTimeout bounds the wait for a worker; zero means no bound.
	QueueTimeout api.Duration `json:"queue_timeout,omitzero" yaml:"queue_timeout" rule:"above=0s"`
	// Heartbeat is the time without a heartbeat after which a worker counts as lost, at least 1s;
	// default 1m for effect once, else 3s, and 15s for stateful tools and MCP sessions.
	Heartbeat api.Duration `json:"heartbeat" yaml:"heartbeat" rule:"min=1s,max=1h"`
	Retry     api.Retry    `json:"retry,omitzero" yaml:"retry"`
	// MaxResult bounds the result in bytes; default 32 KiB, at most 1 MiB.
	MaxResult int `json:"max_result" yaml:"max_result" rule:"size,min=1,max=1MiB"`
	// SlowAfter marks calls that take longer as slow; default 5s, and 10m for a sub-agent.
	SlowAfter api.Duration `json:"slow_after" yaml:"slow_after" rule:"above=0s"`
	// ExpectedTokens is the usual number of tokens of a result, which the audit compares with
	// actual ones; zero means unknown.
	ExpectedTokens int `json:"expected_tokens,omitempty" yaml:"expected_tokens" rule:"min=1,max=1000000"`
	// Arguments is strict or lenient; empty leaves it to the run or the catalog.
	Arguments api.Mode `json:"arguments,omitempty" yaml:"arguments" rule:"enum=strict|lenient"`
	// OnInvalidOutput is fail (the default) or warn.
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

// Values of Entry.Session.
const (
	// SessionRun is one session for each run that calls tools of the server. It is the default.
	SessionRun = "run"
	// SessionShared declares a server that keeps no state: the calls of all runs share connections.
	SessionShared = "shared"
)
