package audit

import (
	"time"

	"github.com/switchyard/switchyard/api"
)

// Attempts reports failed attempts of open calls and model steps. History has none of them before
// the last one ends. The zero value is ready for one reader, who passes it the result of
// Pending repeatedly.
type Attempts struct {
	// failed counts the failed attempts that were reported, by kind and ID.
	failed map[string]int
}

// Next returns an attempt_failed event for each call and model step with a new failed attempt,
// without the IDs of the run. Of several since the last one it reports the last.
func (t *Attempts) Next(running []Running, now time.Time) []api.Event {
	var events []api.Event
	open := map[string]int{}
	for _, r := range running {
		key, failed := string(r.Kind)+" "+r.ID, r.Attempt-1
		if r.Kind != KindCall && r.Kind != KindStep || failed < 1 || r.LastFailure == "" {
			continue
		}
		open[key] = failed
		if failed <= t.failed[key] {
			continue
		}
		e := api.Event{Type: api.EventAttemptFailed, Time: now, Failure: r.LastFailure,
			Timing: &api.Timing{Lane: r.Lane, Attempts: failed}}
		if r.Kind == KindCall {
			e.CallID, e.Tool = r.ID, r.Tool
		} else {
			e.Summary = r.ID
		}
		events = append(events, e)
	}
	t.failed = open
	return events
}
