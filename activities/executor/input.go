package executor

import (
	"github.com/switchyard/switchyard/api"
)

// UnreadableInput is the error of a call whose input this worker cannot read, because it lacks a
// key or the payload store. The call is requeued, because another worker may be able to read it.
func UnreadableInput(err error) *api.Error {
	e := api.Errorf(api.ErrExecution, "this worker cannot read the call's input: %v", err)
	e.Phase, e.NotStarted, e.Requeue = api.PhasePreExecution, true, true
	return e
}
