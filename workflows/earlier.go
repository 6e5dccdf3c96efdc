package workflows

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// loadConversation returns the messages that the run begins with. If the input asks for a
// conversation, it loads the messages of its earlier runs in one recorded step and continues their
// turn numbers; otherwise it returns earlier unchanged.
func (r *agentRun) loadConversation(ctx workflow.Context, earlier []byte) ([]byte, error) {
	if !r.in.Continue || r.in.State != nil {
		return earlier, nil
	}
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	if problem := cannotContinue(r.in, id, earlier); problem != "" {
		return nil, Invalid([]api.Problem{{Path: "$.continue", Rule: api.RuleConversation,
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
		loaded.Problems = []api.Problem{{Path: "$.conversation", Rule: api.RuleConversation,
			Message: "the earlier runs cannot be read: " + display.Shorten(failure.Of(err).Message,
				1000)}}
	}
	if len(loaded.Problems) > 0 {
		return nil, Invalid(loaded.Problems)
	}
	r.turn, r.before, r.loaded = loaded.Turn, loaded.Turn, loaded.Labels
	return loaded.Messages, nil
}

// messagesBefore returns the messages before the prompt. The error says why the run cannot start.
func (r *agentRun) messagesBefore(ctx workflow.Context, earlier []byte) ([]api.Message, error) {
	for _, f := range r.followers {
		opening, err := f.Open(ctx, earlier)
		if err != nil {
			return nil, err
		}
		if opening != nil {
			r.loaded = opening.Labels
			return opening.Messages, nil
		}
	}
	if r.in.State == nil && (r.in.Beginning != nil || len(r.in.Features) > 0) {
		return nil, rejectFeatures(r.in.Features)
	}
	earlier, err := r.loadConversation(ctx, earlier)
	if err != nil {
		return nil, err
	}
	messages, err := codec.DecodeMessages(earlier)
	if err != nil {
		return nil, Invalid([]api.Problem{{Path: "$.messages", Rule: api.RuleType,
			Message: err.Error()}})
	}
	return messages, nil
}

// rejectFeatures returns the failure of a run that begins with what none of the worker's features
// takes.
func rejectFeatures(features api.Features) error {
	names := slices.Sorted(maps.Keys(features))
	return Invalid([]api.Problem{{Path: "$.features", Rule: api.RuleConversation,
		Message: fmt.Sprintf("the worker has no feature that begins a run with %s; start it on a "+
			"worker that has the feature", cmp.Or(strings.Join(names, ", "), "$.beginning"))}})
}

// page answers the conversation query.
func (r *agentRun) page(from int) (api.Page, error) {
	page := api.NewPage(r.conversation.Messages, from)
	page.Turn = r.turn
	page.Labels = r.Labels()
	return page, nil
}

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
