package history

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	historypb "go.temporal.io/api/history/v1"
)

// What the SDK writes for a local activity: a marker of this name, its type in the details' "data", its result in "result".
const (
	localActivityMarker = "LocalActivity"
	markerData          = "data"
	markerResult        = "result"
)

// wantedCalls are the calls that the run has decided to make and that have neither been scheduled nor refused, by id.
type wantedCalls map[string]*wantedCall

type wantedCall struct {
	api.Call
	order int
	// verdict is set once the call is admitted.
	decision *api.AdmissionDecision
}

func (w wantedCalls) add(calls ...api.Call) {
	for i, c := range calls {
		w[c.ID] = &wantedCall{Call: c, order: i}
	}
}

// take removes and returns the call of that id; one that is not known comes back with its id alone.
func (w wantedCalls) take(id string) *wantedCall {
	c := w[id]
	if c == nil {
		return &wantedCall{Call: api.Call{ID: id}}
	}
	delete(w, id)
	return c
}

// inOrder returns the calls in the order in which they were added.
func (w wantedCalls) inOrder() []*wantedCall {
	return slices.SortedFunc(maps.Values(w), func(a, b *wantedCall) int { return cmp.Compare(a.order, b.order) })
}

// marker reads what a local activity recorded: pin, admit, settle, and what ran inline.
func (d *Deriver) marker(e *historypb.HistoryEvent) error {
	l, ok, err := d.readLocal(e)
	if !ok || err != nil {
		return err
	}
	defer func() { d.clock = pb.TimeOf(l.event.GetEventTime()) }()
	switch {
	case l.kind == api.ModelActivity:
		return d.inlineStep(l)
	case IsTool(l.kind):
		return d.inlineCall(l)
	case l.failure != nil:
		return nil
	}
	return d.decided(e, l)
}

// decided reads what a local activity decided for the run.
func (d *Deriver) decided(e *historypb.HistoryEvent, l local) error {
	switch l.kind {
	case api.PinActivity:
		var pinned api.Packed[api.Pinned]
		if err := d.decodeEvent(e, "pinned tools", l.result, &pinned); err != nil {
			return err
		}
		d.pin(pinned.Value)
	case api.AdmitActivity:
		var decisions []api.AdmissionDecision
		if err := d.decodeEvent(e, "verdicts", l.result, &decisions); err != nil {
			return err
		}
		d.admit(e, decisions)
	case api.AdmitEditActivity, api.DescribeLimitActivity:
		return d.approvalStep(e, l)
	case api.FinalizeResultActivity:
		return d.finalized(e, l.result)
	}
	return nil
}

// pin takes the run's tools. The calls of a plan and a direct call exist from here on, unless the run cannot start.
func (d *Deriver) pin(pinned api.Pinned) {
	for _, t := range pinned.Catalog.Tools {
		t.Spec = nil // large, and of no use here
		d.tools[t.Name] = t
		d.summary.Tools = append(d.summary.Tools, PinnedTool{Name: t.Name, Version: t.Version, Digest: t.Digest, Lane: t.Lane,
			Access: t.Access, Effect: t.Effect})
	}
	for _, t := range pinned.DescendantTools {
		t.Spec = nil
		d.tools[t.Name] = t
	}
	if len(pinned.Problems) > 0 {
		return
	}
	if plan := d.input.Plan; plan != nil {
		for i, c := range plan.Value.Calls {
			d.wanted[c.ID] = &wantedCall{Call: api.Call{ID: c.ID, Tool: c.Tool, Arguments: string(c.Arguments), Priority: c.Priority}, order: i}
		}
		d.input.Plan = nil
	}
	if call := d.input.Call; call != nil {
		c := *call
		if c.ID == "" {
			c.ID = api.TurnCallID(1, 1)
		}
		d.wanted.add(c)
	}
}

// admit takes verdicts: a refused call is over.
func (d *Deriver) admit(e *historypb.HistoryEvent, decisions []api.AdmissionDecision) {
	for _, v := range decisions {
		if c := (api.Call{ID: v.ID, Tool: v.Tool, Arguments: string(v.Arguments), CallPurpose: v.CallPurpose}); c.OfRun() {
			d.wanted.add(c)
		}
		w := d.wanted[v.ID]
		if v.Error == nil && w != nil {
			// The run goes by this too, whatever the worker that admitted the call knew.
			v.Error = d.tools[w.Tool].InlineFault()
		}
		if v.Error != nil {
			d.refuse(e, d.wanted.take(v.ID), v)
			continue
		}
		if v.Result != nil {
			d.overridden(e, d.wanted.take(v.ID), v)
			continue
		}
		if w != nil {
			w.decision = &v
			if v.Approval != nil {
				d.approvalRequested(e, w, *v.Approval)
			}
		}
	}
}

// refuse ends a call that never ran.
func (d *Deriver) refuse(e *historypb.HistoryEvent, w *wantedCall, v api.AdmissionDecision) {
	r := d.unscheduled(w)
	r.Notes = v.Notes
	r = d.admitted(r, v, []byte(w.Arguments))
	r.Status, r.Error = api.CallRefused, v.Error
	d.summary.Usage.Calls++
	d.end(e, r)
}

// abandon ends the calls that the run wanted and never scheduled: it was cancelled or reached a limit before, or their
// instance was lost.
func (d *Deriver) abandon(e *historypb.HistoryEvent, reason string) {
	d.endRequeued(e)
	if len(d.wanted) == 0 {
		return
	}
	for _, w := range d.wanted.inOrder() {
		if fault := d.lost(w); fault != nil {
			v := *w.decision
			v.Error = fault
			d.refuse(e, w, v)
			continue
		}
		r := d.unscheduled(w)
		r.Status, r.Error = api.CallCancelled, api.Errorf(api.ErrCancelled, "%s", reason)
		r.Error.Phase = r.Phase
		d.summary.Usage.Calls++
		d.end(e, r)
	}
	clear(d.wanted)
}

// admitted adds to a call's record what its verdict says of it besides whether and where it runs; written are its arguments as
// its caller wrote them.
func (d *Deriver) admitted(r api.Record, v api.AdmissionDecision, written json.RawMessage) api.Record {
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = written
	}
	r.EstimatedTokens, r.ExpectedTokens = v.Tokens+v.ExpectedTokens, v.ExpectedTokens
	r.Hooks, r.DryRun = v.Hooks, v.DryRun
	r.Policies, r.Labels = v.Policies, v.Labels
	r.Plan = v.Plan.Redacted(d.tools[r.Tool].ArgumentMask(), arguments)
	return r
}

// unscheduled is the record of a call before it is scheduled.
func (d *Deriver) unscheduled(w *wantedCall) api.Record {
	r := d.ofRun(d.record(w.ID, w.Tool, []byte(w.Arguments)), w.Call)
	r.Priority = api.PriorityOf(w.Call, api.RunPriority(d.input.Priority, int(d.level)), d.tools[w.Tool])
	r.Lane, r.Phase = d.tools[w.Tool].Lane, api.PhasePreValidation
	if v := w.decision; v != nil {
		r.Phase, r.Notes = api.PhasePreExecution, v.Notes
		r = d.admitted(r, *v, []byte(w.Arguments))
		if len(v.Arguments) > 0 {
			r.Arguments = d.shown(w.Tool, v.Arguments)
		}
	}
	return r
}
