package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/value/visibility"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Solved says whether a run did its task.
type Solved string

// The evaluations of a run.
const (
	SolvedYes Solved = "solved"
	SolvedNo  Solved = "failed"
	// SolvedOpen is the evaluation of a run that is not over.
	SolvedOpen Solved = "open"
)

// EvaluatedBy is the source of an evaluation.
type EvaluatedBy string

// The sources of evaluations. Each takes precedence over those after it.
const (
	EvaluatedByPerson  EvaluatedBy = "person"
	EvaluatedByChecker EvaluatedBy = "checker"
	EvaluatedByEnd     EvaluatedBy = "end"
)

// Evaluate returns the evaluation of a run and its source. person is the evaluation of a person;
// nil if there is none. Without it the agent's checker decides, else the run's end: a run is solved
// if the agent answered, or if every call of a plan or a direct call ran.
func Evaluate(s history.Summary, person *api.RunEvaluation) (Solved, EvaluatedBy) {
	switch {
	case s.Closed.IsZero():
		return SolvedOpen, EvaluatedByEnd
	case person != nil:
		return toSolved(person.Solved), EvaluatedByPerson
	case s.Result != nil && s.Result.Checked != nil && s.Result.Checked.Problem == "":
		return toSolved(s.Result.Checked.Solved), EvaluatedByChecker
	}
	return toSolved(s.Status == history.RunCompleted && s.Result != nil &&
		(s.Result.Outcome == api.OutcomeAnswered ||
			s.Result.Outcome == api.OutcomeCompleted)), EvaluatedByEnd
}

// Evaluation is Evaluate with who evaluated the run, and why.
func Evaluation(s history.Summary, person *api.RunEvaluation) api.EvaluatedResult {
	decision, by := Evaluate(s, person)
	j := api.EvaluatedResult{
		WorkflowID:  s.WorkflowID,
		Evaluation:  string(decision),
		EvaluatedBy: string(by),
	}
	if n := len(s.Parts); n > 0 {
		j.RunID = s.Parts[n-1].RunID
	}
	switch by {
	case EvaluatedByPerson:
		j.By, j.Reason = person.By, person.Reason
	case EvaluatedByChecker:
		j.By, j.Reason = s.Result.Checked.Tool, s.Result.Checked.Reason
	default:
		if s.Result != nil && s.Result.Checked != nil {
			j.Reason = "the checker " + s.Result.Checked.Tool + " gave no evaluation: " +
				s.Result.Checked.Problem
		}
	}
	return j
}

// EvaluationText returns an evaluation in one line: the result, who gave it, and why. It is empty
// for a run that is not over.
func EvaluationText(j api.EvaluatedResult) string {
	text := j.Evaluation + " (from its outcome)"
	switch {
	case j.Evaluation == string(SolvedOpen):
		return ""
	case j.EvaluatedBy == string(EvaluatedByPerson):
		text = j.Evaluation + ", evaluated by " + j.By
	case j.EvaluatedBy == string(EvaluatedByChecker):
		text = j.Evaluation + ", evaluated by the checker " + j.By
	case j.Reason != "":
		return text + "; " + j.Reason
	}
	if j.Reason != "" {
		text += ": " + j.Reason
	}
	return text
}

func toSolved(yes bool) Solved {
	if yes {
		return SolvedYes
	}
	return SolvedNo
}

// decisionsAtOnce bounds the number of runs in one query, so that the query stays short.
const decisionsAtOnce = 100

// Evaluations returns the latest evaluation by a person of each run, by run ID. runIDs are those of
// the last executions of the runs. Servers list an evaluation about a second after it was given.
func Evaluations(ctx context.Context, c client.Client, namespace string,
	runIDs []string) (map[string]api.RunEvaluation, error) {
	found := map[string]api.RunEvaluation{}
	for len(runIDs) > 0 {
		n := min(len(runIDs), decisionsAtOnce)
		if err := decisionsOn(ctx, c, namespace, runIDs[:n], found); err != nil {
			return nil, err
		}
		runIDs = runIDs[n:]
	}
	return found, nil
}

func decisionsOn(ctx context.Context, c client.Client, namespace string, runIDs []string,
	found map[string]api.RunEvaluation) error {
	quoted := make([]string, len(runIDs))
	for i, id := range runIDs {
		quoted[i] = visibility.Quote(api.EvaluationWorkflowID(id))
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND WorkflowId IN (%s)", api.EvaluationWorkflow,
		strings.Join(quoted, ", "))
	var token []byte
	for {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace:     namespace,
			Query:         query,
			NextPageToken: token,
		})
		if err != nil {
			return fmt.Errorf("list evaluations: %w", err)
		}
		for _, e := range page.GetExecutions() {
			keepLatest(found, e)
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

// keepLatest keeps the evaluation that a workflow has, unless a later one is known.
func keepLatest(found map[string]api.RunEvaluation, e *workflowpb.WorkflowExecutionInfo) {
	var v api.RunEvaluation
	memo := e.GetMemo().GetFields()[api.EvaluationMemo]
	if memo == nil || pb.DataConverter.FromPayload(memo, &v) != nil {
		return
	}
	run := api.EvaluatedRun(e.GetExecution().GetWorkflowId())
	if known, ok := found[run]; !ok || v.Time.After(known.Time) {
		found[run] = v
	}
}
