package audit

import (
	"cmp"
	"context"
	"errors"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Read reads a run so far once. It calls each with every event, and returns the summary and the
// records of the open calls; with ErrIncomplete, those of the histories that are left. Parameters
// and errors are those of Events.
func Read(ctx context.Context, c client.Client, workflowID, runID string,
	each func(api.Event)) (history.Summary, []api.Record, error) {
	ch := &chain{client: c, workflowID: workflowID, runID: runID}
	var gone error
	for event, err := range ch.events(ctx) {
		if gone = err; errors.Is(err, ErrIncomplete) {
			break // the error follows the last event
		}
		if err != nil {
			return history.Summary{}, nil, err
		}
		each(event)
	}
	running, err := ch.readRunning(ctx)
	return ch.deriver.Summary(), running, cmp.Or(err, gone)
}
