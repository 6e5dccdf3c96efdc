package audit

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// SubAgent is a call of a run that a sub-agent executed, or executes.
type SubAgent struct {
	api.ChildRun
	CallID string         `json:"call_id"`
	Tool   string         `json:"tool"`
	Status api.CallStatus `json:"status"`
}

// childInitiated reads the start of a call of an agent tool.
func (d *Deriver) childInitiated(e *historypb.HistoryEvent) error {
	a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	id, ours := api.ChildCallID(d.workflowID, a.GetWorkflowId())
	if !ours {
		return nil
	}
	r := d.unscheduled(d.wanted.take(id))
	r.Phase, r.Scheduled, r.Child = api.PhasePreExecution, timeOf(e.GetEventTime()), &api.ChildRun{WorkflowID: a.GetWorkflowId()}
	d.summary.Usage.Calls++
	d.summary.SubAgents = append(d.summary.SubAgents, SubAgent{ChildRun: *r.Child, CallID: id, Tool: r.Tool, Status: api.CallRunning})
	d.open[e.GetEventId()] = &activity{id: id, order: e.GetEventId(), record: r}
	timing := r.Timing
	d.emit(e, api.Event{Type: api.EventToolStarted, Turn: r.Turn, CallID: id, Tool: r.Tool, Summary: d.line(r), Timing: &timing, Child: r.Child})
	return nil
}

// childStarted reads that the sub-agent's run has begun.
func (d *Deriver) childStarted(e *historypb.HistoryEvent) error {
	a := e.GetChildWorkflowExecutionStartedEventAttributes()
	open := d.open[a.GetInitiatedEventId()]
	if open == nil {
		return nil
	}
	r := &open.record
	r.Child = &api.ChildRun{WorkflowID: a.GetWorkflowExecution().GetWorkflowId(), RunID: a.GetWorkflowExecution().GetRunId()}
	r.Phase, r.Attempts, r.Started = api.PhaseExecution, 1, timeOf(e.GetEventTime())
	r.QueueWait = between(r.Scheduled, r.Started)
	d.subAgent(open.id).ChildRun = *r.Child
	return nil
}

// subAgent returns the entry of a call in the summary; one that is not there is a new one that nobody sees.
func (d *Deriver) subAgent(callID string) *SubAgent {
	for i := len(d.summary.SubAgents) - 1; i >= 0; i-- {
		if s := &d.summary.SubAgents[i]; s.CallID == callID {
			return s
		}
	}
	return &SubAgent{}
}

// settled ends a call of an agent tool: whatever became of the sub-agent's run, this says what it means for the call.
func (d *Deriver) finalized(e *historypb.HistoryEvent, result *commonpb.Payloads) error {
	var s api.FinalizedResult
	if err := d.decodeEvent(e, "end of a call", result, &s); err != nil {
		return err
	}
	r, started := d.takeFinalized(s.ID, e)
	if !started {
		r = d.unscheduled(d.wanted.take(s.ID))
		d.summary.Usage.Calls++
	}
	r.Usage = s.Usage
	d.summary.Usage.Add(s.Usage)
	if s.Result != nil {
		r = withResult(r, *s.Result)
	} else {
		r.Status, r.Error = failedStatus(s.Error), s.Error
		if !started && r.Status == api.CallFailed {
			r.Status = api.CallRefused
		}
	}
	d.end(e, r)
	return nil
}

// takeSettled removes and returns the record of the open call of that id, which a sub-agent executed, or of which the run has
// found out what became of it.
func (d *Deriver) takeFinalized(callID string, e *historypb.HistoryEvent) (r api.Record, ok bool) {
	if a := d.requeued[callID]; a != nil {
		delete(d.requeued, callID)
		return a.record, true
	}
	return d.takeChild(callID, e)
}

// takeChild removes and returns the record of the open call of that id.
func (d *Deriver) takeChild(callID string, e *historypb.HistoryEvent) (r api.Record, ok bool) {
	for event, a := range d.open {
		if a.id == callID && a.record.Child != nil {
			return d.take(event, timeOf(e.GetEventTime())).record, true
		}
	}
	return r, false
}

// runningChild is a call that a sub-agent executes now. The server tells neither its tool nor since when it runs.
func runningChild(parent string, c *workflowpb.PendingChildExecutionInfo) (Running, bool) {
	id, ours := api.ChildCallID(parent, c.GetWorkflowId())
	r := Running{Kind: KindCall, ID: id, State: StateRunning, Attempt: 1, Child: &api.ChildRun{WorkflowID: c.GetWorkflowId(), RunID: c.GetRunId()}}
	if r.Child.RunID == "" {
		r.State = StateWaiting
	}
	return r, ours
}

// Tree gives the records of a run and of all sub-agents below it, in the order of their paths: each call before those of
// the run that executed it, the calls of one run as ByCall orders them. Parameters and errors are those of Events; where
// the server keeps a sub-agent's history no longer, or it cannot be decoded, the others come all the same, and ErrNotFound or
// ErrUnreadable last.
func Tree(ctx context.Context, c client.Client, workflowID, runID string) iter.Seq2[api.Record, error] {
	return (&tree{client: c, evaluate: func(Summary) *api.EvaluatedResult { return nil }}).records(ctx, workflowID, runID)
}

// JudgedTree is Tree with the verdict on the run in every record; person is a person's, nil where nobody gave one.
func EvaluatedTree(ctx context.Context, c client.Client, workflowID, runID string, person *api.RunEvaluation) iter.Seq2[api.Record, error] {
	return (&tree{client: c, evaluate: func(s Summary) *api.EvaluatedResult {
		decision := Evaluation(s, person)
		return &decision
	}}).records(ctx, workflowID, runID)
}

// tree reads a run and those below it.
type tree struct {
	client client.Client
	// judge returns the verdict on the run at the top, once that has been read, and verdict keeps it.
	evaluate func(Summary) *api.EvaluatedResult
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
	if undoes := x.Undoes != ""; undoes || y.Undoes != "" {
		if both := undoes && y.Undoes != ""; both {
			return x.Closed.Compare(y.Closed)
		}
		return cmp.Compare(len(x.Undoes), len(y.Undoes))
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
