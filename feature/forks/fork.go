// Package forks starts a run from a point of another one: the forked run has the conversation, the
// state and the results up to there, and goes on live. This package has what the run, package run,
// and the commands, package cmd, agree on.
package forks

import (
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
)

const (
	// InputKey is the name of the Fork among the features of a run's input.
	InputKey = "forked_from"
	// StateKey is the name of recorded calls, as api.Packed, in the state for the next execution.
	StateKey = "forks"
	// Memo is the memo field with the Fork of a forked run.
	Memo = "SwitchyardFork"
	// Signal takes a Part to a forked run whose conversation does not fit one input.
	Signal = "switchyard/fork_part"
)

// Fork says which run a forked run was started from, and what it takes over.
type Fork struct {
	// WorkflowID and RunID identify the source, RunID its first execution.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// At is the turn, such as "3", or the call, such as "3.2", from which on the forked run is live.
	At string `json:"at"`
	// Calls counts the calls whose results are taken over.
	Calls int `json:"calls,omitempty"`
	// Edited names what differs from the source, such as "1.2" for a result or "model".
	Edited []string `json:"edited,omitempty"`
	// Parts is the number of parts of the encoded State. The first part is the run's second input,
	// the others arrive as Signal.
	Parts int `json:"parts"`
}

// Source returns which run an input forks; nil for a run that is no fork.
func Source(features api.Features) (*Fork, error) {
	data := features[InputKey]
	if data == nil {
		return nil, nil
	}
	var f Fork
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("the source of the fork is unreadable: %w", err)
	}
	return &f, nil
}

// Prefix is the beginning of the IDs of all forks of a run.
func Prefix(source string) string { return source + "-fork-" }

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
	Error  *api.Error      `json:"error,omitempty"`
}
