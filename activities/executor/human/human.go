package human

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/executor"
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
