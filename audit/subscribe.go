package audit

import (
	"cmp"
	"context"
	"iter"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Position is the last event of a run that a reader has seen. It is plain data: stored as JSON, it
// lets another process resume for as long as the server keeps the run.
type Position struct {
	WorkflowID string `json:"workflow_id"`
	// Run is the ID of the first execution of the run. If Sequence is zero, it may be any
	// execution, or empty for the latest run with that workflow ID.
	Run string `json:"run_id,omitempty"`
	// Sequence is the number of the last event that the reader has seen; zero for none.
	Sequence int `json:"sequence"`
	// Part is the execution of that event, and Before the number of events of the executions before
	// it. They allow reading to resume when the server has deleted the first executions.
	Part   string `json:"part,omitempty"`
	Before int    `json:"before,omitempty"`
}

// Subscription yields the events of a run to one reader, each event once. It is not safe for
// concurrent use.
type Subscription struct {
	client  client.Client
	at      Position
	deriver *history.Deriver
}

// Subscribe returns a subscription to the events after a position. With a WorkflowID only, it
// starts with the first event.
func Subscribe(c client.Client, after Position) *Subscription {
	return &Subscription{client: c, at: after}
}

// Position returns the position of the last event that Events yielded. A reader that stores it
// together with the effect of the event applies every event once, however it ends.
func (s *Subscription) Position() Position { return s.at }

// Summary returns the summary of the run up to the last event; it is zero before the first.
func (s *Subscription) Summary() history.Summary {
	if s.deriver == nil {
		return history.Summary{}
	}
	return s.deriver.Summary()
}

// Events yields the events after the position as they come, over continue-as-new, until the run is
// closed, ctx ends or the reader stops. Called again, it resumes. It reads the histories from the
// start, about 20,000 calls per second in constant memory, because events depend on earlier ones.
//
// An error comes last: ErrPosition if the position is of another run or past the end of the run,
// ErrNotFound if the server has deleted the execution of the position, or an error of Follow.
// Executions before that of the position may be deleted. After a connection error, call Events
// again.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[api.Event, error] {
	return s.read(ctx, true)
}

// Read is Events that does not wait for new events. If the first histories are deleted, it yields
// the rest without sequence numbers and positions.
func (s *Subscription) Read(ctx context.Context) iter.Seq2[api.Event, error] {
	return s.read(ctx, false)
}

func (s *Subscription) read(ctx context.Context, wait bool) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		ch := &chain{
			client:     s.client,
			workflowID: s.at.WorkflowID,
			runID:      cmp.Or(s.at.Part, s.at.Run),
			wait:       wait,
			from:       s.at,
		}
		for event, err := range ch.events(ctx) {
			s.deriver = ch.deriver
			if err == nil && event.Sequence > 0 {
				s.at = Position{
					WorkflowID: s.at.WorkflowID,
					Run:        ch.deriver.Run(),
					Sequence:   event.Sequence,
					Part:       event.RunID,
					Before:     ch.deriver.Before(),
				}
			}
			if !yield(event, err) {
				return
			}
		}
	}
}
