package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/toolspecs/schemas"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
)

// waiting is the error of a call that stays open after its execution returns.
var waiting = &api.Error{Message: "the call waits for a person"}

// Reply checks a reply to an open question, or completes the call that asked the question with a
// reply that was already checked: an answer becomes the result, through the phase post_execution,
// and a refusal becomes the error. Reply runs as a local activity of the update that contains the
// reply, and may run again: a completed call does not change.
func (a *Activities) Reply(ctx context.Context, r api.ReplyRequest) (api.ReplyDecision, error) {
	if !r.Complete {
		problems, err := checkReply(r)
		return api.ReplyDecision{Problems: problems}, err
	}
	outcome := api.CallOutcome{ID: r.Question.Call, Tool: r.Tool.Name,
		Error: people.RefusalError(r.Reply)}
	if !r.Reply.Decline {
		compiled, err := a.specs.Of(*r.Tool)
		if err != nil {
			return api.ReplyDecision{},
				fmt.Errorf("the pinned toolspec of %s cannot be used here: %w", r.Tool.Name, err)
		}
		var value bytes.Buffer
		if err := json.Compact(&value, r.Reply.Value); err != nil {
			return api.ReplyDecision{}, err
		}
		result, failure := a.results.Process(ctx, compiled, executor.Answer{Output: value.Bytes(),
			Notes: append(slices.Clone(r.Notes), people.ReplyNote(r.Reply))},
			results.NewAnsweredCall(ctx, r.Origin, r.Parent, r.Question.Call, *r.Tool, r.Arguments,
				r.Hooks))
		outcome.Result, outcome.Error = &result, failure
	}
	early, err := a.complete(ctx, outcome)
	if early {
		return api.ReplyDecision{Early: true}, nil
	}
	if err == nil {
		a.Conversations.KeepOutcome(r.Origin, outcome)
	}
	return api.ReplyDecision{}, err
}

// checkReply returns all problems of a reply's value.
func checkReply(r api.ReplyRequest) ([]api.Problem, error) {
	if r.Reply.Decline {
		return nil, nil
	}
	form, err := schemas.NewForm(r.Question.Schema)
	if err != nil {
		return nil, err
	}
	return form.Check(r.Reply.Value), nil
}

// complete completes the call that waits for a person. early reports that the server does not
// accept the completion yet, because no worker has started the call. It checks the call's state
// first, because it runs within a workflow task of the run and a rejected completion may repeat
// that task.
func (a *Activities) complete(ctx context.Context, o api.CallOutcome) (early bool, err error) {
	info := activity.GetInfo(ctx)
	run := info.WorkflowExecution
	described, err := a.config.Client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if err != nil {
		return false, err
	}
	pending := described.GetPendingActivities()
	i := slices.IndexFunc(pending,
		func(p *workflowpb.PendingActivityInfo) bool { return p.GetActivityId() == o.ID })
	if i < 0 {
		// completed by an earlier attempt of the same reply, or timed out
		return false, nil
	}
	if o.Error == nil {
		return false, a.config.Client.CompleteActivityByID(ctx, info.Namespace, run.ID, run.RunID,
			o.ID, o.Result, nil)
	}
	if state := pending[i].GetState(); state != enumspb.PENDING_ACTIVITY_STATE_STARTED &&
		state != enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED {
		return true, nil
	}
	return false, a.config.Client.CompleteActivityByID(ctx, info.Namespace, run.ID, run.RunID, o.ID,
		nil, executor.Failure(o.Error))
}
