package workflows

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// The cases show which ends of a sub-agent's run leave open whether its calls took effect. A run
// that failed or was cancelled has undone its calls; one that the server ended has not.
func TestChildFailure_TellsUnclearEndsFromClearOnes(t *testing.T) {
	for name, test := range map[string]struct {
		err                error
		kind               api.ErrorType
		unclear, finalized bool
	}{
		"terminated": {&temporal.TerminatedError{}, api.ErrExecution, true, false},
		"timed out at the server": {temporal.NewTimeoutError(
			enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), api.ErrExecution, true, false},
		"of another kind": {errors.New("no workflow of that type"), api.ErrExecution, true, false},
		"failed": {temporal.NewApplicationError("m", string(api.RunModelFailed)),
			api.ErrExecution, false, true},
		"cancelled": {temporal.NewCanceledError(), api.ErrCancelled, true, true},
	} {
		end := childFailure(test.err, "the agent's run")
		if end.fault.Type != test.kind || end.unclear != test.unclear ||
			end.finalized != test.finalized {
			t.Errorf("%s: got %+v, %+v", name, end, end.fault)
		}
		c := Call{finalized: end.finalized}
		failures.SetUnclear(end.fault, api.EffectOnce)
		if acted := c.mayHaveActed(api.CallOutcome{Error: end.fault}); acted == test.finalized {
			t.Errorf("%s: may have acted %t", name, acted)
		}
	}
}
