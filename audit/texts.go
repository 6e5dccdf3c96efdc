package audit

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// live returns the text of the last heartbeat of a model step; nil if it is of an earlier attempt.
func live(a *workflowpb.PendingActivityInfo) *api.Live {
	var l api.Live
	if len(a.GetHeartbeatDetails().GetPayloads()) == 0 ||
		pb.Decode(a.GetHeartbeatDetails(), &l) != nil ||
		l.Text == "" ||
		l.Attempt != int(a.GetAttempt()) {
		return nil
	}
	return &l
}

// Texts joins the texts of model steps in progress. The zero value is ready for one reader, who
// passes it the result of Pending repeatedly.
type Texts struct {
	// step and attempt are those of the last text. until is the length of its known part in bytes.
	step           string
	attempt, until int
}

// Next returns a step_delta event for each new piece of text, without the IDs of the run. If a
// piece does not start where the one before it ended, the text in between was missed.
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
		events = append(events,
			api.Event{Type: api.EventStepDelta, Time: now, Turn: turn, Delta: &l})
	}
	return events
}
