package audit

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/client"
)

// Kind says what a Running is.
type Kind string

// The kinds of what can run or wait in a run.
const (
	KindCall Kind = "call"
	KindStep Kind = "model_step"
	// KindRun is the run itself: it waits for a worker to take its next decision.
	KindRun Kind = "run"
)

// State says how a Running stands.
type State string

// The states of a Running.
const (
	StateWaiting    State = "waiting" // for a worker of its lane
	StateRunning    State = "running"
	StateBackingOff State = "backing_off" // between two attempts
	StateCancelling State = "cancelling"  // asked to stop, and not yet stopped
	StatePaused     State = "paused"      // by an operator
)

// Running is a call, a model step, or the run's own next decision, that runs or waits now.
type Running struct {
	Kind Kind `json:"kind"`
	// ID is the call's id or the model step's ("turn-3", "summary"); empty for the run itself.
	ID string `json:"id,omitempty"`
	// Tool is set for calls.
	Tool  string `json:"tool,omitempty"`
	Lane  string `json:"lane,omitempty"`
	Queue string `json:"queue,omitempty"`
	State State  `json:"state"`
	// Attempt counts from 1; MaxAttempts of zero is no limit.
	Attempt     int `json:"attempt,omitempty"`
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Since is when it got into its state.
	Since time.Time `json:"since,omitzero"`
	// Started is the start of the last attempt, if there was one.
	Started time.Time `json:"started,omitzero"`
	// NextAttempt is when a backing off one goes on.
	NextAttempt time.Time `json:"next_attempt,omitzero"`
	Worker      string    `json:"worker,omitempty"`
	// LastFailure is why the last attempt failed.
	LastFailure string `json:"last_failure,omitempty"`
	// Heartbeat is the JSON value that the last heartbeat carried, if any.
	Heartbeat json.RawMessage `json:"heartbeat,omitempty"`
}

// Pending returns what runs or waits in a run now; nothing if the run is closed. runID is any execution of the run's
// chain, empty for the latest run of that workflow id. Errors: ErrNotFound, ErrNotARun, those of the server.
func Pending(ctx context.Context, c client.Client, workflowID, runID string) ([]Running, error) {
	return nil, nil
}
