package policies

import (
	"bytes"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// replayedRun is the state of a run as the rules saw it, while its records are replayed.
type replayedRun struct {
	labels []string
	counts map[string]*api.PastCalls
	open   []openCall
	// turn is that of the last call.
	turn int
	// calls are those that have ended, where contents says that rules read them. redacted is set if
	// records of them hide something.
	calls              []*api.EarlierCall
	contents, redacted bool
	// emissions counts the emitted labels, and lastly has the number of the last emission of each.
	emissions int
	lastly    map[string]int
}

// enter begins an execution. One whose turns go on from those before is a continuation, which keeps
// the counts of calls; another is the next run of a conversation.
func (s *replayedRun) enter(e *execution) {
	first := e.calls[0].Turn
	if s.counts == nil || first > 0 && first <= s.turn {
		s.counts = map[string]*api.PastCalls{}
		s.calls, s.redacted = nil, false
	}
	s.turn = e.calls[len(e.calls)-1].Turn
}

// openCall is a call that had not ended when the last call was checked, with the labels that it
// adds to the run at its end.
type openCall struct {
	*api.Record
	labels []string
	// emitted counts the emissions before the call was checked.
	emitted int
}

// finishBefore ends the calls that had ended when c was checked; all of them if c is nil.
func (s *replayedRun) finishBefore(c *api.Record) {
	s.open = slices.DeleteFunc(s.open, func(one openCall) bool {
		if c != nil && !endedBefore(one.Record, c) {
			return false
		}
		s.finish(one)
		return true
	})
}

// endedBefore reports whether a call had ended when a later one was checked. A model chooses the
// calls of a turn after the calls of earlier turns have ended. For calls without turns the times
// decide.
func endedBefore(earlier, later *api.Record) bool {
	switch {
	case earlier.Status == api.CallRefused:
		return true
	case earlier.Turn != later.Turn:
		return earlier.Turn < later.Turn
	case later.Turn > 0:
		return false
	case earlier.Closed.IsZero():
		return false
	}
	return later.Scheduled.IsZero() || !earlier.Closed.After(later.Scheduled)
}

// begin adds a call with the labels of its result.
func (s *replayedRun) begin(c *api.Record, labels []string) {
	count := s.counts[c.Tool]
	if count == nil {
		count = &api.PastCalls{Tool: c.Tool}
		s.counts[c.Tool] = count
	}
	count.Running++
	s.open = append(s.open, openCall{c, labels, s.emissions})
}

func (s *replayedRun) finish(c openCall) {
	if s.contents {
		s.calls = append(s.calls, newEarlierCall(c, c.Status))
		s.redacted = s.redacted || hides(c.Arguments) ||
			c.Result != nil && hides(c.Result.Output)
	}
	count := s.counts[c.Tool]
	count.Running--
	switch c.Status {
	case api.CallCompleted:
		count.Completed++
	case api.CallRefused:
		count.Refused++
		return // it has no result
	default:
		count.Failed++
	}
	s.clear(c)
	for _, label := range c.labels {
		s.emit(label)
	}
}

func (s *replayedRun) emit(label string) {
	if s.lastly == nil {
		s.lastly = map[string]int{}
	}
	s.emissions++
	s.lastly[label] = s.emissions
	if !slices.Contains(s.labels, label) {
		s.labels = append(slices.Clone(s.labels), label)
	}
}

// clear removes or replaces the labels that a call or its approval cleared, as runs do: those that
// no call has emitted since the call was checked.
func (s *replayedRun) clear(c openCall) {
	for _, one := range policyrules.ClearedLabels(*c.Record) {
		if !slices.Contains(s.labels, one.Label) || s.lastly[one.Label] > c.emitted {
			continue
		}
		s.labels = slices.DeleteFunc(slices.Clone(s.labels),
			func(label string) bool { return label == one.Label })
		if one.To != "" {
			s.emit(one.To)
		}
	}
}

// past returns the counts of calls by tool.
func (s *replayedRun) past() []api.PastCalls {
	past := make([]api.PastCalls, 0, len(s.counts))
	for _, count := range s.counts {
		past = append(past, *count)
	}
	return past
}

// earlier returns the calls so far; nil if no rule reads them.
func (s *replayedRun) earlier() []*api.EarlierCall {
	calls := slices.Clip(s.calls)
	for _, c := range s.open {
		if s.contents {
			calls = append(calls, newEarlierCall(c, api.CallRunning))
		}
	}
	return calls
}

// newEarlierCall returns a recorded call as an earlier one.
func newEarlierCall(c openCall, status api.CallStatus) *api.EarlierCall {
	e := &api.EarlierCall{ID: c.CallID, Tool: c.Tool, Arguments: string(c.Arguments),
		Status: status, Turn: c.Turn, Time: evaluationTime(c.Record)}
	switch {
	case status == api.CallRunning, status == api.CallRefused:
	case c.Error != nil:
		e.Text, e.Labels = c.Error.Message, c.labels
	case c.Result != nil:
		e.Result, e.Labels = c.Result.Output, c.labels
	}
	return e
}

// hides reports whether a recorded value hides a sensitive one.
func hides(value []byte) bool { return bytes.Contains(value, []byte(`"`+redaction.Word+`"`)) }
