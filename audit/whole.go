package audit

import (
	"context"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/client"
)

// Read reads a run once, as far as it has come: it gives each event to each, and returns the run's summary and the records of
// the calls that run or wait now. Parameters and errors are those of Events.
func Read(ctx context.Context, c client.Client, workflowID, runID string, each func(switchyard.Event)) (Summary, []switchyard.Record, error) {
	ch := &chain{client: c, workflowID: workflowID, runID: runID}
	for event, err := range ch.events(ctx) {
		if err != nil {
			return Summary{}, nil, err
		}
		each(event)
	}
	running, err := ch.running(ctx)
	return ch.deriver.Summary(), running, err
}
