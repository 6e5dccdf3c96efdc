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
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/failure"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// pin fixes the run's tools in one recorded step. No later reload or deployment changes what the
// run works with. It returns an error if the run cannot start.
func pin(ctx workflow.Context, sizes *budget.Sizes, request api.PinRequest) (api.Pinned, error) {
	pinned, err := pinStep(ctx, sizes, request)
	if err == nil && len(pinned.Problems) > 0 {
		err = invalid(pinned.Problems)
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
		err = workflow.ExecuteLocalActivity(saying(withLocalOptions(ctx),
			"tools and rules of the run"), api.PinActivity, request).Get(ctx, &recorded)
		return len(recorded)
	})
	if err = cmp.Or(cancelled, err); err == nil {
		err = json.Unmarshal(recorded, &pinned)
	}
	return pinned.Value, err
}

// invalid returns the failure of a run that cannot start.
func invalid(problems []api.Problem) error {
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
		setup := setupOf(ctx, in, pinned)
		setup.Agent, setup.Grows = agent, in.Session != nil
		return setup, nil
	})
	if err != nil {
		return nil, err
	}
	return newControl(ctx, agent != nil)
}

// setupOf returns what model steps of an agent's run need to know of it, without the agent.
func setupOf(ctx workflow.Context, in *api.RunInput, pinned *api.Pinned) api.Setup {
	setup := api.Setup{Pinned: api.Pack(*pinned), Queue: workflow.GetInfo(ctx).TaskQueueName}
	if in.Agent != nil {
		agent := api.Caller{Type: api.CallerAgent, ID: in.Agent.Name}
		setup.Caller = originOf(ctx, in, agent).Caller
		setup.Caller.Claims = nil
	}
	return setup
}

func originOf(ctx workflow.Context, in *api.RunInput, caller api.Caller) api.Origin {
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

// conversationOf returns the conversation whose later runs can use the instances of a run; empty if
// there can be none.
func conversationOf(ctx workflow.Context, in *api.RunInput) string {
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

// loadConversation returns the messages that the run begins with. If the input asks for a
// conversation, it loads the messages of its earlier runs in one recorded step and continues their
// turn numbers; otherwise it returns earlier unchanged.
func (r *agentRun) loadConversation(ctx workflow.Context, earlier []byte) ([]byte, error) {
	if !r.in.Continue || r.in.State != nil {
		return earlier, nil
	}
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	if problem := cannotContinue(r.in, id, earlier); problem != "" {
		return nil, invalid([]api.Problem{{Path: "$.continue", Rule: ruleConversation,
			Message: problem}})
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "load_conversation", StartToCloseTimeout: loadTimeout, HeartbeatTimeout: loadHeartbeat,
		WaitForCancellation: true, Summary: "earlier runs of the conversation",
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 10, InitialInterval: time.Second,
			BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
	var loaded api.LoadedConversation
	request := api.LoadConversationRequest{Conversation: cmp.Or(r.in.Conversation, id),
		Started: workflow.GetInfo(ctx).WorkflowStartTime, LastRun: r.in.LastRun}
	err := workflow.ExecuteActivity(ctx, api.LoadConversationActivity, request).Get(ctx, &loaded)
	switch {
	case temporal.IsCanceledError(err):
		return nil, err
	case err != nil:
		loaded.Problems = []api.Problem{{Path: "$.conversation", Rule: ruleConversation,
			Message: "the earlier runs cannot be read: " + display.Shorten(failure.Of(err).Message,
				1000)}}
	}
	if len(loaded.Problems) > 0 {
		return nil, invalid(loaded.Problems)
	}
	r.turn, r.before, r.loaded = loaded.Turn, loaded.Turn, loaded.Labels
	return loaded.Messages, nil
}

// messagesBefore returns the messages before the prompt. The error says why the run cannot start.
func (r *agentRun) messagesBefore(ctx workflow.Context, earlier []byte) ([]api.Message, error) {
	for _, f := range r.followers {
		if messages, opened, err := f.open(ctx, earlier); opened {
			return messages, err
		}
	}
	earlier, err := r.loadConversation(ctx, earlier)
	if err != nil {
		return nil, err
	}
	messages, err := codec.DecodeMessages(earlier)
	if err != nil {
		return nil, invalid([]api.Problem{{Path: "$.messages", Rule: api.RuleType,
			Message: err.Error()}})
	}
	return messages, nil
}

// ruleConversation is the rule of problems that prevent a run from continuing its conversation.
const ruleConversation = "conversation"

// cannotContinue returns why a run with that workflow ID cannot continue the conversation, or "".
func cannotContinue(in *api.RunInput, id string, earlier []byte) string {
	switch {
	case in.Parent != nil:
		return "the run of a sub-agent cannot continue a conversation"
	case len(earlier) > 0:
		return "the run has earlier messages as its second input already; give one of the two"
	case in.Conversation != "" && in.Conversation != id:
		return "the workflow id of a run that continues the conversation " + in.Conversation +
			" must be " + in.Conversation + ", so that no two runs continue it at once; it is " + id
	}
	return ""
}

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
		return result, invalid([]api.Problem{{Path: "$.conversation", Rule: api.RuleRequired,
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
		return result, invalid([]api.Problem{{Path: "$.conversation", Rule: ruleConversation,
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

// page answers the conversation query.
func (r *agentRun) page(from int) (api.Page, error) {
	page := api.PageOf(r.conversation.Messages, from)
	page.Turn = r.turn
	page.Labels = r.labels()
	return page, nil
}

// labels returns the labels that the run has seen so far.
func (r *agentRun) labels() []string {
	if r.pipeline == nil {
		return r.loaded
	}
	return r.pipeline.runFacts.Labels
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
