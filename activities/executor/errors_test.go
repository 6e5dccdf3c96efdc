package executor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/temporal"
)

// The type of a failed call depends on what its executor knows of its progress, on why its context
// ended, and on its effect.
func TestCallError_DecidesByWhatLeftTheProcess(t *testing.T) {
	plain, typed := errors.New("no such item"), api.Errorf(api.ErrInvalidOutput, "no number")
	stopping := errors.New("worker shutdown")
	type outcome struct {
		kind                 api.ErrorType
		retryable, maybeActs bool
	}
	clearly := func(kind api.ErrorType) outcome { return outcome{kind, false, false} }
	unknown := outcome{api.ErrOutcomeUnknown, false, true}
	for name, test := range map[string]struct {
		// ended is why the context of the call ended; nil if it did not.
		ended            error
		err              error
		once, idempotent outcome
	}{
		"the tool's own error": {nil, plain, clearly(api.ErrExecution), clearly(api.ErrExecution)},
		"a transient error": {nil, api.Transient(plain, 0), outcome{api.ErrExecution, true, false},
			outcome{api.ErrExecution, true, false}},
		"unclear": {nil, Unclear(plain), unknown, outcome{api.ErrExecution, false, true}},
		"unclear and transient": {nil, Unclear(api.Transient(plain, 0)), unknown,
			outcome{api.ErrExecution, true, true}},
		"not started": {nil, NotStarted(api.Transient(plain, 0)),
			outcome{api.ErrExecution, true, false}, outcome{api.ErrExecution, true, false}},
		"timeout": {ErrTimeout, fmt.Errorf("read: %w", ErrTimeout), unknown,
			outcome{api.ErrTimeout, true, true}},
		"timeout before it started": {ErrTimeout, NotStarted(ErrTimeout),
			outcome{api.ErrTimeout, true, false}, outcome{api.ErrTimeout, true, false}},
		"timeout that the tool hides": {ErrTimeout, plain, unknown,
			outcome{api.ErrExecution, false, true}},
		"a typed error after the timeout": {ErrTimeout, typed,
			outcome{api.ErrInvalidOutput, false, true}, outcome{api.ErrInvalidOutput, false, true}},
		"the error of a call of its own": {nil, &api.Error{Type: api.ErrPolicyViolation,
			Phase: api.PhasePreExecution}, outcome{api.ErrPolicyViolation, false, false},
			outcome{api.ErrPolicyViolation, false, false}},
		"the worker stops": {stopping, context.Canceled, unknown,
			outcome{api.ErrWorkerLost, true, true}},
		"the worker stops before it started": {stopping, NotStarted(stopping),
			outcome{api.ErrWorkerLost, true, false}, outcome{api.ErrWorkerLost, true, false}},
		"cancelled": {temporal.NewCanceledError(), context.Canceled,
			unknown, outcome{api.ErrCancelled, false, true}},
		"cancelled where the tool waits": {nil, api.Errorf(api.ErrCancelled, "withdrawn"), unknown,
			outcome{api.ErrCancelled, false, true}},
		"cancelled before it started": {temporal.NewCanceledError(), NotStarted(context.Canceled),
			clearly(api.ErrCancelled), clearly(api.ErrCancelled)},
	} {
		for effect, want := range map[api.Effect]outcome{api.EffectOnce: test.once,
			api.EffectIdempotent: test.idempotent} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if test.ended != nil {
				cancel(test.ended)
			}
			spec := &toolspecs.Spec{Name: "probe"}
			spec.Execution.Effect = effect
			e := CallError(ctx, test.err, spec)
			cancel(nil)
			if got := (outcome{e.Type, e.Retryable, e.MayHaveActed()}); got != want {
				t.Errorf("%s, %s: got %+v, want %+v", name, effect, got, want)
			}
			_, isProgress := errors.AsType[*progressError](test.err)
			if e.BeforeStart() != e.NotStarted {
				t.Errorf("%s, %s: it failed in the phase %s", name, effect, e.Phase)
			}
			if e.NotStarted != (isProgress && !test.err.(*progressError).started) {
				t.Errorf("%s, %s: not started: %t", name, effect, e.NotStarted)
			}
		}
	}
	if NotStarted(nil) != nil || Unclear(nil) != nil {
		t.Error("no error became one")
	}
}
