package history

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	historypb "go.temporal.io/api/history/v1"
)

// tellBegun tells of a call that has been scheduled.
func (d *Deriver) tellBegun(e *historypb.HistoryEvent, r api.Record) {
	d.summary.Usage.Calls++
	timing := r.Timing
	d.emit(e, api.Event{Type: api.EventToolStarted, Turn: r.Turn, CallID: r.CallID, Tool: r.Tool, Summary: d.line(r), Timing: &timing})
}

// begunWith tells of the calls that have been scheduled together as the one of a record.
func (d *Deriver) begunWith(e *historypb.HistoryEvent, first api.Record, parts []api.Part) {
	for _, p := range parts {
		if p.ID == first.CallID {
			continue
		}
		w := d.wanted.take(p.ID)
		r := first
		r.CallID, r.Path = p.ID, api.CallPath(d.parent(), p.ID)
		r = d.ofBatch(r, w)
		r.Activity = first.CallID
		d.batching[first.CallID] = append(d.batching[first.CallID], r)
		d.tellBegun(e, r)
	}
}

// ofTogether completes the record of a call that is made together with others by what is its own.
func (d *Deriver) ofBatch(r api.Record, w *wantedCall) api.Record {
	r.Batched, r.Activity = true, r.CallID
	arguments := json.RawMessage(w.Arguments)
	if v := w.decision; v != nil {
		r = d.admitted(r, *v, arguments)
		r.Notes = v.Notes
		if len(v.Arguments) > 0 {
			arguments = v.Arguments
		}
	}
	r.Arguments = d.shown(r.Tool, arguments)
	return r
}

// apart returns the record of one of the calls that were made together; whole is that of the one that they were made as.
func apart(own, whole api.Record) api.Record {
	own.Timing, own.Status, own.Phase, own.Error = whole.Timing, whole.Status, whole.Phase, whole.Error
	if whole.Result == nil {
		return own
	}
	notes, hooks := own.Notes, own.Hooks
	part := api.CallOutcome{Tool: own.Tool, Result: whole.Result}.PartOf(own.CallID)
	if part.Result != nil {
		return withResult(own, *part.Result)
	}
	own.Status, own.Error, own.Result, own.Notes, own.Hooks = failedStatus(part.Error), part.Error, nil, notes, hooks
	return own
}
