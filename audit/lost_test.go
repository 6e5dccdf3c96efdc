package audit_test

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// lose has the last attempt end without heartbeats.
func (w *tale) lose(seconds int64) {
	w.add(seconds, event(0, enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
		&historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
			ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
				ScheduledEventId: w.scheduled,
				Failure:          timeout(enumspb.TIMEOUT_TYPE_HEARTBEAT)}}))
}

var workersLost = api.Errorf(api.ErrWorkerLost, "no heartbeat")

// lostAgain is the entry of a call whose workers were lost and that is attempted again.
var lostAgain = api.JournalEntry{Call: "1.1", Next: api.JournalAttempt,
	Failure: workersLost.Message, MayHaveStarted: true, Error: *workersLost}

// TestLostCalls_HaveOneRecord proves that a call that the run requeued because its workers were
// lost has one record, which counts all attempts, and that it is lost if no later attempt started.
func TestLostCalls_HaveOneRecord(t *testing.T) {
	for name, test := range map[string]struct {
		end      func(*tale)
		attempts int
		status   api.CallStatus
		kind     api.ErrorType
	}{
		"completed": {func(w *tale) {
			w.start(1, 2)
			w.complete(1, api.Result{Output: []byte(`"x"`)})
		}, 5, api.CallCompleted, ""},
		"failed": {func(w *tale) {
			w.start(1, 1)
			w.fail(1, api.Errorf(api.ErrExecution, "no"))
		}, 4, api.CallFailed, api.ErrExecution},
		"not started": {func(w *tale) {
			w.start(1, 1)
			w.fail(1, &api.Error{Type: api.ErrExecution, NotStarted: true})
			w.decide(api.JournalEntry{Call: "1.1", Error: *workersLost})
		}, 4, api.CallFailed, api.ErrWorkerLost},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTale(t)
			w.schedule(nil)
			w.start(1, 3)
			w.lose(3)
			w.decide(lostAgain)
			w.schedule(nil)
			test.end(w)
			records, starts := w.derive()
			if len(records) != 1 || starts != 1 {
				t.Fatalf("%d records, %d starts", len(records), starts)
			}
			r := records[0]
			if r.Status != test.status || r.Attempts != test.attempts ||
				(test.kind != "" && r.Error.Type != test.kind) {
				t.Errorf("the record is %+v, %v", r, r.Error)
			}
		})
	}
	w := newTale(t)
	w.schedule(nil)
	w.start(1, 3)
	w.lose(3)
	w.decide(lostAgain)
	w.terminate()
	if records, _ := w.derive(); len(records) != 1 || records[0].Status != api.CallFailed ||
		records[0].Error.Type != api.ErrWorkerLost {
		t.Errorf("after the end of the run the records are %+v", records)
	}
}
