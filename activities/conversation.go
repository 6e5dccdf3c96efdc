package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
)

// setup returns what the run is pinned to, from the cache if its entry is valid, or else by
// querying the run. The entry may be outdated if the run was reset.
func (a *Activities) setup(ctx context.Context, run string,
	right func(api.Pinned) bool) (*api.Setup, error) {
	if s := a.runs.setup(run); s != nil && right(s.Pinned.Value) {
		return s, nil
	}
	var s api.Setup
	if err := a.ask(ctx, &s, api.SetupQuery); err != nil {
		return nil, err
	}
	a.runs.keepSetup(run, &s)
	return &s, nil
}

// conversation returns the whole conversation of a model step. It reads the cache and queries the
// run for the missing pages.
func (a *Activities) conversation(ctx context.Context, r api.ModelRequest) ([]api.Message, error) {
	total := r.Seen + len(r.New)
	known := a.runs.known(r)
	if len(known.messages) == total {
		return slices.Clip(known.messages), nil
	}
	want := r.Chain
	for _, digest := range r.New {
		want = api.NextChain(want, digest)
	}
	whole, fetched, err := a.fetch(ctx, known, total)
	if err == nil && whole.chain(total) != want && len(known.messages) > 0 {
		// The cached conversation predates a reset of the run: fetch all of it.
		whole, fetched, err = a.fetch(ctx, talk{}, total)
	}
	if err != nil {
		return nil, err
	}
	if whole.chain(total) != want {
		return nil, fmt.Errorf("the run's conversation is not the one that the model step is about")
	}
	a.runs.learn(r.Run, whole, fetched)
	return slices.Clip(whole.messages), nil // a model may append to it
}

// fetch completes a conversation of total messages. It also returns the digests of the messages
// that it queried.
func (a *Activities) fetch(ctx context.Context, t talk, total int) (whole talk, fetched []string,
	err error) {
	for len(t.messages) < total {
		var page api.Page
		next := len(t.messages)
		if err := a.ask(ctx, &page, api.ConversationQuery, next); err != nil {
			return talk{}, nil, err
		}
		messages := page.Messages.Value
		if page.From != next || len(messages) == 0 {
			return talk{}, nil,
				fmt.Errorf("the run has %d messages where the model step is about %d", page.Total,
					total)
		}
		for _, m := range messages[:min(len(messages), total-next)] {
			digest := m.Digest()
			t, fetched = t.with(m, digest), append(fetched, digest)
		}
	}
	return t, fetched, nil
}

// ask queries the run for which ctx executes.
func (a *Activities) ask(ctx context.Context, into any, query string, args ...any) error {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return errInline
	}
	execution := info.WorkflowExecution
	value, err := a.config.Client.QueryWorkflow(ctx, execution.ID, execution.RunID, query, args...)
	if err != nil {
		return fmt.Errorf("ask the run for %s: %w", query, err)
	}
	return value.Get(into)
}
