// Package conversation gives activities the setup and the conversation of a run. Requests name them
// by digests; the package reads a cache and queries the run for what is missing.
package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
)

// Config configures a Store.
type Config struct {
	// Client queries runs.
	Client client.Client
	// CacheRuns and CacheBytes bound the cache of run state; default 256 runs and 64 MiB.
	CacheRuns  int
	CacheBytes int
}

// Store reads the setups and conversations of runs and caches them for one process.
type Store struct {
	client    client.Client
	runs      *runCache
	variables variables
}

// New returns a store with an empty cache.
func New(c Config) *Store {
	return &Store{client: c.Client,
		runs: newRunCache(cmp.Or(c.CacheRuns, 256), cmp.Or(c.CacheBytes, 64<<20))}
}

// Begin caches what a new run is pinned to and its first messages.
func (s *Store) Begin(run string, setup *api.Setup, messages []api.Message) {
	s.runs.begin(run, setup, messages)
}

// Keep caches a message that this process produced for a run.
func (s *Store) Keep(run string, m api.Message) { s.runs.keep(run, m) }

// KeepOutcome caches the message of a call for the run's next model step, if there can be one.
func (s *Store) KeepOutcome(o api.Origin, outcome api.CallOutcome) {
	if o.Caller.Type == api.CallerAgent {
		s.Keep(o.Run, outcome.Message())
	}
}

// CachedSetup returns what a run is pinned to if it is in the cache, else nil.
func (s *Store) CachedSetup(run string) *api.Setup { return s.runs.setup(run) }

// Setup returns what a run is pinned to, from the cache if valid accepts the entry, or else by
// querying the run for which ctx executes. An entry may be outdated if the run was reset. It
// returns an error if the run cannot be queried.
func (s *Store) Setup(ctx context.Context, run string,
	valid func(api.Pinned) bool) (*api.Setup, error) {
	if cached := s.runs.setup(run); cached != nil && valid(cached.Pinned.Value) {
		return cached, nil
	}
	var setup api.Setup
	if err := s.ask(ctx, &setup, api.SetupQuery); err != nil {
		return nil, err
	}
	s.runs.keepSetup(run, &setup)
	return &setup, nil
}

// Messages returns the whole conversation of a model step. It reads the cache and queries the run
// for which ctx executes for the missing pages. It returns an error if the run cannot be queried or
// its conversation is not the one that r names.
func (s *Store) Messages(ctx context.Context, r api.ModelRequest) ([]api.Message, error) {
	total := r.Seen + len(r.New)
	known := s.runs.known(r)
	if len(known.messages) == total {
		return slices.Clip(known.messages), nil
	}
	want := r.Chain
	for _, digest := range r.New {
		want = api.NextChain(want, digest)
	}
	whole, fetched, err := s.fetch(ctx, known, total)
	if err == nil && whole.chain(total) != want && len(known.messages) > 0 {
		// The cached conversation predates a reset of the run: fetch all of it.
		whole, fetched, err = s.fetch(ctx, prefix{}, total)
	}
	if err != nil {
		return nil, err
	}
	if whole.chain(total) != want {
		return nil, fmt.Errorf("the run's conversation differs from the one that the model step names")
	}
	s.runs.learn(r.Run, whole, fetched)
	return slices.Clip(whole.messages), nil // a model may append to it
}

// fetch completes a conversation of total messages. It also returns the digests of the messages
// that it queried.
func (s *Store) fetch(ctx context.Context, t prefix, total int) (whole prefix, fetched []string,
	err error) {
	for len(t.messages) < total {
		var page api.Page
		next := len(t.messages)
		if err := s.ask(ctx, &page, api.ConversationQuery, next); err != nil {
			return prefix{}, nil, err
		}
		messages := page.Messages.Value
		if page.From != next || len(messages) == 0 {
			return prefix{}, nil,
				fmt.Errorf("the run has %d messages, and the model step names %d", page.Total,
					total)
		}
		for _, m := range messages[:min(len(messages), total-next)] {
			digest := m.Digest()
			t, fetched = t.with(m, digest), append(fetched, digest)
		}
	}
	return t, fetched, nil
}

// errInline rejects queries of an inline execution to its own run, which would deadlock.
var errInline = errors.New("an inline execution cannot query its own run, which waits for it")

// ask queries the run for which ctx executes.
func (s *Store) ask(ctx context.Context, into any, query string, args ...any) error {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return errInline
	}
	execution := info.WorkflowExecution
	value, err := s.client.QueryWorkflow(ctx, execution.ID, execution.RunID, query, args...)
	if err != nil {
		return fmt.Errorf("ask the run for %s: %w", query, err)
	}
	return value.Get(into)
}
