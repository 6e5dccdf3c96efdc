package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/payloads"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// maxPage is the number of runs asked for at once.
const maxPage = 1000

// listedRun is one run of a list.
type listedRun struct {
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
	// Awaits is since when calls of the run, or of the sub-agents' runs below it, wait for approval.
	Awaits time.Time `json:"awaits_approval_since,omitzero"`
	// Unread is why it is not known whether the run is paused or waits for approval; empty where it is.
	Unread string `json:"unread,omitempty"`
	// WaitsFor is what the run, or one below it, wants of people, as far as the server tells without being asked for each run.
	WaitsFor []audit.Awaited `json:"waits_for,omitempty"`
	// verdict is what a person said of the run, where that was asked.
	decision *api.RunEvaluation
	// asks says that the run, or one below it, waits for an answer.
	asks bool
	// root is the run at the top of the tree that this one belongs to.
	root     string
	Closed   time.Time    `json:"closed,omitzero"`
	Duration api.Duration `json:"duration"`
	// What the run keeps of itself as search attributes: where the namespace has them, and as of when it set them last.
	Waiting bool        `json:"waiting,omitempty"`
	Outcome api.Outcome `json:"outcome,omitempty"`
	Tools   []string    `json:"tools,omitempty"`
	Turns   int         `json:"turns,omitempty"`
	Calls   int         `json:"calls,omitempty"`
	Tokens  int         `json:"tokens,omitempty"`
	Cost    float64     `json:"cost,omitempty"`
}

func (a *app) listCommand() *cobra.Command {
	var runs selection
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, the newest first",
		Long: `Lists runs, the newest first. A query is one of Temporal's visibility; Switchyard's attributes are SwitchyardAgent,
SwitchyardConversation, SwitchyardKind (agent, plan or direct), SwitchyardCaller, SwitchyardOutcome, SwitchyardTools,
SwitchyardWaiting, SwitchyardCalls, SwitchyardTurns, SwitchyardTokens and SwitchyardCost.

Tools, calls, turns, tokens and cost are those of runs that are over; of others they are as of the last time that they waited
for a person or went on in a fresh history.

The runs of sub-agents are left out; --all lists them too. Their caller is the agent that called them.

The runs of an agent's conversation have one id. --conversation lists them with the id of each execution, which other
commands take as --run-id; without that they mean the latest.`,
		Example: `  starter list
  starter list --agent librarian --status failed --limit 5
  starter list --tool refund --caller ada --since 24h
  starter list --waiting
  starter list --conversation support-42
  starter list --query 'SwitchyardKind="direct" AND SwitchyardCost > 0.5'
  starter list --all --agent researcher
  starter list --output json | jq -r .workflow_id`,
		Args: arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := runs.check(cmd); err != nil {
				return err
			}
			return a.connected(cmd, func(ctx context.Context, c client.Client) error {
				list, err := a.list(ctx, c, &runs)
				if err != nil {
					return err
				}
				return cmp.Or(a.printRuns(list, runs.conversation != "", time.Now()), a.tellUnsure(list))
			})
		},
	}
	runs.add(cmd.Flags(), 20)
	cmd.Flags().BoolVar(&runs.all, "all", false, "the runs of sub-agents too")
	return cmd
}

// kindDirect is a direct call's kind, as the search attribute SwitchyardKind has it.
const kindDirect = history.RunKind(api.CallerDirect)

// kindWord is the kind of a run in starter's words.
func kindWord(k history.RunKind) history.RunKind {
	if k == history.RunCall {
		return kindDirect
	}
	return k
}

// runTypes maps workflow types to kinds of run.
var runTypes = map[string]history.RunKind{
	api.AgentWorkflow: history.RunAgent,
	api.PlanWorkflow:  history.RunPlan,
	api.CallWorkflow:  kindDirect,
}

// listCondition is the query for runs that meet a condition and belong to a conversation, either of which may be empty; all
// are those of sub-agents too.
func listCondition(query, conversation string, all bool) string {
	// The parts of a chain but the last are left out: a run is listed once.
	condition := fmt.Sprintf("WorkflowType IN ('%s', '%s', '%s') AND ExecutionStatus != 'ContinuedAsNew'", api.AgentWorkflow, api.PlanWorkflow, api.CallWorkflow)
	if !all {
		// A schedule starts the runs of a conversation as children of a workflow that is no run.
		condition += " AND (ParentWorkflowId IS NULL OR TemporalScheduledById IS NOT NULL)"
	}
	if conversation != "" {
		condition += " AND " + conversationCondition(conversation)
	}
	if query != "" {
		condition += " AND (" + query + ")"
	}
	return condition
}

func listed(e *workflowpb.WorkflowExecutionInfo) listedRun {
	fields := e.GetSearchAttributes().GetIndexedFields()
	r := listedRun{
		ID: e.GetExecution().GetWorkflowId(), RunID: e.GetExecution().GetRunId(), Kind: runTypes[e.GetType().GetName()],
		Agent: text(fields[api.AttributeAgent]), Conversation: text(fields[api.AttributeConversation]),
		Caller: text(fields[api.AttributeCaller]), Parent: e.GetParentExecution().GetWorkflowId(), Status: audit.StatusOf(e.GetStatus()), Started: e.GetStartTime().AsTime(), root: e.GetRootExecution().GetWorkflowId(),
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
func (r *listedRun) takeMemo(e *workflowpb.WorkflowExecutionInfo) {
	fields := e.GetMemo().GetFields()
	if e.GetCloseTime() != nil {
		return
	}
	for _, name := range []string{api.PausedMemo, api.ApprovalsMemo} {
		if key, sealed := payloads.KeyOf(fields[name]); sealed {
			r.Unread = fmt.Sprintf("whether it is paused or waits for approval is encrypted with the key %q; name a file that has it with --payload-keys", key)
		}
	}
	if paused := value[api.Pause](fields[api.PausedMemo]); r.Status == history.RunRunning && paused.By != "" {
		r.Status, r.Paused = history.RunPaused, &paused
	}
	r.Awaits = value[time.Time](fields[api.ApprovalsMemo])
}

// takeKept reads what the run keeps of itself.
func (r *listedRun) takeKept(fields map[string]*commonpb.Payload) {
	r.Waiting = value[bool](fields[api.AttributeWaiting]) && r.Closed.IsZero()
	r.asks = r.Waiting && r.Awaits.IsZero() && r.Unread == ""
	r.Outcome, r.Tools = cmp.Or(value[api.Outcome](fields[api.AttributeOutcome]), untold[r.Status]), value[[]string](fields[api.AttributeTools])
	r.Turns, r.Calls = value[int](fields[api.AttributeTurns]), value[int](fields[api.AttributeCalls])
	r.Tokens, r.Cost = value[int](fields[api.AttributeTokens]), value[float64](fields[api.AttributeCost])
}

func text(p *commonpb.Payload) string { return value[string](p) }

// value reads a search attribute or a field of a memo; the zero value where there is none, or one of another type.
func value[T any](p *commonpb.Payload) (v T) {
	if p == nil || converter.GetDefaultDataConverter().FromPayload(p, &v) != nil {
		var none T
		return none
	}
	return v
}

// tellUnsure is an error where it is not known of some runs how they stand. As JSON each says so itself.
func (a *app) tellUnsure(list []listedRun) error {
	var missing unread
	for _, r := range list {
		if r.Unread != "" {
			missing = append(missing, unreadRun{r.ID, r.RunID, r.Unread})
		}
	}
	if a.format.json() {
		return missing.exit(nil)
	}
	return missing.err()
}

func (a *app) printRuns(runs []listedRun, executions bool, now time.Time) error {
	if a.format.json() {
		return writeJSONLines(a.Out, runs)
	}
	if len(runs) == 0 {
		fmt.Fprintln(a.Err, "no runs")
		return nil
	}
	p := a.paletteFor(a.Out)
	t := table{header: []string{"run", "kind", "agent", "caller", "status", "started", "duration"}, right: map[int]bool{6: true}}
	if executions {
		t.header = append(t.header, "run id")
	}
	for _, r := range runs {
		row := []string{r.ID, string(r.Kind), r.Agent, r.Caller, r.statusText(p), a.format.when(r.Started, now), brief(r.Duration.Std())}
		if executions {
			row = append(row, r.RunID)
		}
		t.add(row...)
	}
	return a.print(t.text(p))
}

// standing is the run's status in words.
func (r listedRun) statusText(p palette) string {
	if r.Status == history.RunRunning && len(r.WaitsFor) == 0 && r.Unread != "" {
		return p.status(r.Status) + p.warn(" (or paused, or waits)")
	}
	return p.statusText(r.Status, r.WaitsFor)
}

// standing colours a run's status, or what people it waits for.
func (p palette) statusText(s history.RunStatus, awaited []audit.Awaited) string {
	if words := audit.StatusText(s, awaited); words != string(s) {
		return p.warn(words)
	}
	return p.status(s)
}

// status colours a run's status.
func (p palette) status(s history.RunStatus) string {
	switch s {
	case history.RunCompleted:
		return p.good(string(s))
	case history.RunFailed, history.RunTerminated, history.RunTimedOut:
		return p.bad(string(s))
	case history.RunCancelled, history.RunPaused:
		return p.warn(string(s))
	}
	return string(s)
}

var queryPlace = regexp.MustCompile(` at position \d+( near '.*')?`)

// queryError tells a wrong query from other trouble.
func queryError(query string, err error) error {
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && query != "" {
		// A place in the query means the one that the server was sent, with our part before it.
		text := queryPlace.ReplaceAllString(err.Error(), "")
		return failure(exitUsage, "--query is not valid: %s\nAn example: --query 'ExecutionStatus=\"Failed\"'", text)
	}
	return err
}
