package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
)

// People executes tools of the kind human: the call stays open at the server, at no worker, until a person's reply ends
// it. The run itself asks.
type People struct{}

// Execute implements Executor. Its error is always activity.ErrResultPending.
func (People) Execute(context.Context, *toolspecs.Spec, json.RawMessage) (Answer, error) {
	return Answer{}, activity.ErrResultPending
}

// waiting stands for the error of a call that is not over when its execution is.
var waiting = &switchyard.Error{Message: "a person is asked"}

// Reply checks a reply to an open question. One that fits ends the call that was the question: an answer becomes its
// result, as far as it goes through the phase post_execution like every other one, and a refusal its error. Reply runs
// as a local activity of the update that brought the reply, and may run again: a call that is over already stays as it is.
func (a *Activities) Reply(ctx context.Context, r switchyard.ReplyRequest) (switchyard.ReplyVerdict, error) {
	value, problems, err := answerOf(r)
	if err != nil || len(problems) > 0 || r.Tool == nil {
		return switchyard.ReplyVerdict{Problems: problems}, err
	}
	outcome := switchyard.CallOutcome{ID: r.Question.Call, Tool: r.Tool.Name, Error: r.Reply.Denied()}
	if !r.Reply.Decline {
		compiled, err := a.specs.of(*r.Tool)
		if err != nil {
			return switchyard.ReplyVerdict{}, fmt.Errorf("the pinned toolspec of %s cannot be used here: %w", r.Tool.Name, err)
		}
		result, failure := postExecute(compiled, Answer{Output: value, Notes: append(slices.Clone(r.Notes), r.Reply.Note())})
		outcome.Result, outcome.Error = &result, failure
	}
	early, err := a.complete(ctx, outcome)
	if early {
		return switchyard.ReplyVerdict{Early: true}, nil
	}
	if err == nil {
		a.remember(r.Origin, outcome)
	}
	return switchyard.ReplyVerdict{}, err
}

// answerOf returns a reply's value as compact JSON, and everything that keeps it from being an answer.
func answerOf(r switchyard.ReplyRequest) (json.RawMessage, []switchyard.Problem, error) {
	if r.Reply.Decline {
		return nil, nil, nil
	}
	form, err := toolspecs.NewForm(r.Question.Schema)
	if err != nil {
		return nil, nil, err
	}
	if problems := form.Check(r.Reply.Value); len(problems) > 0 {
		return nil, problems, nil
	}
	var value bytes.Buffer
	err = json.Compact(&value, r.Reply.Value)
	return value.Bytes(), nil, err
}

// isAtNoWorker has the states of a call that a worker has still to take.
var isAtNoWorker = map[enumspb.PendingActivityState]bool{
	enumspb.PENDING_ACTIVITY_STATE_SCHEDULED: true, enumspb.PENDING_ACTIVITY_STATE_PAUSED: true,
}

// complete ends the call that waits for a person, as a worker does at the end of every other one. early says that the
// server does not take this end because no worker has taken the call yet.
func (a *Activities) complete(ctx context.Context, o switchyard.CallOutcome) (early bool, err error) {
	info := activity.GetInfo(ctx)
	run := info.WorkflowExecution
	var result any
	var failure error
	if o.Error != nil {
		failure = Failure(o.Error)
	} else {
		result = o.Result
	}
	err = a.config.Client.CompleteActivityByID(ctx, info.Namespace, run.ID, run.RunID, o.ID, result, failure)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); !missing {
		return false, err
	}
	described, describeErr := a.config.Client.DescribeWorkflowExecution(ctx, run.ID, run.RunID)
	if describeErr != nil {
		return false, describeErr
	}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityId() == o.ID {
			return isAtNoWorker[pending.GetState()], err
		}
	}
	return false, nil // it is over: by an earlier try of this very reply, or because its time is
}
