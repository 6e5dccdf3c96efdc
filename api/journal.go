package api

// JournalEntry says of a call what the end of its attempt does not say. A run records entries on
// exceptional paths only; those of a workflow task are one marker in its history.
type JournalEntry struct {
	Call string `json:"call"`
	// Next is what follows the attempt; empty if the call has ended with Error.
	Next JournalStep `json:"next,omitempty"`
	// Failure is why the attempt failed. It is empty on the end of a call.
	Failure string `json:"failure,omitempty"`
	// MayHaveStarted says that an attempt so far may have started, so that the time until a later
	// one starts is not the call's wait in the queue.
	MayHaveStarted bool `json:"may_have_started,omitempty"`
	// Error is that of the call if nothing else ends it: the run was terminated.
	Error Error `json:"error"`
}

// NextTaskSummary is the summary of the timer with which a run ends a workflow task that has become
// large. Entries about what it has learned in that task may be in the next one.
const NextTaskSummary = "next workflow task, for its size"

// JournalStep is what follows an attempt of a call that has not ended.
type JournalStep string

// What follows an attempt: another one after a pause, or calls of the tool that verifies it.
const (
	JournalAttempt JournalStep = "attempt"
	JournalVerify  JournalStep = "verify"
)
