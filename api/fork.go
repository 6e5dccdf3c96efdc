package api

import "encoding/json"

// Fork says which run a forked run was started from, and what it takes over.
type Fork struct {
	// WorkflowID and RunID identify the source, RunID its first execution.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// At is the turn, such as "3", or the call, such as "3.2", from which on the forked run is live.
	At string `json:"at"`
	// Turn is the last turn that is taken over, Before the number of turns that belong to earlier
	// runs of the source's conversation.
	Turn   int `json:"turn,omitempty"`
	Before int `json:"before,omitempty"`
	// Calls counts the calls whose results are taken over.
	Calls int `json:"calls,omitempty"`
	// Pending are the calls of the last turn that is taken over that the forked run makes first.
	Pending []Call `json:"pending,omitempty"`
	// Edited names what differs from the source, such as "1.2" for a result or "model".
	Edited []string `json:"edited,omitempty"`
	// Prompt is the beginning of the source's prompt, for hooks and lists.
	Prompt string `json:"prompt,omitempty"`
	// Parts is the number of parts of the encoded ForkState. The first part is the run's second
	// input, the others arrive as ForkSignal.
	Parts int `json:"parts"`
}

// Shown returns the fork for lists and summaries, without texts of the source.
func (f Fork) Shown() Fork {
	f.Prompt, f.Pending = "", nil
	return f
}

// ForkPrefix is the beginning of the IDs of all forks of a run.
func ForkPrefix(source string) string { return source + "-fork-" }

// RecordedCall is a call with effect once that the source of a forked run made after the point of
// the fork. An equal call of the forked run gets its outcome and is not executed.
type RecordedCall struct {
	// Key is the CallDigest of tool and arguments as the model wrote them, Executed that of the
	// arguments with which the call was executed: defaults, hooks and people may have changed them.
	Key      string `json:"key"`
	Executed string `json:"executed,omitempty"`
	// Source names the call and its run.
	Source string `json:"source"`
	// Output is its result, Error why there is none.
	Output json.RawMessage `json:"output,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}
