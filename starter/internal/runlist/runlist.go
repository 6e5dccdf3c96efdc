// Package runlist finds runs on the server with visibility queries.
package runlist

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/cli"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// Run is one run of a list.
type Run struct {
	ID           string          `json:"workflow_id"`
	RunID        string          `json:"run_id"`
	Kind         history.RunKind `json:"kind"`
	Agent        string          `json:"agent,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Caller       string          `json:"caller,omitempty"`
	// Parent is the run that a sub-agent's run works for.
	Parent  string            `json:"parent,omitempty"`
	Status  history.RunStatus `json:"status"`
	Started time.Time         `json:"started"`
	// Paused tells who paused the run. It is unknown for runs paused on the server.
	Paused *api.Pause `json:"paused,omitempty"`
	// Awaits is since when calls of the run or its sub-agents wait for approval.
	Awaits time.Time `json:"awaits_approval_since,omitzero"`
	// Unread is why it is unknown whether the run is paused or waits for approval. Empty if it is
	// known.
	Unread string `json:"unread,omitempty"`
	// WaitsFor is what the run or a descendant needs from people, as far as visibility shows it.
	WaitsFor []audit.Awaited `json:"waits_for,omitempty"`
	// Decision is a person's evaluation of the run, if it was queried; lists do not show it.
	Decision *api.RunEvaluation `json:"-"`
	// asks is set if the run or a descendant waits for an answer.
	asks bool
	// root is the root of the run's tree.
	root     string
	Closed   time.Time    `json:"closed,omitzero"`
	Duration api.Duration `json:"duration"`
	// Waiting and the fields below come from search attributes that the run sets, if the namespace
	// has them, as of their last update.
	Waiting bool        `json:"waiting,omitempty"`
	Outcome api.Outcome `json:"outcome,omitempty"`
	Tools   []string    `json:"tools,omitempty"`
	Turns   int         `json:"turns,omitempty"`
	Calls   int         `json:"calls,omitempty"`
	Tokens  int         `json:"tokens,omitempty"`
	Cost    float64     `json:"cost,omitempty"`
}

// KindDirect is a direct call's kind, as the search attribute SwitchyardKind has it.
const KindDirect = history.RunKind(api.CallerDirect)

// KindWord returns the kind of a run as starter spells it.
func KindWord(k history.RunKind) history.RunKind {
	if k == history.RunCall {
		return KindDirect
	}
	return k
}

// runTypes maps workflow types to kinds of run.
var runTypes = map[string]history.RunKind{
	api.AgentWorkflow:   history.RunAgent,
	api.PlanWorkflow:    history.RunPlan,
	api.CallWorkflow:    KindDirect,
	api.SessionWorkflow: history.RunSession,
}

// conditionFor returns the query for runs that match a condition and belong to a conversation,
// either of which may be empty. all includes sub-agents' runs.
func conditionFor(query, conversation string, all bool) string {
	condition := history.TopRuns()
	if all {
		condition = history.AllRuns()
	}
	if conversation != "" {
		condition += " AND " + conversationCondition(conversation)
	}
	if query != "" {
		condition += " AND (" + query + ")"
	}
	return condition
}

func newRun(e *workflowpb.WorkflowExecutionInfo) Run {
	fields := e.GetSearchAttributes().GetIndexedFields()
	r := Run{
		ID: e.GetExecution().GetWorkflowId(), RunID: e.GetExecution().GetRunId(),
		Kind:         runTypes[e.GetType().GetName()],
		Agent:        cli.AttributeText(fields[api.AttributeAgent]),
		Conversation: cli.AttributeText(fields[api.AttributeConversation]),
		Caller:       cli.AttributeText(fields[api.AttributeCaller]),
		Parent:       e.GetParentExecution().GetWorkflowId(),
		Status:       audit.ToRunStatus(e.GetStatus()),
		Started:      e.GetStartTime().AsTime(), root: e.GetRootExecution().GetWorkflowId(),
	}
	r.takeMemo(e)
	if e.GetCloseTime() != nil {
		r.Closed = e.GetCloseTime().AsTime()
		r.Duration = api.Duration(r.Closed.Sub(r.Started))
	} else {
		r.Duration = api.Duration(time.Since(r.Started))
	}
	r.takeKept(fields)
	return r
}

// takeMemo reads an open run's pause and approval wait from its memo.
func (r *Run) takeMemo(e *workflowpb.WorkflowExecutionInfo) {
	fields := e.GetMemo().GetFields()
	if e.GetCloseTime() != nil {
		return
	}
	for _, name := range []string{api.PausedMemo, api.ApprovalsMemo} {
		if key, sealed := payloads.KeyID(fields[name]); sealed {
			r.Unread = fmt.Sprintf(
				"pause and approval status are encrypted with the key %q; pass a file with this key as --payload-keys",
				key)
		}
	}
	if paused := cli.AttributeValue[api.Pause](
		fields[api.PausedMemo]); r.Status == history.RunRunning && paused.By != "" {
		r.Status, r.Paused = history.RunPaused, &paused
	}
	r.Awaits = cli.AttributeValue[time.Time](fields[api.ApprovalsMemo])
}

// takeKept reads the search attributes that the run sets.
func (r *Run) takeKept(fields map[string]*commonpb.Payload) {
	r.Waiting = cli.AttributeValue[bool](fields[api.AttributeWaiting]) && r.Closed.IsZero()
	r.asks = r.Waiting && r.Awaits.IsZero() && r.Unread == ""
	r.Outcome, r.Tools = cmp.Or(cli.AttributeValue[api.Outcome](fields[api.AttributeOutcome]),
		untold[r.Status]), cli.AttributeValue[[]string](fields[api.AttributeTools])
	r.Turns, r.Calls = cli.AttributeValue[int](fields[api.AttributeTurns]),
		cli.AttributeValue[int](fields[api.AttributeCalls])
	r.Tokens, r.Cost = cli.AttributeValue[int](fields[api.AttributeTokens]),
		cli.AttributeValue[float64](fields[api.AttributeCost])
}

var queryPlace = regexp.MustCompile(` at position \d+( near '.*')?`)

// queryError separates invalid queries from other errors.
func queryError(query string, err error) error {
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && query != "" {
		// Remove positions, which refer to the query with the condition added before it.
		text := queryPlace.ReplaceAllString(err.Error(), "")
		return cli.Errorf(cli.ExitUsage,
			"--query is not valid: %s\nAn example: --query 'ExecutionStatus=\"Failed\"'", text)
	}
	return err
}

// MaxPage is the maximum page size of a query.
const MaxPage = 1000

// RunStateText colours a run's status, or what it needs from people.
func RunStateText(p cli.Palette, s history.RunStatus, awaited []audit.Awaited) string {
	if words := audit.StatusText(s, awaited); words != string(s) {
		return p.Warn(words)
	}
	return RunStatusText(p, s)
}

// RunStatusText colours a run's status.
func RunStatusText(p cli.Palette, s history.RunStatus) string {
	switch s {
	case history.RunCompleted:
		return p.Good(string(s))
	case history.RunFailed, history.RunTerminated, history.RunTimedOut:
		return p.Bad(string(s))
	case history.RunCancelled, history.RunPaused:
		return p.Warn(string(s))
	}
	return string(s)
}

// StatusText formats the run's status.
func (r Run) StatusText(p cli.Palette) string {
	if r.Status == history.RunRunning && len(r.WaitsFor) == 0 && r.Unread != "" {
		return RunStatusText(p, r.Status) + p.Warn(" (or paused, or waits)")
	}
	return RunStateText(p, r.Status, r.WaitsFor)
}
