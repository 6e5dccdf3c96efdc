package audit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// RunApproval is a call that waits for approval, and its run.
type RunApproval struct {
	WorkflowID string `json:"workflow_id"`
	api.Approval
}

// Approvals returns the calls of a run and of the runs of its sub-agents that wait for approval,
// oldest first; none for a closed run. It needs no worker. Parameters and errors are those of
// Questions.
func Approvals(ctx context.Context, c client.Client,
	workflowID, runID string) ([]RunApproval, error) {
	list, err := inTree(ctx, c, workflowID, runID, ownApprovals)
	slices.SortFunc(list, func(x, y RunApproval) int {
		return cmp.Or(x.Asked.Compare(y.Asked), cmp.Compare(x.WorkflowID, y.WorkflowID),
			cmp.Compare(x.Call, y.Call))
	})
	return list, err
}

// Waiting is what a run and the runs of its sub-agents wait for.
type Waiting struct {
	Approvals []RunApproval
	Questions []RunQuestion
}

// ReadWaits returns what Approvals and Questions return of a run, in one reading: an element for
// each run of the tree, in no order within it. Parameters and errors are those of Questions.
func ReadWaits(ctx context.Context, c client.Client, workflowID, runID string) ([]Waiting, error) {
	return inTree(ctx, c, workflowID, runID, ownWaits)
}

// ownWaits returns what one run waits for.
func ownWaits(ctx context.Context, c client.Client,
	r *workflowservice.DescribeWorkflowExecutionResponse) ([]Waiting, error) {
	approvals, err := ownApprovals(ctx, c, r)
	if err != nil {
		return nil, err
	}
	questions, err := ownQuestions(ctx, c, r)
	if err != nil || len(approvals)+len(questions) == 0 {
		return nil, err
	}
	return []Waiting{{approvals, questions}}, nil
}

// inTree joins the results of own for an open run and the runs of its sub-agents.
func inTree[T any](
	ctx context.Context,
	c client.Client,
	workflowID, runID string,
	own func(
		context.Context, client.Client, *workflowservice.DescribeWorkflowExecutionResponse,
	) ([]T, error),
) ([]T, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	if err != nil || r.GetWorkflowExecutionInfo().GetCloseTime() != nil {
		return nil, err
	}
	list, err := own(ctx, c, r)
	if err != nil {
		return nil, err
	}
	for _, p := range r.GetPendingChildren() {
		child, ours := runningChild(workflowID, p)
		if !ours || child.Child.RunID == "" {
			continue
		}
		below, err := inTree(ctx, c, child.Child.WorkflowID, child.Child.RunID, own)
		if err != nil &&
			!errors.Is(err, ErrNotFound) { // the sub-agent may have ended in the meantime
			return nil, err
		}
		list = append(list, below...)
	}
	return list, nil
}

// ownQuestions returns the open questions of one run.
func ownQuestions(ctx context.Context, c client.Client,
	r *workflowservice.DescribeWorkflowExecutionResponse) ([]RunQuestion, error) {
	if len(r.GetPendingActivities()) == 0 {
		return nil, nil
	}
	run := r.GetWorkflowExecutionInfo().GetExecution()
	open, err := asks(ctx, c, run.GetWorkflowId(), run.GetRunId(), api.QuestionsQuery,
		func(s history.Summary) []api.Question { return s.Questions })
	list := make([]RunQuestion, len(open))
	for i, q := range open {
		list[i] = RunQuestion{WorkflowID: run.GetWorkflowId(), Question: q}
	}
	return list, err
}

// ownApprovals returns the calls of one run that wait for approval. The memo of the run says
// whether there are any.
func ownApprovals(ctx context.Context, c client.Client,
	r *workflowservice.DescribeWorkflowExecutionResponse) ([]RunApproval, error) {
	info := r.GetWorkflowExecutionInfo()
	memo := info.GetMemo().GetFields()[api.ApprovalsMemo]
	if memo == nil {
		return nil, nil
	}
	// If the memo cannot be decoded, the run itself is asked, which returns the error for the
	// missing key.
	var since time.Time
	if err := pb.DataConverter.FromPayload(memo, &since); !errors.Is(err,
		converter.ErrEncodingIsNotSupported) &&
		(err != nil || since.IsZero()) {
		return nil, nil
	}
	id, runID := info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
	open, err := asks(ctx, c, id, runID, api.ApprovalsQuery,
		func(s history.Summary) []api.Approval { return s.Approvals })
	list := make([]RunApproval, len(open))
	for i, approval := range open {
		list[i] = RunApproval{WorkflowID: id, Approval: approval}
	}
	return list, err
}

// asks returns the answer of a run to a query, or what its history says if no worker answers.
func asks[T any](ctx context.Context, c client.Client, workflowID, runID, query string,
	from func(history.Summary) []T) ([]T, error) {
	openQuestions, cancel := context.WithTimeout(ctx, askRunWithin)
	defer cancel()
	var list []T
	value, err := c.QueryWorkflow(openQuestions, workflowID, runID, query)
	if err == nil && value.Get(&list) == nil {
		return list, nil
	}
	summary, err := Describe(ctx, c, workflowID, runID)
	if errors.Is(err, ErrIncomplete) {
		err = nil // the last execution has all open questions
	}
	return from(summary), err
}
