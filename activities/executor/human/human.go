package human

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// People executes tools of the kind human: the call stays open at the server, at no worker, until a
// person's reply ends it. The run itself asks.
type Executor struct{}

// Execute implements Executor. Its error is always activity.ErrResultPending.
func (Executor) Execute(context.Context, *toolspecs.Spec, json.RawMessage) (executor.Answer,
	error) {
	return executor.Answer{}, activity.ErrResultPending
}
