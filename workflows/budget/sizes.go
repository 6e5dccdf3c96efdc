package budget

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// Sizes is the accountant of a run. Everything that the run hands to the server is counted here:
// per payload, per workflow task and per history. A run that exceeded one of the server's limits
// would be terminated, or its workflow task would fail for ever.
type Sizes struct {
	Task    Task
	History History
	Updates Updates
}

// Updates counts the updates of an execution, of which a server accepts 2,000. One budget is for
// all of them: the last ones are for people who decide, answer, cancel or end the run.
type Updates int

// maxUpdates bounds the updates of an execution before the last ones, and maxCancels those with
// which calls are cancelled.
const (
	maxUpdates = 1800
	maxCancels = 1900
)

// Full reports whether the rest of the updates is for people. A server that has been set to accept
// fewer updates says so when a tenth of them is left.
func (u Updates) Full(ctx workflow.Context) bool {
	return u >= maxUpdates || slices.Contains(workflow.GetInfo(ctx).
		GetContinueAsNewSuggestedReasons(), workflow.ContinueAsNewSuggestedReasonTooManyUpdates)
}

// Spent reports whether the rest is for decisions and answers, and the end of the run.
func (u Updates) Spent() bool { return u >= maxCancels }

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
