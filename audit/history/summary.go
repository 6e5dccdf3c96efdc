package history

import (
	"time"

	"github.com/switchyard/switchyard/api"
)

// RunKind is what a run executes.
type RunKind string

// The kinds of run.
const (
	RunAgent RunKind = "agent"
	RunPlan  RunKind = "plan"
	// RunCall is spelled like the type of its caller.
	RunCall RunKind = "direct"
	// RunSession makes the calls that a client submits one by one.
	RunSession RunKind = "session"
)

// RunStatus is the status of a run.
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

// Summary describes one run.
type Summary struct {
	// WorkflowID identifies the run. Run is the ID of the first execution of its chain.
	WorkflowID string `json:"workflow_id"`
	Run        string `json:"run_id"`
	// Kind is what the run executes.
	Kind RunKind `json:"kind"`
	// Name is the name of the agent, the plan or the tool, or the client of a session. Prompt is
	// that of an agent's run.
	Name   string `json:"name,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// Status says whether the run is open, or how it ended.
	Status       RunStatus `json:"status"`
	Conversation string    `json:"conversation,omitempty"`
	// Continues is the earlier run of the conversation whose messages this run started with.
	Continues *api.ContinuedRun `json:"continues,omitempty"`
	// Caller is who started the run. The caller of a sub-agent's run is the caller of its call.
	Caller api.Caller `json:"caller,omitzero"`
	// Provider and Model are set for agents. Trace is the trace of the caller, a W3C traceparent.
	Provider api.Provider `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Trace    string       `json:"trace,omitempty"`
	// Limits are those of an agent's run, with what people have granted to this run.
	Limits *api.Limits `json:"limits,omitempty"`
	// DryRun is set if the run withholds calls.
	DryRun bool `json:"dry_run,omitempty"`
	// Features has what features were given with the input of the run, by their names.
	Features api.Features `json:"features,omitempty"`
	// TaskQueue is that of the run's workflow.
	TaskQueue string `json:"task_queue,omitempty"`
	// Parent is the call that the run of a sub-agent works for.
	Parent *api.Parent `json:"parent,omitempty"`
	// Started and Closed are when the run began and ended.
	Started time.Time `json:"started,omitzero"`
	Closed  time.Time `json:"closed,omitzero"`
	// Result is what the run returned: outcome, answer, output, failures. It is nil for an open run
	// and for a run without a result. For a failed run it may have the usage only.
	Result *api.RunResult `json:"result,omitempty"`
	// Failure, FailureType and Problems say why the run failed or was stopped.
	Failure     string           `json:"failure,omitempty"`
	FailureType api.RunErrorType `json:"failure_type,omitempty"`
	Problems    []api.Problem    `json:"problems,omitempty"`
	// Usage counts what the run has used so far.
	Usage api.Usage `json:"usage"`
	// Tools are those that the run pinned at its start.
	Tools []PinnedTool `json:"tools,omitempty"`
	// DescendantTools are pinned too: the tools of its sub-agents, and those that undo or verify
	// calls.
	DescendantTools []PinnedTool `json:"descendant_tools,omitempty"`
	// Paused says who paused the run.
	Paused *api.Pause `json:"paused,omitempty"`
	// Questions are the open questions, oldest first.
	Questions []api.Question `json:"questions,omitempty"`
	// Approvals are the calls that wait for approval, oldest first.
	Approvals []api.Approval `json:"approvals,omitempty"`
	// SubAgents are the calls that sub-agents executed, in the order in which they started.
	SubAgents []SubAgent `json:"sub_agents,omitempty"`
	// Parts are the executions of the chain, in order.
	Parts []Part `json:"parts"`
}

// PinnedTool is a tool in the version that the run pinned at its start.
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
	// HistoryEvents is the number of events of the history so far.
	HistoryEvents int `json:"history_events"`
}
