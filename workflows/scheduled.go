package workflows

import (
	"errors"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// attributeSchedule is the server's own search attribute that names the schedule that started a workflow. A run has it too, so
// that it is told from a sub-agent's run, which is a child as well.
const attributeSchedule = "TemporalScheduledById"

// ScheduledRun starts an agent's run that goes on with a conversation, under the conversation's id, and ends as that run does.
// It is what a schedule starts: schedules give their workflows ids of their own, and it is by the one id that two runs of a
// conversation exclude each other. While another one goes on it fails as a switchyard.RunInvalid.
func ScheduledRun(ctx workflow.Context, in api.RunInput, earlier []byte) (api.RunResult, error) {
	var result api.RunResult
	if in.Conversation == "" {
		return result, invalid([]api.Problem{{Path: "$.conversation", Rule: api.RuleRequired, Message: "a scheduled run of this kind goes on with a conversation, and the input names none"}})
	}
	info, known := workflow.GetInfo(ctx), workflow.GetTypedSearchAttributes(ctx)
	var updates []temporal.SearchAttributeUpdate
	for _, name := range []string{api.AttributeAgent, api.AttributeConversation, api.AttributeKind, api.AttributeCaller, attributeSchedule} {
		key := temporal.NewSearchAttributeKeyKeyword(name)
		if value, ok := known.GetKeyword(key); ok {
			updates = append(updates, key.ValueSet(value))
		}
	}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: in.Conversation, TaskQueue: info.TaskQueueName, WaitForCancellation: true, Priority: info.Priority,
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL, TypedSearchAttributes: temporal.NewSearchAttributes(updates...),
		StaticSummary: api.RunSummary(string(api.CallerAgent), agentName(in.Agent), in.Prompt),
	})
	workflow.SetCurrentDetails(ctx, "**Started** the agent's run that goes on with the conversation "+plainMarkdown(in.Conversation, maxDetailsText)+", and ends as that does.")
	inputs := []any{in}
	if earlier != nil {
		inputs = append(inputs, earlier)
	}
	err := workflow.ExecuteChildWorkflow(ctx, api.AgentWorkflow, inputs...).Get(ctx, &result)
	if _, busy := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err); busy {
		return result, invalid([]api.Problem{{Path: "$.conversation", Rule: ruleConversation, Message: "another run of the conversation " + in.Conversation + " goes on"}})
	}
	return result, err
}

func agentName(a *api.Agent) string {
	if a == nil {
		return ""
	}
	return a.Name
}
