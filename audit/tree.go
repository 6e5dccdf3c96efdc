package audit

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Tree yields the records of a run and of all its sub-agents in the order of their paths: each call
// before the calls of the run that executed it, and the calls of one run in the order of ByCall.
// Parameters and errors are those of Events. If the history of a sub-agent is deleted or cannot be
// decoded, Tree yields the other records and then ErrNotFound or ErrUnreadable.
func Tree(ctx context.Context, c client.Client,
	workflowID, runID string) iter.Seq2[api.Record, error] {
	none := func(history.Summary) *api.EvaluatedResult { return nil }
	return (&tree{client: c, evaluate: none}).records(ctx, workflowID, runID)
}

// EvaluatedTree is Tree with the evaluation of the run in every record. person is the evaluation of
// a person; nil if there is none.
func EvaluatedTree(ctx context.Context, c client.Client, workflowID, runID string,
	person *api.RunEvaluation) iter.Seq2[api.Record, error] {
	return (&tree{client: c, evaluate: func(s history.Summary) *api.EvaluatedResult {
		decision := Evaluation(s, person)
		return &decision
	}}).records(ctx, workflowID, runID)
}

// tree reads a run and the runs of its sub-agents.
type tree struct {
	client client.Client
	// evaluate returns the evaluation of the run at the top. decision is its result, set after that
	// run has been read.
	evaluate func(history.Summary) *api.EvaluatedResult
	decision *api.EvaluatedResult
	// gone is why a history could not be read.
	gone error
}

func (t *tree) records(ctx context.Context, workflowID, runID string) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		if t.walk(ctx, &chain{client: t.client, workflowID: workflowID, runID: runID}, true,
			yield) &&
			t.gone != nil {
			yield(api.Record{}, t.gone)
		}
	}
}

// walk yields the records of a run and of its sub-agents, and reports whether the reader wants
// more.
func (t *tree) walk(ctx context.Context, run *chain, top bool,
	yield func(api.Record, error) bool) bool {
	records, err := t.read(ctx, run)
	if err != nil {
		yield(api.Record{}, err)
		return false
	}
	if top && run.deriver != nil {
		t.decision = t.evaluate(run.deriver.Summary())
	}
	for _, r := range records {
		r.Evaluation = t.decision
		if !yield(r, nil) {
			return false
		}
		if r.Child != nil && r.Child.RunID != "" &&
			!t.walk(ctx,
				&chain{client: t.client, workflowID: r.Child.WorkflowID, runID: r.Child.RunID},
				false, yield) {
			return false
		}
	}
	return true
}

// read returns the records of one run in order, as far as the server has its history.
func (t *tree) read(ctx context.Context, run *chain) (records []api.Record, err error) {
	for r, err := range run.records(ctx) {
		if IsMissing(err) {
			t.gone = WorstError(t.gone, err)
			break // the records so far are complete
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortStableFunc(records, ByCall)
	return records, nil
}

// ByCall orders the calls of an agent as it made them and those of a plan as they were scheduled,
// calls that were never scheduled last. Calls that undo others come after all others.
func ByCall(x, y api.Record) int {
	xUndo, yUndo := x.Purpose == api.PurposeUndo, y.Purpose == api.PurposeUndo
	switch {
	case xUndo && yUndo:
		return x.Closed.Compare(y.Closed)
	case xUndo:
		return 1
	case yUndo:
		return -1
	}
	if x.Turn > 0 || y.Turn > 0 {
		return cmp.Or(cmp.Compare(x.Turn, y.Turn),
			cmp.Compare(placeInTurn(x.CallID), placeInTurn(y.CallID)))
	}
	if x.Scheduled.IsZero() != y.Scheduled.IsZero() {
		return y.Scheduled.Compare(x.Scheduled)
	}
	return x.Scheduled.Compare(y.Scheduled)
}

// placeInTurn returns the number of a call in its turn: 3 for "12.3".
func placeInTurn(callID string) int {
	// IDs of another form give 0 and keep their order.
	n, _ := strconv.Atoi(callID[strings.LastIndexByte(callID, '.')+1:])
	return n
}
