package history

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/batches"
	historypb "go.temporal.io/api/history/v1"
)

// tellStarted emits the start of a scheduled call.
func (c *calls) tellStarted(e *historypb.HistoryEvent, r api.Record) {
	c.run.summary.Usage.Calls++
	timing := r.Timing
	c.run.emit(e, api.Event{
		Type:    api.EventToolStarted,
		Turn:    r.Turn,
		CallID:  r.CallID,
		Tool:    r.Tool,
		Summary: c.run.line(r),
		Timing:  &timing,
		Child:   r.Child,
	})
}

// beginOthers emits the start of the calls that are batched with first.
func (c *calls) beginOthers(e *historypb.HistoryEvent, first api.Record, parts []api.Part) {
	for _, p := range parts {
		if p.ID == first.CallID {
			continue
		}
		w := c.run.admission.wanted.take(p.ID)
		r := first
		r.CallID, r.Path = p.ID, api.CallPath(c.run.parent(), p.ID)
		r = c.ofBatch(r, w)
		r.Activity = first.CallID
		c.batching[first.CallID] = append(c.batching[first.CallID], r)
		c.tellStarted(e, r)
	}
}

// ofBatch completes the record of a batched call with its own arguments and decision.
func (c *calls) ofBatch(r api.Record, w *wantedCall) api.Record {
	r.Batched, r.Activity = true, r.CallID
	arguments := json.RawMessage(w.Arguments)
	if v := w.decision; v != nil {
		r = c.run.admission.addDecision(r, *v, arguments)
		r.Notes = v.Notes
		if len(v.Arguments) > 0 {
			arguments = v.Arguments
		}
	}
	r.Arguments = c.run.shown(r.Tool, arguments)
	return r
}

// apart returns the record of one batched call. whole is the record of the first call, which has
// the result of all.
func apart(own, whole api.Record) api.Record {
	own.Timing, own.Status = whole.Timing, whole.Status
	own.Phase, own.Error = whole.Phase, whole.Error
	if whole.Result == nil {
		return own
	}
	part := batches.Part(api.CallOutcome{Tool: own.Tool, Result: whole.Result}, own.CallID)
	if part.Result != nil {
		return withResult(own, *part.Result)
	}
	own.Status, own.Error = failedStatus(part.Error), part.Error
	own.Result = nil
	return own
}
