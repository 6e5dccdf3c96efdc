package history

import (
	"time"

	"github.com/switchyard/switchyard/api"
	historypb "go.temporal.io/api/history/v1"
)

// journal is what the run recorded of calls where the ends of their attempts do not say it.
type journal struct {
	run *run
	// expected are the entries about attempts whose ends are not read yet, by call ID.
	expected map[string]api.JournalEntry
}

// expect takes a marker of the journal before the ends of the attempts that it is about.
func (j *journal) expect(e *historypb.HistoryEvent) error {
	entries, err := j.entries(e)
	for _, entry := range entries {
		_, known := j.expected[entry.Call]
		if !known && j.run.activities.findCall(entry.Call) != nil {
			j.expected[entry.Call] = entry
		}
	}
	return err
}

// entries decodes a marker of the journal.
func (j *journal) entries(e *historypb.HistoryEvent) (entries []api.JournalEntry, err error) {
	data := e.GetMarkerRecordedEventAttributes().GetDetails()[markerData]
	err = j.run.decodeEvent(e, "journal", data, &entries)
	return entries, err
}

// take removes and returns what the run recorded of the attempt of a call that is over.
func (j *journal) take(callID string) (entry api.JournalEntry, recorded bool) {
	entry, recorded = j.expected[callID]
	delete(j.expected, callID)
	return entry, recorded
}

// read reads a marker of the journal at its place in the history. What it says of attempts is
// known already; the rest is about calls that are between two attempts or have none.
func (j *journal) read(e *historypb.HistoryEvent) error {
	entries, err := j.entries(e)
	for _, entry := range entries {
		delete(j.expected, entry.Call)
		j.apply(e, entry)
	}
	return err
}

func (j *journal) apply(e *historypb.HistoryEvent, entry api.JournalEntry) {
	calls, wanted := &j.run.calls, j.run.admission.wanted
	switch a := calls.waiting[entry.Call]; {
	case a != nil && entry.Next != "":
		calls.goOn(a, entry)
	case a != nil:
		delete(calls.waiting, entry.Call)
		calls.fail(e, a.record, &entry.Error)
	case entry.Next == "" && wanted[entry.Call] != nil:
		w := wanted.take(entry.Call)
		v := api.AdmissionDecision{}
		if w.decision != nil {
			v = *w.decision
		}
		v.Error = &entry.Error
		j.run.admission.refuse(e, w, v)
	}
}

// goOn keeps a call that the run does not end with its last attempt. The call has one record.
func (c *calls) goOn(a *activity, entry api.JournalEntry) {
	a.attempts, a.unended = a.record.Attempts, &entry.Error
	a.mayHaveStarted = a.mayHaveStarted || entry.MayHaveStarted
	a.record.LastFailure = entry.Failure
	if entry.Next == api.JournalAttempt {
		a.record.Phase = api.PhasePreExecution
		t := &a.record.Timing
		t.Started, t.Closed, t.QueueWait, t.Duration = time.Time{}, time.Time{}, 0, 0
	}
	c.waiting[a.id] = a
}

// endWaiting ends the calls of which the run has recorded no end, because it ended before.
func (c *calls) endWaiting(e *historypb.HistoryEvent) {
	for _, a := range inOrder(c.waiting) {
		r := a.record
		r.Status, r.Error = failedStatus(a.unended), a.unended
		c.end(e, r)
	}
	clear(c.waiting)
}
