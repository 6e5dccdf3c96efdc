package audit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/switchyard/switchyard"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// askRunWithin is how long a run's workers have to say what it asks. Where none answers, its history is read instead.
const askRunWithin = 2 * time.Second

// RunQuestion is an open question and the run that has it.
type RunQuestion struct {
	WorkflowID string `json:"workflow_id"`
	switchyard.Question
}

// Questions returns the open questions of a run and of the sub-agents' runs below it, oldest first; none of a run that
// is closed. It needs no worker. runID is any execution of the run's chain, empty for the latest run of that workflow id.
// Errors: ErrNotFound, ErrNotARun, ErrUnreadable, that of ctx, the server's.
func Questions(ctx context.Context, c client.Client, workflowID, runID string) ([]RunQuestion, error) {
	list, err := questionsBelow(ctx, c, workflowID, runID)
	slices.SortFunc(list, oldestFirst)
	return list, err
}

func questionsBelow(ctx context.Context, c client.Client, workflowID, runID string) ([]RunQuestion, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	if err != nil || r.GetWorkflowExecutionInfo().GetCloseTime() != nil {
		return nil, err
	}
	var list []RunQuestion
	if len(r.GetPendingActivities()) > 0 {
		own, err := ownQuestions(ctx, c, workflowID, r.GetWorkflowExecutionInfo().GetExecution().GetRunId())
		if err != nil {
			return nil, err
		}
		for _, q := range own {
			list = append(list, RunQuestion{WorkflowID: workflowID, Question: q})
		}
	}
	for _, p := range r.GetPendingChildren() {
		below, err := questionsOfChild(ctx, c, workflowID, p)
		if err != nil {
			return nil, err
		}
		list = append(list, below...)
	}
	return list, nil
}

// questionsOfChild returns nothing of a sub-agent's run that has not started, or that ended meanwhile.
func questionsOfChild(ctx context.Context, c client.Client, parent string, p *workflowpb.PendingChildExecutionInfo) ([]RunQuestion, error) {
	child, ours := runningChild(parent, p)
	if !ours || child.Child.RunID == "" {
		return nil, nil
	}
	list, err := questionsBelow(ctx, c, child.Child.WorkflowID, child.Child.RunID)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return list, err
}

// ownQuestions asks the run, which is quicker than to read its history, or reads it.
func ownQuestions(ctx context.Context, c client.Client, workflowID, runID string) ([]switchyard.Question, error) {
	asking, cancel := context.WithTimeout(ctx, askRunWithin)
	defer cancel()
	var list []switchyard.Question
	value, err := c.QueryWorkflow(asking, workflowID, runID, switchyard.QuestionsQuery)
	if err == nil && value.Get(&list) == nil {
		return list, nil
	}
	summary, err := Describe(ctx, c, workflowID, runID)
	return summary.Questions, err
}

// Asking marks what waits for a person among what runs in the run workflowID.
func Asking(running []Running, workflowID string, open []RunQuestion) {
	for i := range running {
		r := &running[i]
		for _, q := range open {
			if q.WorkflowID == workflowID && r.Kind == KindCall && q.Call == r.ID {
				r.State, r.Since = StateAsking, q.Asked
				r.Questions = append(r.Questions, q.ID)
			}
		}
	}
}
