package api

// The kinds of tool, as a toolspec's entry.type names them. The older names builtin, external and custom are read as
// function, command and stateful.
const (
	// KindFunction is a stateless Go function that the worker has registered.
	KindFunction = "function"
	// KindStateful is a Go type of which every run has an instance of its own.
	KindStateful = "stateful"
	// KindREST is an HTTP API, by configuration alone.
	KindREST = "rest"
	// KindMCP is a tool of an MCP server, by configuration alone.
	KindMCP = "mcp"
	// KindCommand is a program.
	KindCommand = "command"
	// KindAgent is another agent: a run of its own below the one that calls it.
	KindAgent = "agent"
	// KindHuman is a person who is asked.
	KindHuman = "human"
)

// OnLoss says what a run does when the worker that held a stateful tool's instance is lost.
type OnLoss string

const (
	// OnLossFail ends the tool for this run: later calls are refused with worker_lost. It is the default, because state
	// that is gone is not replaced unnoticed.
	OnLossFail OnLoss = "fail"
	// OnLossRecreate makes a new instance on another worker, from the last snapshot where the tool takes some.
	OnLossRecreate OnLoss = "recreate"
)

// Progress is how far a call has come, as its tool tells while it runs.
type Progress struct {
	Done float64 `json:"done"`
	// Total is what Done will be at the end; zero where nobody knows.
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}
