package failures

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// The error does not depend on who reads the failure.
func TestActivityFailure_BecomesTheErrorOfTheCall(t *testing.T) {
	read := api.Tool{Name: "read", Lane: "files", Effect: api.EffectRead,
		Timeout: api.Duration(3 * time.Second), QueueTimeout: api.Duration(time.Minute),
		Heartbeat: api.Duration(3 * time.Second)}
	once, again := read, read
	again.Retry.MaxAttempts = 3
	once.Effect, once.Heartbeat = api.EffectOnce, api.Duration(time.Minute)
	details := func(text string) func(any) error {
		return func(v any) error {
			return json.Unmarshal(
				[]byte(text), v)
		}
	}
	tests := []struct {
		name    string
		failure ActivityFailure
		tool    api.Tool
		want    api.ErrorType
		phase   api.Phase
		words   string
	}{
		{"no worker took it", ActivityFailure{Timeout: TimeoutScheduleToStart}, once, api.ErrQueueTimeout,
			api.PhasePreExecution, "no worker of lane files took the call within 1m0s"},
		{"too slow", ActivityFailure{Timeout: "StartToClose"}, read, api.ErrTimeout, api.PhaseExecution,
			"read did not answer within 3s"},
		{"lost", ActivityFailure{Timeout: TimeoutHeartbeat}, read, api.ErrWorkerLost, api.PhaseExecution,
			"no heartbeat of read arrived for 3s: its worker was lost or could not reach Temporal at each attempt"},
		{"lost, and must not run twice", ActivityFailure{Timeout: TimeoutHeartbeat}, once,
			api.ErrOutcomeUnknown, api.PhaseExecution, "no heartbeat of read arrived for 1m0s: its worker was lost or could not reach Temporal"},
		{"cancelled by the server", ActivityFailure{Cancelled: true, Message: "canceled"}, again,
			api.ErrCancelled, api.PhaseExecution,
			"the call was cancelled before it started, or between two attempts"},
		{"cancelled by the server, one attempt", ActivityFailure{Cancelled: true,
			Details: details(`"ACTIVITY_ID_NOT_STARTED"`)}, once, api.ErrCancelled, api.PhaseExecution,
			"the call was cancelled before a worker started it"},
		{"cancelled on a worker", ActivityFailure{Cancelled: true, Details: details(
			`{"type":"cancelled","message":"in the queue","phase":"pre_execution","not_started":true}`)},
			once, api.ErrCancelled, api.PhasePreExecution, "in the queue"},
		{"typed", ActivityFailure{Type: string(api.ErrInvalidOutput), Message: "m",
			Details: details(`{"type":"invalid_output","message":"no number","phase":"post_execution"}`)},
			read, api.ErrInvalidOutput, api.PhasePostExecution, "no number"},
		{"typed, with broken details", ActivityFailure{Type: string(api.ErrTimeout), Message: "m",
			Details: details(`[`)}, read, api.ErrExecution, api.PhaseExecution, "m"},
		{"typed, with empty details", ActivityFailure{Type: string(api.ErrTimeout), Message: "m",
			Details: details(`{}`)}, read, api.ErrExecution, api.PhaseExecution, "m"},
		{"typed, without details", ActivityFailure{Type: string(api.ErrTimeout), Message: "m"}, read,
			api.ErrExecution, api.PhaseExecution, "m"},
		{"of a type that is not ours", ActivityFailure{Type: "PanicError", Message: "nil map",
			Details: details(`{"type":"timeout"}`)}, read, api.ErrExecution, api.PhaseExecution, "nil map"},
		{"a panic of a worker, once", ActivityFailure{Type: "PanicError", Message: "nil map"}, once,
			api.ErrOutcomeUnknown, api.PhaseExecution, "nil map"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := CallError(tt.failure, tt.tool, api.Route{})
			if !errors.Is(got, &api.Error{Type: tt.want}) || got.Phase != tt.phase ||
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
		beat, err := json.Marshal(api.Heartbeat{Acted: acted, Harmless: 1})
		if err != nil {
			t.Fatal(err)
		}
		f := ActivityFailure{Timeout: TimeoutScheduleToStart,
			LastHeartbeat: func(v any) error { return json.Unmarshal(beat, v) }}
		e := CallError(f, api.Tool{Name: "t", Lane: "general", Effect: api.EffectIdempotent}, api.Route{})
		if e.Type != api.ErrQueueTimeout || e.MayHaveActed() != acted || e.BeforeStart() == acted {
			t.Errorf("acted %t: %+v", acted, e)
		}
	}
}

// A call with effect read has none, whatever a worker says that does not know its tool.
func TestActivityFailure_OfAReadHasNoEffect(t *testing.T) {
	for _, effect := range []api.Effect{api.EffectRead, api.EffectIdempotent} {
		marked := AfterEffect((&api.Error{Type: api.ErrExecutorNotFound, NotStarted: true}))
		detail, err := json.Marshal(marked)
		if err != nil {
			t.Fatal(err)
		}
		f := ActivityFailure{Type: string(marked.Type),
			Details: func(v any) error { return json.Unmarshal(detail, v) }}
		e := CallError(f, api.Tool{Name: "t", Lane: "general", Effect: effect}, api.Route{})
		if acted := effect != api.EffectRead; e.MayHaveActed() != acted ||
			len(e.Notes) > 0 != acted {
			t.Errorf("%s: %+v", effect, e)
		}
	}
}

// The outcome of a call whose worker was lost says what the last heartbeat had to say.
func TestActivityFailure_KeepsTheNotesOfTheLastHeartbeat(t *testing.T) {
	beat, err := json.Marshal(api.Heartbeat{Notes: []string{"this is a new instance"}})
	if err != nil {
		t.Fatal(err)
	}
	f := ActivityFailure{Timeout: TimeoutHeartbeat,
		LastHeartbeat: func(v any) error { return json.Unmarshal(beat, v) }}
	for _, effect := range []api.Effect{api.EffectOnce, api.EffectRead} {
		if e := CallError(f, api.Tool{Name: "t", Effect: effect}, api.Route{}); len(e.Notes) != 1 ||
			!strings.Contains(e.ForModel(), "this is a new instance") ||
			!strings.Contains(e.Error(), "this is a new instance") {
			t.Errorf("%s: %v, notes %q", effect, e, e.Notes)
		}
	}
}
