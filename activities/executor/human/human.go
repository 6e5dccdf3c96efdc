package human

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// Executor executes tools of the kind human: the call stays open at the server and occupies no
// worker until a person's reply completes it. The run asks the question.
type Executor struct{}

// Execute implements executor.Executor. It always returns activity.ErrResultPending.
func (Executor) Execute(context.Context, *toolspecs.Spec, json.RawMessage) (executor.Answer,
	error) {
	return executor.Answer{}, activity.ErrResultPending
}

// PrepareDecision implements executor.DecisionPreparer: it completes the decision on a call with
// the question.
func (Executor) PrepareDecision(_ api.AdmissionRequest, tool *toolspecs.Compiled,
	args json.RawMessage, v *api.AdmissionDecision) *api.Error {
	v.Question = tool.Question(args)
	return nil
}
