package workflows

import (
	"errors"
	"testing"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// The cases show which ends of a sub-agent's run leave open whether its calls took effect. A run
// that failed or was cancelled has undone its calls; one that the server ended has not.
func TestAgentFailure_TellsUnclearEndsFromClearOnes(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		once    api.ErrorType
		unclear bool
	}{
		"terminated": {&temporal.TerminatedError{}, api.ErrOutcomeUnknown, true},
		"timed out at the server": {temporal.NewTimeoutError(
			enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), api.ErrOutcomeUnknown, true},
		"of another kind": {errors.New("no workflow of that type"), api.ErrOutcomeUnknown, true},
		"failed": {temporal.NewApplicationError("m", string(api.RunModelFailed)),
			api.ErrExecution, false},
		"cancelled": {temporal.NewCanceledError(), api.ErrCancelled, false},
	} {
		for effect, want := range map[api.Effect]api.ErrorType{api.EffectOnce: test.once,
			api.EffectRead: clearType(test.once)} {
			e, _ := childFailure(test.err, "the agent's run", effect)
			tool := api.Tool{Dispatch: api.DispatchChildWorkflow, Effect: effect}
			acted := mayHaveActed(tool, api.CallOutcome{Error: e}, test.err)
			if e.Type != want || acted != (test.unclear && effect == api.EffectOnce) {
				t.Errorf("%s, %s: got %+v, may have acted %t", name, effect, e, acted)
			}
			e = neverStarted(e)
			if !e.NotStarted || e.Type != clearType(want) || e.MayHaveActed() {
				t.Errorf("%s, %s, not started: got %+v", name, effect, e)
			}
		}
	}
}

// clearType returns the type of an error if it is known whether the call took effect.
func clearType(e api.ErrorType) api.ErrorType {
	if e == api.ErrOutcomeUnknown {
		return api.ErrExecution
	}
	return e
}
