package api

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// The error does not depend on who reads the failure.
func TestActivityFailure_BecomesTheErrorOfTheCall(t *testing.T) {
	read := Tool{Name: "read", Lane: "files", Effect: EffectRead,
		Timeout: Duration(3 * time.Second), QueueTimeout: Duration(time.Minute),
		Heartbeat: Duration(3 * time.Second)}
	once, again := read, read
	again.Retry.MaxAttempts = 3
	once.Effect, once.Heartbeat = EffectOnce, Duration(time.Minute)
	details := func(text string) func(any) error {
		return func(v any) error {
			return json.Unmarshal(
				[]byte(text), v)
		}
	}
	tests := []struct {
		name    string
		failure ActivityFailure
		tool    Tool
		want    ErrorType
		phase   Phase
		words   string
	}{
		{"no worker took it", ActivityFailure{Timeout: TimeoutScheduleToStart}, once, ErrQueueTimeout,
			PhasePreExecution, "no worker of lane files took the call within 1m0s"},
		{"too slow", ActivityFailure{Timeout: "StartToClose"}, read, ErrTimeout, PhaseExecution,
			"read did not answer within 3s"},
		{"lost", ActivityFailure{Timeout: TimeoutHeartbeat}, read, ErrWorkerLost, PhaseExecution,
			"no heartbeat of read arrived for 3s: its worker was lost or could not reach Temporal at each attempt"},
		{"lost, and must not run twice", ActivityFailure{Timeout: TimeoutHeartbeat}, once,
			ErrOutcomeUnknown, PhaseExecution, "no heartbeat of read arrived for 1m0s: its worker was lost or could not reach Temporal"},
		{"cancelled by the server", ActivityFailure{Cancelled: true, Message: "canceled"}, again,
			ErrCancelled, PhaseExecution,
			"the call was cancelled before it started, or between two attempts"},
		{"cancelled by the server, one attempt", ActivityFailure{Cancelled: true,
			Details: details(`"ACTIVITY_ID_NOT_STARTED"`)}, once, ErrCancelled, PhaseExecution,
			"the call was cancelled before a worker started it"},
		{"cancelled on a worker", ActivityFailure{Cancelled: true, Details: details(
			`{"type":"cancelled","message":"in the queue","phase":"pre_execution","not_started":true}`)},
			once, ErrCancelled, PhasePreExecution, "in the queue"},
		{"typed", ActivityFailure{Type: string(ErrInvalidOutput), Message: "m",
			Details: details(`{"type":"invalid_output","message":"no number","phase":"post_execution"}`)},
			read, ErrInvalidOutput, PhasePostExecution, "no number"},
		{"typed, with broken details", ActivityFailure{Type: string(ErrTimeout), Message: "m",
			Details: details(`[`)}, read, ErrExecution, PhaseExecution, "m"},
		{"typed, with empty details", ActivityFailure{Type: string(ErrTimeout), Message: "m",
			Details: details(`{}`)}, read, ErrExecution, PhaseExecution, "m"},
		{"typed, without details", ActivityFailure{Type: string(ErrTimeout), Message: "m"}, read,
			ErrExecution, PhaseExecution, "m"},
		{"of a type that is not ours", ActivityFailure{Type: "PanicError", Message: "nil map",
			Details: details(`{"type":"timeout"}`)}, read, ErrExecution, PhaseExecution, "nil map"},
		{"a panic of a worker, once", ActivityFailure{Type: "PanicError", Message: "nil map"}, once,
			ErrOutcomeUnknown, PhaseExecution, "nil map"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.failure.CallError(tt.tool, Route{})
			if !errors.Is(got, &Error{Type: tt.want}) || got.Phase != tt.phase ||
				got.Message != tt.words {
				t.Errorf("got %s in %s: %q, want %s in %s: %q", got.Type, got.Phase, got.Message,
					tt.want, tt.phase, tt.words)
			}
		})
	}
}

// A call that no worker takes again is not told as not done if an attempt of it may have acted.
func TestActivityFailure_KeepsThatAnAttemptMayHaveActed(t *testing.T) {
	for _, acted := range []bool{false, true} {
		beat, err := json.Marshal(Heartbeat{Acted: acted, Harmless: 1})
		if err != nil {
			t.Fatal(err)
		}
		f := ActivityFailure{Timeout: TimeoutScheduleToStart,
			LastHeartbeat: func(v any) error { return json.Unmarshal(beat, v) }}
		e := f.CallError(Tool{Name: "t", Lane: "general", Effect: EffectIdempotent}, Route{})
		if e.Type != ErrQueueTimeout || e.MayHaveActed() != acted || e.BeforeStart() == acted {
			t.Errorf("acted %t: %+v", acted, e)
		}
	}
}

// A call with effect read has none, whatever a worker says that does not know its tool.
func TestActivityFailure_OfAReadHasNoEffect(t *testing.T) {
	for _, effect := range []Effect{EffectRead, EffectIdempotent} {
		marked := (&Error{Type: ErrExecutorNotFound, NotStarted: true}).AfterEffect()
		detail, err := json.Marshal(marked)
		if err != nil {
			t.Fatal(err)
		}
		f := ActivityFailure{Type: string(marked.Type),
			Details: func(v any) error { return json.Unmarshal(detail, v) }}
		e := f.CallError(Tool{Name: "t", Lane: "general", Effect: effect}, Route{})
		if acted := effect != EffectRead; e.MayHaveActed() != acted || len(e.Notes) > 0 != acted {
			t.Errorf("%s: %+v", effect, e)
		}
	}
}

// The outcome of a call whose worker was lost says what the last heartbeat had to say.
func TestActivityFailure_KeepsTheNotesOfTheLastHeartbeat(t *testing.T) {
	beat, err := json.Marshal(Heartbeat{Notes: []string{"this is a new instance"}})
	if err != nil {
		t.Fatal(err)
	}
	f := ActivityFailure{Timeout: TimeoutHeartbeat,
		LastHeartbeat: func(v any) error { return json.Unmarshal(beat, v) }}
	for _, effect := range []Effect{EffectOnce, EffectRead} {
		if e := f.CallError(Tool{Name: "t", Effect: effect}, Route{}); len(e.Notes) != 1 ||
			!strings.Contains(e.ForModel(), "this is a new instance") ||
			!strings.Contains(e.Error(), "this is a new instance") {
			t.Errorf("%s: %v, notes %q", effect, e, e.Notes)
		}
	}
}
