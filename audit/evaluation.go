package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Solved says whether a run did what it was for.
type Solved string

// The verdicts on a run.
const (
	SolvedYes Solved = "solved"
	SolvedNo  Solved = "failed"
	// SolvedOpen is a run that is not over.
	SolvedOpen Solved = "open"
)

// JudgedBy says where a verdict comes from.
type EvaluatedBy string

// The sources of verdicts; each goes before those after it.
const (
	EvaluatedByPerson  EvaluatedBy = "person"
	EvaluatedByChecker EvaluatedBy = "checker"
	EvaluatedByEnd     EvaluatedBy = "end"
)

// SolvedBy is the verdict without people's: that of the agent's checker where it gave one, else of the run's own end. By its
// end it is solved where an agent answered, or every call of a plan or a direct call ran.
func SolvedBy(s history.Summary) Solved {
	decision, _ := Evaluate(s, nil)
	return decision
}

// Judge returns the verdict on a run and where it comes from. person is a person's; nil where nobody gave one.
func Evaluate(s history.Summary, person *api.RunEvaluation) (Solved, EvaluatedBy) {
	switch {
	case s.Closed.IsZero():
		return SolvedOpen, EvaluatedByEnd
	case person != nil:
		return solved(person.Solved), EvaluatedByPerson
	case s.Result != nil && s.Result.Checked != nil && s.Result.Checked.Problem == "":
		return solved(s.Result.Checked.Solved), EvaluatedByChecker
	}
	return solved(s.Status == history.RunCompleted && s.Result != nil &&
		(s.Result.Outcome == api.OutcomeAnswered || s.Result.Outcome == api.OutcomeCompleted)), EvaluatedByEnd
}

// Verdict is Judge with all that is told of it.
func Evaluation(s history.Summary, person *api.RunEvaluation) api.EvaluatedResult {
	decision, by := Evaluate(s, person)
	j := api.EvaluatedResult{WorkflowID: s.WorkflowID, Evaluation: string(decision), EvaluatedBy: string(by)}
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
			j.Reason = "the checker " + s.Result.Checked.Tool + " gave no verdict: " + s.Result.Checked.Problem
		}
	}
	return j
}

// VerdictText tells of a verdict in a line: what it is, who says so, and why. It is empty for a run that is not over.
func EvaluationText(j api.EvaluatedResult) string {
	text := j.Evaluation + " by its end"
	switch {
	case j.Evaluation == string(SolvedOpen):
		return ""
	case j.EvaluatedBy == string(EvaluatedByPerson):
		text = j.Evaluation + ", says " + j.By
	case j.EvaluatedBy == string(EvaluatedByChecker):
		text = j.Evaluation + ", says the checker " + j.By
	case j.Reason != "":
		return text + "; " + j.Reason
	}
	if j.Reason != "" {
		text += ": " + j.Reason
	}
	return text
}

func solved(yes bool) Solved {
	if yes {
		return SolvedYes
	}
	return SolvedNo
}

// verdictsAtOnce is about how many runs' verdicts are asked for at a time, so that the query stays short.
const decisionsAtOnce = 100

// Verdicts returns what people said of runs, the latest of each, by the run's id. The ids are those of the last executions of
// their chains. Servers show a verdict in lists about a second after it was given.
func Evaluations(ctx context.Context, c client.Client, namespace string, runIDs []string) (map[string]api.RunEvaluation, error) {
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

func decisionsOn(ctx context.Context, c client.Client, namespace string, runIDs []string, found map[string]api.RunEvaluation) error {
	quoted := make([]string, len(runIDs))
	for i, id := range runIDs {
		quoted[i] = "'" + api.EvaluationWorkflowID(strings.ReplaceAll(id, "'", "''")) + "'"
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND WorkflowId IN (%s)", api.EvaluationWorkflow, strings.Join(quoted, ", "))
	var token []byte
	for {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: query, NextPageToken: token})
		if err != nil {
			return fmt.Errorf("ask for people's verdicts: %w", err)
		}
		for _, e := range page.GetExecutions() {
			keepLatest(found, e)
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

// keepLatest takes the verdict that a workflow carries, unless there is a later one on the run.
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
