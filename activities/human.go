package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// waiting stands for the error of a call that is not over when its execution is.
var waiting = &api.Error{Message: "a person is asked"}

// Reply checks a reply to an open question, or has one that was found to fit end the call that was
// the question: an answer becomes its result, through the phase post_execution like every other
// one, and a refusal its error. Reply runs as a local activity of the update that brought the
// reply, and may run again: a call that is over stays as it is.
func (a *Activities) Reply(ctx context.Context, r api.ReplyRequest) (api.ReplyDecision, error) {
	if !r.Complete {
		problems, err := checkReply(r)
		return api.ReplyDecision{Problems: problems}, err
	}
	outcome := api.CallOutcome{ID: r.Question.Call, Tool: r.Tool.Name, Error: r.Reply.Denied()}
	if !r.Reply.Decline {
		compiled, err := a.specs.of(*r.Tool)
		if err != nil {
			return api.ReplyDecision{},
				fmt.Errorf("the pinned toolspec of %s cannot be used here: %w", r.Tool.Name, err)
		}
		var value bytes.Buffer
		if err := json.Compact(&value, r.Reply.Value); err != nil {
			return api.ReplyDecision{}, err
		}
		result, failure := a.postExecute(ctx, compiled, executor.Answer{Output: value.Bytes(),
			Notes: append(slices.Clone(r.Notes), r.Reply.Note())},
			unexecuted(ctx, r.Origin, r.Parent, r.Question.Call, *r.Tool, r.Arguments, r.Hooks))
		outcome.Result, outcome.Error = &result, failure
	}
	early, err := a.complete(ctx, outcome)
	if early {
		return api.ReplyDecision{Early: true}, nil
	}
	if err == nil {
		a.remember(r.Origin, outcome)
	}
	return api.ReplyDecision{}, err
}

// checkReply returns everything that keeps a reply's value from being an answer.
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

// complete ends the call that waits for a person, as a worker does at the end of every other one.
// early says that the server does not take this end yet, because no worker has taken the call.
//
// It looks before it asks: this runs within a step of the run itself, and a server that refuses a
// call's end may have the run do its step again.
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
		// it is over: by an earlier try of this very reply, or because its time is
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
