package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// askRunWithin bounds a query to a run. If no worker answers in time, the history is read instead.
const askRunWithin = 2 * time.Second

// RunQuestion is an open question and the run that asked it.
type RunQuestion struct {
	WorkflowID string `json:"workflow_id"`
	api.Question
}

// Questions returns the open questions of a run and of the runs of its sub-agents, oldest first;
// none for a closed run. It needs no worker. runID is any execution of the run; empty for the
// latest run with that workflow ID. Errors: ErrNotFound, ErrNotARun, ErrUnreadable, those of ctx
// and of the server.
func Questions(ctx context.Context, c client.Client,
	workflowID, runID string) ([]RunQuestion, error) {
	list, err := inTree(ctx, c, workflowID, runID, ownQuestions)
	slices.SortFunc(list, oldestFirst)
	return list, err
}

// OpenQuestions marks the calls of the run workflowID that wait for an answer.
func OpenQuestions(running []Running, workflowID string, open []RunQuestion) {
	for i := range running {
		r := &running[i]
		for _, q := range open {
			if q.WorkflowID == workflowID && r.Kind == KindCall && q.Call == r.ID {
				r.State, r.Since = StateAwaitingAnswer, q.Asked
				r.Questions = append(r.Questions, q.ID)
			}
		}
	}
}

// oldestFirst orders questions of several runs.
func oldestFirst(x, y RunQuestion) int {
	return cmp.Or(x.Asked.Compare(y.Asked), cmp.Compare(x.WorkflowID, y.WorkflowID),
		cmp.Compare(x.ID, y.ID))
}
