package history

import (
	"time"

	"github.com/switchyard/switchyard/api"
)

// RunKind says what kind of run it is.
type RunKind string

// The kinds of run.
const (
	RunAgent RunKind = "agent"
	RunPlan  RunKind = "plan"
	RunCall  RunKind = "call"
)

// RunStatus is how a run stands.
type RunStatus string

// The states of a run.
const (
	RunRunning    RunStatus = "running"
	RunPaused     RunStatus = "paused"
	RunCompleted  RunStatus = "completed"
	RunFailed     RunStatus = "failed"
	RunCancelled  RunStatus = "cancelled"
	RunTerminated RunStatus = "terminated"
	RunTimedOut   RunStatus = "timed_out"
)

// Summary is one run in brief.
type Summary struct {
	WorkflowID string `json:"workflow_id"`
	// Run is the id of the first execution of the chain.
	Run  string  `json:"run_id"`
	Kind RunKind `json:"kind"`
	// Name is the agent's, the plan's or the tool's.
	Name         string    `json:"name,omitempty"`
	Prompt       string    `json:"prompt,omitempty"`
	Status       RunStatus `json:"status"`
	Conversation string    `json:"conversation,omitempty"`
	// Continues is the run of the conversation with whose messages this one began, where it went on with one.
	Continues *api.ContinuedRun `json:"continues,omitempty"`
	// Caller is who started the run, of a sub-agent's the caller of the call that it works for.
	Caller api.Caller `json:"caller,omitzero"`
	// Provider and Model are those of an agent. Trace is what the run was started with: the caller's trace, as W3C's traceparent.
	Provider api.Provider `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Trace    string       `json:"trace,omitempty"`
	// DryRun says that the run withholds calls, FromDryRun that it makes those that a dry run withheld.
	DryRun     bool            `json:"dry_run,omitempty"`
	FromDryRun *api.FromDryRun `json:"from_dry_run,omitempty"`
	TaskQueue  string          `json:"task_queue,omitempty"`
	// Parent is the call that the run works for, where it is a sub-agent's.
	Parent  *api.Parent `json:"parent,omitempty"`
	Started time.Time   `json:"started,omitzero"`
	Closed  time.Time   `json:"closed,omitzero"`
	// Result is what the run returned: outcome, answer, output, failures. It is nil for a run that is not closed or said
	// nothing; of a failed one it may hold the usage alone.
	Result *api.RunResult `json:"result,omitempty"`
	// Failure, FailureType and Problems say why the run failed or was stopped.
	Failure     string           `json:"failure,omitempty"`
	FailureType api.RunErrorType `json:"failure_type,omitempty"`
	Problems    []api.Problem    `json:"problems,omitempty"`
	// Usage counts what the run has used so far.
	Usage api.Usage    `json:"usage"`
	Tools []PinnedTool `json:"tools,omitempty"`
	// Paused says who has the run pause, PausedOnServer who has the server hold it. A run may be both.
	Paused         *api.Pause `json:"paused,omitempty"`
	PausedOnServer *api.Pause `json:"paused_on_server,omitempty"`
	// Questions are those that are open, the oldest first.
	Questions []api.Question `json:"questions,omitempty"`
	// Approvals are the calls that wait until a person has approved them, the oldest first.
	Approvals []api.Approval `json:"approvals,omitempty"`
	// SubAgents are the calls that sub-agents executed, in the order in which they began.
	SubAgents []SubAgent `json:"sub_agents,omitempty"`
	// Parts are the executions of the chain, in order.
	Parts []Part `json:"parts"`
}

// PinnedTool is a tool as the run fixed it at its start.
type PinnedTool struct {
	Name    string     `json:"name"`
	Version string     `json:"version"`
	Digest  string     `json:"digest"`
	Lane    string     `json:"lane"`
	Access  api.Access `json:"access"`
	Effect  api.Effect `json:"effect"`
}

// Part is one execution of a run's chain.
type Part struct {
	RunID   string    `json:"run_id"`
	Started time.Time `json:"started"`
	// HistoryEvents counts the events of its history so far.
	HistoryEvents int `json:"history_events"`
}
