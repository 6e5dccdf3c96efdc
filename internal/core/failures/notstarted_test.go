package failures

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// These failures mean that the call did not start, so its run schedules it again: the worker
// reported it, or it was lost after a heartbeat with which the call waited, on a lane where calls
// wait with workers.
func TestNotStarted_IsReportedByWorkerOrHeartbeat(t *testing.T) {
	holds := api.Route{Holds: true}
	once := api.Tool{Name: "t", Lane: "android", Effect: api.EffectOnce}
	agent := api.Tool{Name: "t", Dispatch: api.DispatchChildWorkflow}
	reads := func(text string) func(any) error {
		return func(v any) error {
			return json.Unmarshal(
				[]byte(text), v)
		}
	}
	reported := ActivityFailure{Type: string(api.ErrWorkerLost),
		Details: reads(`{"type":"worker_lost","message":"m","not_started":true,"requeue":true}`)}
	lost := func(beat func(any) error) ActivityFailure {
		return ActivityFailure{Timeout: TimeoutHeartbeat, LastHeartbeat: beat}
	}
	for _, test := range []struct {
		name       string
		failure    ActivityFailure
		tool       api.Tool
		route      api.Route
		notStarted bool
		want       api.ErrorType
	}{
		{"the worker reports it", reported, once, api.Route{}, true, api.ErrWorkerLost},
		{"of a call that is no activity of its lane", reported, agent, api.Route{}, false, api.ErrWorkerLost},
		{"it waited", lost(reads(`{"waiting":true}`)), once, holds, true, api.ErrWorkerLost},
		{"it had waited", lost(reads(`{"waiting":false}`)), once, holds, false, api.ErrOutcomeUnknown},
		{"it reported progress", lost(reads(`{"done":1}`)), once, holds, false, api.ErrOutcomeUnknown},
		{"its report cannot be read", lost(reads(`[`)), once, holds, false, api.ErrOutcomeUnknown},
		{"it reported nothing", lost(nil), once, holds, false, api.ErrOutcomeUnknown},
		{"no call waits with workers of this lane", lost(reads(`{"waiting":true}`)), once, api.Route{},
			false, api.ErrOutcomeUnknown},
		{"another timeout", ActivityFailure{Timeout: "StartToClose",
			LastHeartbeat: reads(`{"waiting":true}`)}, once, holds, false, api.ErrOutcomeUnknown},
	} {
		if e := CallError(test.failure, test.tool, test.route); e.Requeue != test.notStarted ||
			e.Type != test.want {
			t.Errorf("%s: got %+v, want %s, not started %t", test.name, e, test.want, test.notStarted)
		}
	}
	if e := CallError((ActivityFailure{Timeout: TimeoutHeartbeat,
		LastHeartbeat: reads(`{"waiting":true}`)}), once,
		holds); e.Message != "the worker where the call waited for a slot of the lane android was lost; nothing ran" {
		t.Errorf("the message is %q", e.Message)
	}
}

// The error names the tool's timeout, else the lane's.
func TestQueueTimeout_IsThatOfToolOrLane(t *testing.T) {
	route := api.Route{QueueTimeout: api.Duration(time.Minute)}
	for own, want := range map[api.Duration]string{0: "no worker of lane http took the call within 1m0s",
		api.Duration(time.Second): "no worker of lane http took the call within 1s"} {
		tool := api.Tool{Name: "t", Lane: "http", QueueTimeout: own}
		if e := CallError((ActivityFailure{Timeout: TimeoutScheduleToStart}), tool,
			route); e.Type != api.ErrQueueTimeout || e.Message != want {
			t.Errorf("with %s of its own: %+v", own, e)
		}
	}
	if e := CancelledBeforeStart(); e.Type != api.ErrCancelled || e.Phase != api.PhasePreExecution {
		t.Errorf("the error of a call that was not started is %+v", e)
	}
}
