package workflows

import (
	"cmp"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// recallTimeout bounds an attempt of the recall: the server may take a while to list what has only just ended, and an
// earlier run is replayed to be asked.
const loadTimeout = time.Minute

// recall returns the messages that the run begins with: those of the conversation's earlier runs where the input asks for
// them, in one recorded step, else earlier as it is. The turns number on from theirs.
func (r *agentRun) loadConversation(ctx workflow.Context, earlier []byte) ([]byte, error) {
	if !r.in.Continue || r.in.State != nil {
		return earlier, nil
	}
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	if problem := cannotContinue(r.in, id, earlier); problem != "" {
		return nil, invalid([]api.Problem{{Path: "$.continue", Rule: ruleConversation, Message: problem}})
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "recall", StartToCloseTimeout: loadTimeout, WaitForCancellation: true, Summary: "earlier runs of the conversation",
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 5, InitialInterval: time.Second, BackoffCoefficient: 2},
	})
	var loaded api.LoadedConversation
	request := api.LoadConversationRequest{Conversation: cmp.Or(r.in.Conversation, id)}
	err := workflow.ExecuteActivity(ctx, api.LoadConversationActivity, request).Get(ctx, &loaded)
	switch {
	case temporal.IsCanceledError(err):
		return nil, err
	case err != nil:
		loaded.Problems = []api.Problem{{Path: "$.conversation", Rule: ruleConversation,
			Message: "the earlier runs cannot be read: " + api.Shorten(activityFailure(err).Message, 1000)}}
	}
	if len(loaded.Problems) > 0 {
		return nil, invalid(loaded.Problems)
	}
	r.turn, r.before, r.loaded = loaded.Turn, loaded.Turn, loaded.Labels
	return loaded.Messages, nil
}

// ruleConversation is the rule of problems that keep a run from going on with its conversation.
const ruleConversation = "conversation"

// cannotContinue says why a run with that workflow id cannot go on with the conversation; empty where it can.
func cannotContinue(in api.RunInput, id string, earlier []byte) string {
	switch {
	case in.Parent != nil:
		return "a sub-agent's run goes on with no conversation"
	case len(earlier) > 0:
		return "the run has earlier messages as its second input already; give one of the two"
	case in.Conversation != "" && in.Conversation != id:
		return "a run that goes on with the conversation " + in.Conversation + " has that for its workflow id, so that no two go on with it at once; this one is " + id
	}
	return ""
}
