package budget

import "github.com/switchyard/switchyard/api"

// Sizes is the accountant of a run. Everything that the run hands to the server is counted here:
// per payload, per workflow task and per history. A run that exceeded one of the server's limits
// would be terminated, or its workflow task would fail for ever.
type Sizes struct {
	Task    Task
	History History
}

// Payload returns the error of a payload of n bytes that is too large to be sent; nil if it is not.
func Payload(what string, n int) *api.Error {
	if n <= api.MaxPayload {
		return nil
	}
	e := api.TooLarge(what, n, api.MaxPayload,
		"shorten the arguments, the run's variables, or the agent's hooks and instructions")
	e.Type, e.Phase = api.ErrPreconditionFailed, api.PhasePreExecution
	return e
}
