package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
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
type JudgedBy string

// The sources of verdicts; each goes before those after it.
const (
	JudgedByPerson  JudgedBy = "person"
	JudgedByChecker JudgedBy = "checker"
	JudgedByEnd     JudgedBy = "end"
)

// SolvedBy is the verdict without people's: that of the agent's checker where it gave one, else of the run's own end. By its
// end it is solved where an agent answered, or every call of a plan or a direct call ran.
func SolvedBy(s Summary) Solved {
	verdict, _ := Judge(s, nil)
	return verdict
}

// Judge returns the verdict on a run and where it comes from. person is a person's; nil where nobody gave one.
func Judge(s Summary, person *api.RunVerdict) (Solved, JudgedBy) {
	switch {
	case s.Closed.IsZero():
		return SolvedOpen, JudgedByEnd
	case person != nil:
		return solved(person.Solved), JudgedByPerson
	case s.Result != nil && s.Result.Checked != nil && s.Result.Checked.Problem == "":
		return solved(s.Result.Checked.Solved), JudgedByChecker
	}
	return solved(s.Status == RunCompleted && s.Result != nil &&
		(s.Result.Outcome == api.OutcomeAnswered || s.Result.Outcome == api.OutcomeCompleted)), JudgedByEnd
}

// Verdict is Judge with all that is told of it.
func Verdict(s Summary, person *api.RunVerdict) api.Judged {
	verdict, by := Judge(s, person)
	j := api.Judged{WorkflowID: s.WorkflowID, Verdict: string(verdict), JudgedBy: string(by)}
	if n := len(s.Parts); n > 0 {
		j.RunID = s.Parts[n-1].RunID
	}
	switch by {
	case JudgedByPerson:
		j.By, j.Reason = person.By, person.Reason
	case JudgedByChecker:
		j.By, j.Reason = s.Result.Checked.Tool, s.Result.Checked.Reason
	default:
		if s.Result != nil && s.Result.Checked != nil {
			j.Reason = "the checker " + s.Result.Checked.Tool + " gave no verdict: " + s.Result.Checked.Problem
		}
	}
	return j
}

// VerdictText tells of a verdict in a line: what it is, who says so, and why. It is empty for a run that is not over.
func VerdictText(j api.Judged) string {
	text := j.Verdict + " by its end"
	switch {
	case j.Verdict == string(SolvedOpen):
		return ""
	case j.JudgedBy == string(JudgedByPerson):
		text = j.Verdict + ", says " + j.By
	case j.JudgedBy == string(JudgedByChecker):
		text = j.Verdict + ", says the checker " + j.By
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

// Execution is the last execution of a run's chain.
type Execution struct {
	RunID, TaskQueue string
	// Over says that the run has ended.
	Over bool
}

// Last returns the last execution of a run's chain. Parameters and errors are those of Events.
func Last(ctx context.Context, c client.Client, workflowID, runID string) (Execution, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	if err != nil {
		return Execution{}, err
	}
	info := r.GetWorkflowExecutionInfo()
	return Execution{RunID: info.GetExecution().GetRunId(), TaskQueue: info.GetTaskQueue(), Over: info.GetCloseTime() != nil}, nil
}

// verdictsAtOnce is about how many runs' verdicts are asked for at a time, so that the query stays short.
const verdictsAtOnce = 100

// Verdicts returns what people said of runs, the latest of each, by the run's id. The ids are those of the last executions of
// their chains. Servers show a verdict in lists about a second after it was given.
func Verdicts(ctx context.Context, c client.Client, namespace string, runIDs []string) (map[string]api.RunVerdict, error) {
	found := map[string]api.RunVerdict{}
	for len(runIDs) > 0 {
		n := min(len(runIDs), verdictsAtOnce)
		if err := verdictsOn(ctx, c, namespace, runIDs[:n], found); err != nil {
			return nil, err
		}
		runIDs = runIDs[n:]
	}
	return found, nil
}

func verdictsOn(ctx context.Context, c client.Client, namespace string, runIDs []string, found map[string]api.RunVerdict) error {
	quoted := make([]string, len(runIDs))
	for i, id := range runIDs {
		quoted[i] = "'" + api.VerdictWorkflowID(strings.ReplaceAll(id, "'", "''")) + "'"
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND WorkflowId IN (%s)", api.VerdictWorkflow, strings.Join(quoted, ", "))
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
func keepLatest(found map[string]api.RunVerdict, e *workflowpb.WorkflowExecutionInfo) {
	var v api.RunVerdict
	memo := e.GetMemo().GetFields()[api.VerdictMemo]
	if memo == nil || dataConverter.FromPayload(memo, &v) != nil {
		return
	}
	run := api.JudgedRun(e.GetExecution().GetWorkflowId())
	if known, ok := found[run]; !ok || v.Time.After(known.Time) {
		found[run] = v
	}
}
