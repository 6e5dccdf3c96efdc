package audit

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// live returns what the last heartbeat of a model step tells of its text; nil where that is of an attempt that is over.
func live(a *workflowpb.PendingActivityInfo) *api.Live {
	var l api.Live
	if len(a.GetHeartbeatDetails().GetPayloads()) == 0 || pb.Decode(a.GetHeartbeatDetails(), &l) != nil || l.Text == "" || l.Attempt != int(a.GetAttempt()) {
		return nil
	}
	return &l
}

// Texts joins what the model steps of a run say while they are under way, piece by piece. The zero value is ready; it is
// for one reader, who asks for Pending again and again.
type Texts struct {
	// step and attempt are what spoke last, until is how much of its text is known, in bytes.
	step           string
	attempt, until int
}

// Next returns a step_delta for what was said since the last time, if anything, without the run's ids. A piece that does not begin where the
// one before it of its attempt ended tells that what is between was missed.
func (t *Texts) Next(running []Running, now time.Time) []api.Event {
	var events []api.Event
	for _, r := range running {
		if r.Live == nil {
			continue
		}
		l := *r.Live
		if r.ID != t.step || l.Attempt != t.attempt {
			*t = Texts{step: r.ID, attempt: l.Attempt}
		}
		if l.Until() <= t.until {
			continue
		}
		if known := t.until - l.From; known > 0 {
			l.From, l.Text = t.until, l.Text[known:]
		}
		t.until = l.Until()
		turn := l.Turn
		l.Turn = 0
		events = append(events, api.Event{Type: api.EventStepDelta, Time: now, Turn: turn, Delta: &l})
	}
	return events
}
