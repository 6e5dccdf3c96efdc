package executor

import (
	"github.com/switchyard/switchyard/api"
)

// unread is the error of a call whose input this worker cannot read, for want of a key or of the
// payload store. It hands the call back: another worker may be able to.
func UnreadableInput(err error) *api.Error {
	e := api.Errorf(api.ErrExecution, "this worker cannot read the call's input: %v", err)
	e.Phase, e.NotStarted = api.PhasePreExecution, true
	return e
}
