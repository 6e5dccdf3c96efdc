package api

// The kinds of tool, as entry.type of a toolspec names them. The older names builtin, external and
// custom are read as function, command and stateful.
const (
	// KindFunction is a stateless Go function that the worker registers.
	KindFunction = "function"
	// KindStateful is a Go type with one instance per run.
	KindStateful = "stateful"
	// KindREST is an HTTP API, by configuration only.
	KindREST = "rest"
	// KindMCP is a tool of an MCP server, by configuration only.
	KindMCP = "mcp"
	// KindCommand is a program.
	KindCommand = "command"
	// KindAgent is another agent, a sub-agent with a run of its own.
	KindAgent = "agent"
	// KindHuman is a question to a person.
	KindHuman = "human"
)

// OnLoss says what a run does when the worker that hosts a stateful tool's instance is lost.
type OnLoss string

const (
	// OnLossFail, the default, ends the tool for this run: later calls fail with worker_lost, so
	// that lost state is never replaced silently.
	OnLossFail OnLoss = "fail"
	// OnLossRecreate makes a new instance on another worker, from the last snapshot if the tool
	// takes snapshots.
	OnLossRecreate OnLoss = "recreate"
)

// Progress is how far a running call has come, as its tool reports it.
type Progress struct {
	Done float64 `json:"done"`
	// Total is what Done will be at the end; zero if unknown.
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}
