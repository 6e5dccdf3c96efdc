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

// Tree gives the records of a run and of all sub-agents below it, in the order of their paths: each call before those of
// the run that executed it, the calls of one run as ByCall orders them. Parameters and errors are those of Events; where
// the server keeps a sub-agent's history no longer, or it cannot be decoded, the others come all the same, and ErrNotFound or
// ErrUnreadable last.
func Tree(ctx context.Context, c client.Client, workflowID, runID string) iter.Seq2[api.Record, error] {
	return (&tree{client: c, evaluate: func(history.Summary) *api.EvaluatedResult { return nil }}).records(ctx, workflowID, runID)
}

// JudgedTree is Tree with the verdict on the run in every record; person is a person's, nil where nobody gave one.
func EvaluatedTree(ctx context.Context, c client.Client, workflowID, runID string, person *api.RunEvaluation) iter.Seq2[api.Record, error] {
	return (&tree{client: c, evaluate: func(s history.Summary) *api.EvaluatedResult {
		decision := Evaluation(s, person)
		return &decision
	}}).records(ctx, workflowID, runID)
}

// tree reads a run and those below it.
type tree struct {
	client client.Client
	// judge returns the verdict on the run at the top, once that has been read, and verdict keeps it.
	evaluate func(history.Summary) *api.EvaluatedResult
	decision *api.EvaluatedResult
	// gone is why a history could not be read.
	gone error
}

func (t *tree) records(ctx context.Context, workflowID, runID string) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		if t.walk(ctx, &chain{client: t.client, workflowID: workflowID, runID: runID}, true, yield) && t.gone != nil {
			yield(api.Record{}, t.gone)
		}
	}
}

// walk yields a run's records and those below; it reports whether the reader wants more.
func (t *tree) walk(ctx context.Context, run *chain, top bool, yield func(api.Record, error) bool) bool {
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
		if r.Child != nil && r.Child.RunID != "" && !t.walk(ctx, &chain{client: t.client, workflowID: r.Child.WorkflowID, runID: r.Child.RunID}, false, yield) {
			return false
		}
	}
	return true
}

// read returns the records of one run in order, as far as the server has its history.
func (t *tree) read(ctx context.Context, run *chain) (records []api.Record, err error) {
	for r, err := range run.records(ctx) {
		if Missing(err) {
			t.gone = WorstError(t.gone, err)
			break // what came before is whole
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortStableFunc(records, ByCall)
	return records, nil
}

// ByCall orders an agent's calls as it made them, and a plan's as they were scheduled, those that never were last; calls that
// undo others come after all others, as they were made.
func ByCall(x, y api.Record) int {
	xUndoes, yUndoes := x.Purpose == api.PurposeUndo, y.Purpose == api.PurposeUndo
	switch {
	case xUndoes && yUndoes:
		return x.Closed.Compare(y.Closed)
	case xUndoes:
		return 1
	case yUndoes:
		return -1
	}
	if x.Turn > 0 || y.Turn > 0 {
		return cmp.Or(cmp.Compare(x.Turn, y.Turn), cmp.Compare(placeInTurn(x.CallID), placeInTurn(y.CallID)))
	}
	if x.Scheduled.IsZero() != y.Scheduled.IsZero() {
		return y.Scheduled.Compare(x.Scheduled)
	}
	return x.Scheduled.Compare(y.Scheduled)
}

// placeInTurn is the 3 of "12.3".
func placeInTurn(callID string) int {
	n, _ := strconv.Atoi(callID[strings.LastIndexByte(callID, '.')+1:]) // 0 for ids of another form: they stay as they are
	return n
}
