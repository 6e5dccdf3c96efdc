// Package runlist finds runs on the server with visibility queries.
package runlist

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/switchyard/switchyard/audit/history"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/internal/cli"
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
	// Paused says who has the run pause; it is not known of one that the server holds.
	Paused *api.Pause `json:"paused,omitempty"`
	// Awaits is since when calls of the run, or of the sub-agents' runs below it, wait for
	// approval.
	Awaits time.Time `json:"awaits_approval_since,omitzero"`
	// Unread is why it is not known whether the run is paused or waits for approval; empty where it
	// is.
	Unread string `json:"unread,omitempty"`
	// WaitsFor is what the run, or one below it, wants of people, as far as the server tells
	// without being asked for each run.
	WaitsFor []audit.Awaited `json:"waits_for,omitempty"`
	// verdict is what a person said of the run, where that was asked.
	Decision *api.RunEvaluation
	// asks says that the run, or one below it, waits for an answer.
	asks bool
	// root is the run at the top of the tree that this one belongs to.
	root     string
	Closed   time.Time    `json:"closed,omitzero"`
	Duration api.Duration `json:"duration"`
	// What the run keeps of itself as search attributes: where the namespace has them, and as of
	// when it set them last.
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

// KindWord is the kind of a run in starter's words.
func KindWord(k history.RunKind) history.RunKind {
	if k == history.RunCall {
		return KindDirect
	}
	return k
}

// runTypes maps workflow types to kinds of run.
var runTypes = map[string]history.RunKind{
	api.AgentWorkflow: history.RunAgent,
	api.PlanWorkflow:  history.RunPlan,
	api.CallWorkflow:  KindDirect,
}

// Condition is the query for runs that meet a condition and belong to a conversation, either of
// which may be empty; all are those of sub-agents too.
func Condition(query, conversation string, all bool) string {
	// The parts of a chain but the last are left out: a run is listed once.
	condition := fmt.Sprintf("WorkflowType IN ('%s', '%s', '%s') AND ExecutionStatus != 'ContinuedAsNew'",
		api.AgentWorkflow, api.PlanWorkflow, api.CallWorkflow)
	if !all {
		// A schedule starts the runs of a conversation as children of a workflow that is no run.
		condition += " AND (ParentWorkflowId IS NULL OR TemporalScheduledById IS NOT NULL)"
	}
	if conversation != "" {
		condition += " AND " + ConversationCondition(conversation)
	}
	if query != "" {
		condition += " AND (" + query + ")"
	}
	return condition
}

func listed(e *workflowpb.WorkflowExecutionInfo) Run {
	fields := e.GetSearchAttributes().GetIndexedFields()
	r := Run{
		ID: e.GetExecution().GetWorkflowId(), RunID: e.GetExecution().GetRunId(),
		Kind:         runTypes[e.GetType().GetName()],
		Agent:        cli.AttributeText(fields[api.AttributeAgent]),
		Conversation: cli.AttributeText(fields[api.AttributeConversation]),
		Caller:       cli.AttributeText(fields[api.AttributeCaller]),
		Parent:       e.GetParentExecution().GetWorkflowId(), Status: audit.StatusOf(e.GetStatus()),
		Started: e.GetStartTime().AsTime(), root: e.GetRootExecution().GetWorkflowId(),
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

// takeMemo reads from the memo of a run that is open whether it is paused, and waits for approval.
func (r *Run) takeMemo(e *workflowpb.WorkflowExecutionInfo) {
	fields := e.GetMemo().GetFields()
	if e.GetCloseTime() != nil {
		return
	}
	for _, name := range []string{api.PausedMemo, api.ApprovalsMemo} {
		if key, sealed := payloads.KeyOf(fields[name]); sealed {
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

// takeKept reads what the run keeps of itself.
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

// queryError tells a wrong query from other trouble.
func queryError(query string, err error) error {
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && query != "" {
		// A place in the query means the one that the server was sent, with our part before it.
		text := queryPlace.ReplaceAllString(err.Error(), "")
		return cli.Errorf(cli.ExitUsage,
			"--query is not valid: %s\nAn example: --query 'ExecutionStatus=\"Failed\"'", text)
	}
	return err
}

// MaxPage is the number of runs asked for at once.
const MaxPage = 1000

// RunTextOf colours a run's status, or what people it waits for.
func RunTextOf(p cli.Palette, s history.RunStatus, awaited []audit.Awaited) string {
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

// StatusText is the run's status in words.
func (r Run) StatusText(p cli.Palette) string {
	if r.Status == history.RunRunning && len(r.WaitsFor) == 0 && r.Unread != "" {
		return RunStatusText(p, r.Status) + p.Warn(" (or paused, or waits)")
	}
	return RunTextOf(p, r.Status, r.WaitsFor)
}
