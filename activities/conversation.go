package activities

import (
	"context"
	"fmt"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/activity"
)

// setup returns what the run is pinned to: from memory, or by asking the run.
func (a *Activities) setup(ctx context.Context, run string) (*switchyard.Setup, error) {
	if s := a.runs.setup(run); s != nil {
		return s, nil
	}
	var s switchyard.Setup
	if err := a.ask(ctx, &s, switchyard.SetupQuery); err != nil {
		return nil, err
	}
	a.runs.keepSetup(run, &s)
	return &s, nil
}

// conversation returns the whole conversation that a model step is about: from memory, and what is missing there by
// asking the run for pages of it.
func (a *Activities) conversation(ctx context.Context, r switchyard.ModelRequest) ([]switchyard.Message, error) {
	messages, whole := a.runs.conversation(r)
	if whole {
		return messages, nil
	}
	want := r.Chain
	for _, digest := range r.New {
		want = switchyard.NextChain(want, digest)
	}
	total, chain := r.Seen+len(r.New), ""
	for next := len(messages); next < total; {
		var page switchyard.Page
		if err := a.ask(ctx, &page, switchyard.ConversationQuery, next); err != nil {
			return nil, err
		}
		fetched := page.Messages.Value
		if len(fetched) == 0 {
			return nil, fmt.Errorf("the run has %d messages where the model step is about %d", page.Total, total)
		}
		fetched = fetched[:min(len(fetched), total-next)]
		messages, chain = a.runs.extend(r.Run, next, fetched)
		next += len(fetched)
	}
	if chain != want {
		// What was in memory belongs to another past of the run (it was reset): start over from nothing.
		a.runs.extend(r.Run, 0, nil)
		return nil, fmt.Errorf("the conversation in memory is not the one that the model step is about")
	}
	return messages, nil
}

// ask queries the run on whose behalf ctx executes.
func (a *Activities) ask(ctx context.Context, into any, query string, args ...any) error {
	execution := activity.GetInfo(ctx).WorkflowExecution
	value, err := a.config.Client.QueryWorkflow(ctx, execution.ID, execution.RunID, query, args...)
	if err != nil {
		return fmt.Errorf("ask the run for %s: %w", query, err)
	}
	return value.Get(into)
}
