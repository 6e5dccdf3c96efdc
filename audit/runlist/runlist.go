// Package runlist lists runs by what visibility knows about them, page by page.
package runlist

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/value/visibility"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Query selects runs. Its zero value selects all that no other run started.
type Query struct {
	// Query is a visibility query that the runs must match as well.
	Query string
	// Conversation, Agent, Caller and Tool are exact names; Tool is one that the run or a sub-agent
	// called.
	Conversation, Agent, Caller, Tool string
	// Status is that of the runs. Running includes runs that are paused.
	Status  history.RunStatus
	Outcome api.Outcome
	// Waiting selects open runs that wait for a person. All includes the runs of sub-agents.
	Waiting, All bool
	// Since and Until bound the start of the runs; Until is excluded.
	Since, Until time.Time
}

// Run is one run of a page. Tools and the fields below it are as of the last time that the run
// waited for a person, continued as new or ended.
type Run struct {
	WorkflowID   string            `json:"workflow_id"`
	RunID        string            `json:"run_id"`
	Kind         history.RunKind   `json:"kind"`
	Agent        string            `json:"agent,omitempty"`
	Caller       string            `json:"caller,omitempty"`
	Conversation string            `json:"conversation,omitempty"`
	Status       history.RunStatus `json:"status"`
	// Waits is set if the run waits for a person.
	Waits   bool        `json:"waits,omitempty"`
	Started time.Time   `json:"started"`
	Closed  time.Time   `json:"closed,omitzero"`
	Tools   []string    `json:"tools,omitempty"`
	Outcome api.Outcome `json:"outcome,omitempty"`
	Calls   int         `json:"calls,omitempty"`
	Tokens  int         `json:"tokens,omitempty"`
	Cost    float64     `json:"cost,omitempty"`
}

// statusNames maps closed states to the server's names.
var statusNames = map[history.RunStatus]string{history.RunCompleted: "Completed",
	history.RunFailed: "Failed", history.RunCancelled: "Canceled",
	history.RunTerminated: "Terminated", history.RunTimedOut: "TimedOut"}

// condition returns the visibility query.
func (q Query) condition() string {
	parts := []string{history.TopRuns()}
	if q.All {
		parts[0] = history.AllRuns()
	}
	for _, one := range []struct{ attribute, value string }{
		{api.AttributeConversation, q.Conversation}, {api.AttributeAgent, q.Agent},
		{api.AttributeCaller, q.Caller}, {api.AttributeTools, q.Tool},
		{api.AttributeOutcome, string(q.Outcome)},
	} {
		if one.value != "" {
			parts = append(parts, visibility.In(one.attribute, one.value))
		}
	}
	if name := statusNames[q.Status]; name != "" {
		parts = append(parts, "ExecutionStatus = "+visibility.Quote(name))
	} else if q.Status != "" {
		parts = append(parts, "CloseTime IS NULL")
	}
	if q.Waiting {
		parts = append(parts, api.AttributeWaiting+" = true AND CloseTime IS NULL")
	}
	parts = append(parts, between("StartTime", q.Since, q.Until)...)
	if q.Query != "" {
		parts = append(parts, "("+q.Query+")")
	}
	return strings.Join(parts, " AND ")
}

// keeps reports whether a run that meets the condition is selected: the condition does not tell
// paused runs from running ones, and for texts with a backslash it compares their beginning only.
func (q Query) keeps(r Run) bool {
	for _, one := range []struct{ want, is string }{
		{q.Conversation, r.Conversation}, {q.Agent, r.Agent}, {q.Caller, r.Caller},
	} {
		if one.want != "" && one.want != one.is {
			return false
		}
	}
	return q.Status != history.RunPaused || r.Status == history.RunPaused
}

func between(attribute string, from, to time.Time) (parts []string) {
	if !from.IsZero() {
		parts = append(parts, fmt.Sprintf("%s >= '%s'", attribute,
			from.UTC().Format(time.RFC3339Nano)))
	}
	if !to.IsZero() {
		parts = append(parts, fmt.Sprintf("%s < '%s'", attribute,
			to.UTC().Format(time.RFC3339Nano)))
	}
	return parts
}

// Page returns at most size runs in the server's order, which is open ones first, each newest
// first. token is that of the page before; next is empty after the last page. The error is that of
// the server.
func Page(ctx context.Context, c client.Client, namespace string, q Query, size int,
	token []byte) (runs []Run, next []byte, err error) {
	page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: namespace, Query: q.condition(), PageSize: int32(size), NextPageToken: token})
	if err != nil {
		return nil, nil, err
	}
	for _, e := range page.GetExecutions() {
		if r := newRun(e); q.keeps(r) {
			runs = append(runs, r)
		}
	}
	return runs, page.GetNextPageToken(), nil
}

func newRun(e *workflowpb.WorkflowExecutionInfo) Run {
	fields := e.GetSearchAttributes().GetIndexedFields()
	r := Run{WorkflowID: e.GetExecution().GetWorkflowId(), RunID: e.GetExecution().GetRunId(),
		Kind:         history.KindFromType(e.GetType().GetName()),
		Agent:        value[string](fields[api.AttributeAgent]),
		Caller:       value[string](fields[api.AttributeCaller]),
		Conversation: value[string](fields[api.AttributeConversation]),
		Status:       audit.ToRunStatus(e.GetStatus()), Started: pb.Time(e.GetStartTime()),
		Closed:  pb.Time(e.GetCloseTime()),
		Tools:   value[[]string](fields[api.AttributeTools]),
		Outcome: value[api.Outcome](fields[api.AttributeOutcome]),
		Calls:   value[int](fields[api.AttributeCalls]),
		Tokens:  value[int](fields[api.AttributeTokens]),
		Cost:    value[float64](fields[api.AttributeCost])}
	if !r.Closed.IsZero() {
		return r
	}
	memo := e.GetMemo().GetFields()
	if paused := value[api.Pause](memo[api.PausedMemo]); paused.By != "" {
		r.Status = history.RunPaused
	}
	r.Waits = value[bool](fields[api.AttributeWaiting]) ||
		!value[time.Time](memo[api.ApprovalsMemo]).IsZero()
	return r
}

// value decodes a payload; the zero value if it is missing or of another type.
func value[T any](p *commonpb.Payload) (v T) {
	if p == nil || pb.DataConverter.FromPayload(p, &v) != nil {
		var none T
		return none
	}
	return v
}
