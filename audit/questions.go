package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// askRunWithin is how long a run's workers have to say what it asks. Where none answers, its history is read instead.
const askRunWithin = 2 * time.Second

// RunQuestion is an open question and the run that has it.
type RunQuestion struct {
	WorkflowID string `json:"workflow_id"`
	api.Question
}

// Questions returns the open questions of a run and of the sub-agents' runs below it, oldest first; none of a run that
// is closed. It needs no worker. runID is any execution of the run's chain, empty for the latest run of that workflow id.
// Errors: ErrNotFound, ErrNotARun, ErrUnreadable, that of ctx, the server's.
func Questions(ctx context.Context, c client.Client, workflowID, runID string) ([]RunQuestion, error) {
	list, err := inTree(ctx, c, workflowID, runID, ownQuestions)
	slices.SortFunc(list, oldestFirst)
	return list, err
}

// Asking marks what waits for a person among what runs in the run workflowID.
func OpenQuestions(running []Running, workflowID string, open []RunQuestion) {
	for i := range running {
		r := &running[i]
		for _, q := range open {
			if q.WorkflowID == workflowID && r.Kind == KindCall && q.Call == r.ID {
				r.State, r.Since = StateOpenQuestions, q.Asked
				r.Questions = append(r.Questions, q.ID)
			}
		}
	}
}

// oldestFirst orders questions of several runs.
func oldestFirst(x, y RunQuestion) int {
	return cmp.Or(x.Asked.Compare(y.Asked), cmp.Compare(x.WorkflowID, y.WorkflowID), cmp.Compare(x.ID, y.ID))
}
