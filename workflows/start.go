package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/workflows/budget"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// pin fixes the run's tools in one recorded step. No later reload or deployment changes what the
// run works with. It returns an error if the run cannot start.
func pin(ctx workflow.Context, sizes *budget.Sizes, request api.PinRequest) (api.Pinned, error) {
	pinned, err := pinStep(ctx, sizes, request)
	if err == nil && len(pinned.Problems) > 0 {
		err = Invalid(pinned.Problems)
	}
	return pinned, err
}

// pinStep is pin for a run that goes on if there are problems.
func pinStep(ctx workflow.Context, sizes *budget.Sizes,
	request api.PinRequest) (api.Pinned, error) {
	var pinned api.Packed[api.Pinned]
	var recorded json.RawMessage
	var err error
	cancelled := sizes.Task.Record(ctx, api.MaxPayload, func() int {
		err = workflow.ExecuteLocalActivity(withSummary(withLocalOptions(ctx),
			"tools and rules of the run"), api.PinActivity, request).Get(ctx, &recorded)
		return len(recorded)
	})
	if err = cmp.Or(cancelled, err); err == nil {
		err = json.Unmarshal(recorded, &pinned)
	}
	return pinned.Value, err
}

// Invalid returns the failure of a run that cannot start.
func Invalid(problems []api.Problem) error {
	more := max(len(problems)-maxFailures, 0)
	problems = slices.Clone(problems[:len(problems)-more])
	lines := make([]string, len(problems))
	for i := range problems {
		problems[i].Message = cutText(problems[i].Message)
		lines[i] = problems[i].String()
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return runError(api.RunInvalid, "nothing was run: "+strings.Join(lines, "; "), nil, problems)
}

// answerSetup registers the queries for the run's variables and pinned setup, and the handlers that
// people control it with. pinned is read when a query arrives.
func answerSetup(ctx workflow.Context, in *api.RunInput, pinned *api.Pinned) (*control, error) {
	agent := in.Agent
	err := workflow.SetQueryHandler(ctx, api.VariablesQuery,
		func() (map[string]any, error) { return in.Variables, nil })
	if err != nil {
		return nil, err
	}
	err = workflow.SetQueryHandler(ctx, api.SetupQuery, func() (api.Setup, error) {
		setup := newSetup(ctx, in, pinned)
		setup.Agent, setup.Grows = agent, in.Session != nil
		return setup, nil
	})
	if err != nil {
		return nil, err
	}
	return newControl(ctx, agent != nil)
}

// newSetup returns what model steps of an agent's run need to know of it, without the agent.
func newSetup(ctx workflow.Context, in *api.RunInput, pinned *api.Pinned) api.Setup {
	setup := api.Setup{Pinned: api.Pack(*pinned), Queue: workflow.GetInfo(ctx).TaskQueueName}
	if in.Agent != nil {
		agent := api.Caller{Type: api.CallerAgent, ID: in.Agent.Name}
		setup.Caller = newOrigin(ctx, in, agent).Caller
		setup.Caller.Claims = nil
	}
	return setup
}

func newOrigin(ctx workflow.Context, in *api.RunInput, caller api.Caller) api.Origin {
	info := workflow.GetInfo(ctx)
	caller.Auth, caller.Claims = in.Caller.Auth, in.Caller.Claims
	if who := in.Caller.Identity(); who != caller.ID {
		caller.Principal = who
	}
	o := api.Origin{Run: cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID), Caller: caller,
		Conversation: in.Conversation, Trace: in.Trace, Variables: in.Variables, DryRun: in.DryRun}
	if in.State != nil {
		o.Run = in.State.Run
	}
	return o
}

// findConversation returns the conversation whose later runs can use the instances of a run; empty
// if
// there can be none.
func findConversation(ctx workflow.Context, in *api.RunInput) string {
	switch {
	case in.Parent != nil:
		return ""
	case in.Agent != nil || in.Session != nil:
		return cmp.Or(in.Conversation, workflow.GetInfo(ctx).WorkflowExecution.ID)
	}
	return in.Conversation
}

// loadTimeout bounds an attempt to load the conversation: the server may list a run that has just
// ended with a delay, and an earlier run is replayed to answer the query.
const loadTimeout = time.Minute

// loadHeartbeat is the time after which an attempt is repeated whose worker was lost or was cut off
// when it should have received it.
const loadHeartbeat = 5 * time.Second

// attributeSchedule is the server's search attribute for the schedule that started a workflow. A
// scheduled run sets it too: like the run of a sub-agent it is a child workflow, and the attribute
// distinguishes the two.
const attributeSchedule = "TemporalScheduledById"

// scheduledRun is the workflow that a schedule starts. It starts an agent run that continues a
// conversation, with the conversation's ID as workflow ID, and ends as that run does. Schedules
// give their workflows generated IDs, but two runs of a conversation exclude each other only by a
// common ID. It fails as api.RunInvalid while another run of the conversation is open.
func scheduledRun(ctx workflow.Context, in api.RunInput, earlier []byte) (api.RunResult, error) {
	var result api.RunResult
	if in.Conversation == "" {
		return result, Invalid([]api.Problem{{Path: "$.conversation", Rule: api.RuleRequired,
			Message: "the input of a scheduled run that continues a conversation must name it"}})
	}
	info, known := workflow.GetInfo(ctx), workflow.GetTypedSearchAttributes(ctx)
	var updates []temporal.SearchAttributeUpdate
	for _, name := range []string{api.AttributeAgent, api.AttributeConversation, api.AttributeKind,
		api.AttributeCaller, attributeSchedule} {
		key := temporal.NewSearchAttributeKeyKeyword(name)
		if value, ok := known.GetKeyword(key); ok {
			updates = append(updates, key.ValueSet(value))
		}
	}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: in.Conversation, TaskQueue: info.TaskQueueName, WaitForCancellation: true,
		WorkflowTaskTimeout:   api.WorkflowTaskTimeout,
		Priority:              info.Priority,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		TypedSearchAttributes: temporal.NewSearchAttributes(updates...),
		StaticSummary: callview.RunLine(string(api.CallerAgent), agentName(in.Agent),
			in.Prompt),
	})
	workflow.SetCurrentDetails(ctx,
		"**Started** the agent's run that continues the conversation "+
			plainMarkdown(in.Conversation, maxDetailsText)+", and ends as that does.")
	inputs := []any{in}
	if earlier != nil {
		inputs = append(inputs, earlier)
	}
	err := workflow.ExecuteChildWorkflow(ctx, api.AgentWorkflow, inputs...).Get(ctx, &result)
	if _, busy := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err); busy {
		return result, Invalid([]api.Problem{{Path: "$.conversation", Rule: api.RuleConversation,
			Message: "another run of the conversation " + in.Conversation + " is open"}})
	}
	return result, err
}

func agentName(a *api.Agent) string {
	if a == nil {
		return ""
	}
	return a.Name
}

// newCallStats summarises usage and the calls by tool, each tool once. It returns nil if there were
// no calls.
func newCallStats(used api.Usage, tools []api.PastCalls) *api.CallStats {
	if used.Calls == 0 {
		return nil
	}
	b := &api.CallStats{Calls: used.Calls, SuccessRate: float64(max(used.Calls-used.Failed,
		0)) / float64(used.Calls), Tools: slices.Clone(tools)}
	slices.SortFunc(b.Tools, func(x, y api.PastCalls) int {
		return cmp.Or(y.All()-x.All(),
			cmp.Compare(x.Tool, y.Tool))
	})
	b.Tools = b.Tools[:min(len(b.Tools), api.MaxCallStatsTools)]
	b.Others = b.Calls
	for _, t := range b.Tools {
		b.Others -= t.All()
	}
	b.Others = max(b.Others, 0)
	return b
}

// cutText cuts a text at maxFailureText bytes.
func cutText(s string) string {
	if len(s) <= maxFailureText {
		return s
	}
	return strings.ToValidUTF8(s[:maxFailureText], "") + "…"
}

// plainMarkdown escapes untrusted text for a line of Markdown. It escapes every character that
// Markdown could interpret, including those that form links.
func plainMarkdown(text string, limit int) string {
	var b strings.Builder
	for _, r := range display.Shorten(strings.TrimSpace(text), limit) {
		if r < 128 && strings.ContainsRune("\\`*_{}[]<>()#+-.!|~&$:@=^/", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Bounds of the failures that a run's error lists, and of their texts. The audit records of the
// calls are complete.
const (
	maxFailures    = 100
	maxFailureText = 2000
	// maxFailure bounds the JSON of one failure, beyond which it has only its text.
	maxFailure = 12 << 10
)
