package activities

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// People executes tools of the kind human: the call stays open at the server, at no worker, until a person's reply ends
// it. The run itself asks.
type People struct{}

// Execute implements Executor. Its error is always activity.ErrResultPending.
func (People) Execute(context.Context, *toolspecs.Spec, json.RawMessage) (Answer, error) {
	return Answer{}, activity.ErrResultPending
}
