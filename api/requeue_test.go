package api

import (
	"encoding/json"
	"testing"
	"time"
)

// These failures mean that the call did not start, so its run schedules it again: the worker
// reported it, or it was lost after a heartbeat with which the call waited, on a lane where calls
// wait with workers.
func TestNotStarted_IsReportedByWorkerOrHeartbeat(t *testing.T) {
	holds := Route{Holds: true}
	once := Tool{Name: "t", Lane: "android", Effect: EffectOnce}
	agent := Tool{Name: "t", Dispatch: DispatchChildWorkflow}
	reads := func(text string) func(any) error {
		return func(v any) error {
			return json.Unmarshal(
				[]byte(text), v)
		}
	}
	reported := ActivityFailure{Type: string(ErrWorkerLost),
		Details: reads(`{"type":"worker_lost","message":"m","not_started":true,"requeue":true}`)}
	lost := func(beat func(any) error) ActivityFailure {
		return ActivityFailure{Timeout: TimeoutHeartbeat, LastHeartbeat: beat}
	}
	for _, test := range []struct {
		name       string
		failure    ActivityFailure
		tool       Tool
		route      Route
		notStarted bool
		want       ErrorType
	}{
		{"the worker reports it", reported, once, Route{}, true, ErrWorkerLost},
		{"of a call that is no activity of its lane", reported, agent, Route{}, false, ErrWorkerLost},
		{"it waited", lost(reads(`{"waiting":true}`)), once, holds, true, ErrWorkerLost},
		{"it had waited", lost(reads(`{"waiting":false}`)), once, holds, false, ErrOutcomeUnknown},
		{"it reported progress", lost(reads(`{"done":1}`)), once, holds, false, ErrOutcomeUnknown},
		{"its report cannot be read", lost(reads(`[`)), once, holds, false, ErrOutcomeUnknown},
		{"it reported nothing", lost(nil), once, holds, false, ErrOutcomeUnknown},
		{"no call waits with workers of this lane", lost(reads(`{"waiting":true}`)), once, Route{},
			false, ErrOutcomeUnknown},
		{"another timeout", ActivityFailure{Timeout: "StartToClose",
			LastHeartbeat: reads(`{"waiting":true}`)}, once, holds, false, ErrOutcomeUnknown},
	} {
		if e := test.failure.CallError(test.tool, test.route); e.Requeue != test.notStarted ||
			e.Type != test.want {
			t.Errorf("%s: got %+v, want %s, not started %t", test.name, e, test.want, test.notStarted)
		}
	}
	if e := (ActivityFailure{Timeout: TimeoutHeartbeat,
		LastHeartbeat: reads(`{"waiting":true}`)}).CallError(once,
		holds); e.Message != "the worker where the call waited for a slot of the lane android was lost; nothing ran" {
		t.Errorf("the message is %q", e.Message)
	}
}

// A call that workers returned is scheduled again up to twenty times. A call with effect once that
// did not start, and may succeed, is scheduled again twice.
func TestRequeues_AreBounded(t *testing.T) {
	once := Tool{Name: "t", Lane: "general", Effect: EffectOnce}
	read, stateful := once, once
	read.Effect, stateful.Dispatch = EffectRead, DispatchInstance
	returned, unsent := &Error{NotStarted: true, Requeue: true}, &Error{Type: ErrExecution,
		NotStarted: true, Retryable: true}
	unprovided := &Error{Type: ErrPreconditionFailed, NotStarted: true, Retryable: true}
	for name, test := range map[string]struct {
		tool      Tool
		err       *Error
		want, own int
	}{
		"returned":                {once, returned, MaxRequeues, MaxRequeues},
		"returned, read":          {read, returned, MaxRequeues, MaxRequeues},
		"not started":             {once, unsent, maxRestarts, maxRestarts},
		"not started, read":       {read, unsent, 0, 0},
		"not started, stateful":   {stateful, unsent, maxRestarts, maxRestarts},
		"not provided, read":      {read, unprovided, 0, MaxRequeues},
		"not started, for good":   {once, &Error{NotStarted: true}, 0, 0},
		"started, may be cured":   {once, &Error{Retryable: true}, 0, 0},
		"started, outcome is not": {once, &Error{Type: ErrOutcomeUnknown}, 0, 0},
	} {
		for purpose, want := range map[Purpose]int{"": test.want, PurposeUndo: test.own} {
			n := 0
			for test.tool.Requeues(test.err, purpose, n) {
				n++
			}
			if n != want {
				t.Errorf("%s, %s: scheduled again %d times, want %d", name, purpose, n, want)
			}
		}
	}
}

// The error names the tool's timeout, else the lane's.
func TestQueueTimeout_IsThatOfToolOrLane(t *testing.T) {
	route := Route{QueueTimeout: Duration(time.Minute)}
	for own, want := range map[Duration]string{0: "no worker of lane http took the call within 1m0s",
		Duration(time.Second): "no worker of lane http took the call within 1s"} {
		tool := Tool{Name: "t", Lane: "http", QueueTimeout: own}
		if e := (ActivityFailure{Timeout: TimeoutScheduleToStart}).CallError(tool,
			route); e.Type != ErrQueueTimeout || e.Message != want {
			t.Errorf("with %s of its own: %+v", own, e)
		}
	}
	if e := CancelledBeforeStart(); e.Type != ErrCancelled || e.Phase != PhasePreExecution {
		t.Errorf("the error of a call that was not started is %+v", e)
	}
}
