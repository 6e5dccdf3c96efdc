package audit

import (
	"cmp"
	"context"
	"iter"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Position says up to where a run's events have been seen. It is plain data that can be kept as JSON for as long as the server
// keeps the run: a later reader of any process goes on after it.
type Position struct {
	WorkflowID string `json:"workflow_id"`
	// Run is the id of the first execution of the run's chain. Where Sequence is zero it may be any execution of the chain, or
	// empty for the latest run of that workflow id.
	Run string `json:"run_id,omitempty"`
	// Sequence is the number of the last event that was seen; zero is before the first.
	Sequence int `json:"sequence"`
	// Part is the execution in which that event stands, and Before how many events stand in those before it: so reading can go on
	// where the server keeps the run's first executions no longer.
	Part   string `json:"part,omitempty"`
	Before int    `json:"before,omitempty"`
}

// Subscription gives the events of a run to one reader, each once. It is not to be used by several goroutines.
type Subscription struct {
	client  client.Client
	at      Position
	deriver *history.Deriver
}

// Subscribe returns a subscription to the events after a position. One with a WorkflowID alone begins with the first.
func Subscribe(c client.Client, after Position) *Subscription {
	return &Subscription{client: c, at: after}
}

// Position returns the position after the event that Events gave last. Kept together with what the event led to, it has every
// event take effect once, whatever ends the reader.
func (s *Subscription) Position() Position { return s.at }

// Summary returns what is known of the run by the event that was given last; before the first, nothing.
func (s *Subscription) Summary() history.Summary {
	if s.deriver == nil {
		return history.Summary{}
	}
	return s.deriver.Summary()
}

// Events gives the events after the position as they come, over continue-as-new, until the run is closed, ctx ends or the reader
// stops; called again, it goes on from there. For that it reads the run's histories from the beginning, as the deriver needs what
// came before: some 20,000 calls a second, in constant memory.
//
// An error comes last: ErrPosition where the position is of another run or past the run's end, ErrNotFound where the server keeps the
// position's own execution no longer, or the errors of Follow; it need not keep those before. After one of the connection, Events
// can be called again.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[api.Event, error] {
	return s.read(ctx, true)
}

// Read is Events that does not wait for more. Of a run whose beginning is gone it gives the rest, whose events have no number and
// no position.
func (s *Subscription) Read(ctx context.Context) iter.Seq2[api.Event, error] {
	return s.read(ctx, false)
}

func (s *Subscription) read(ctx context.Context, wait bool) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		ch := &chain{client: s.client, workflowID: s.at.WorkflowID, runID: cmp.Or(s.at.Part, s.at.Run), wait: wait, from: s.at}
		for event, err := range ch.events(ctx) {
			s.deriver = ch.deriver
			if err == nil && event.Sequence > 0 {
				s.at = Position{WorkflowID: s.at.WorkflowID, Run: ch.deriver.Run(), Sequence: event.Sequence, Part: event.RunID, Before: ch.deriver.Before()}
			}
			if !yield(event, err) {
				return
			}
		}
	}
}
