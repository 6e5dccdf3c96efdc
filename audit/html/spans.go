package html

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/switchyard/switchyard/api"
)

// millis is a time since the start of the first run, or a duration. Its JSON is a number of
// milliseconds.
type millis time.Duration

// MarshalJSON writes milliseconds with microseconds as decimals.
func (m millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(
		nil,
		float64(time.Duration(m).Round(time.Microsecond))/float64(time.Millisecond),
		'f',
		-1,
		64,
	), nil
}

// spanKind is what a call did in a time span.
type spanKind int

const (
	// spanQueued: the run waits with the call for the calls before it.
	spanQueued spanKind = iota
	// spanPerson: the call waits for a person, before or while it runs.
	spanPerson
	// spanQueue: the call waits for a worker of its lane.
	spanQueue
	// spanTried: earlier attempts and the waits between them.
	spanTried
	spanRuns
)

// span is a part of the time of a call.
type span struct {
	kind     spanKind
	from, to millis
}

// MarshalJSON writes [kind, from, to].
func (s span) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{int(s.kind), s.from, s.to})
}

// spanList has spans in the order of their times.
type spanList struct {
	t    *Timeline
	list []span
}

// add adds a span unless it is empty. The span in which a call runs may be empty.
func (l *spanList) add(kind spanKind, from, to time.Time) {
	if to.After(from) || kind == spanRuns {
		l.list = append(l.list, span{kind, l.t.at(from), l.t.at(to)})
	}
}

// spans returns the spans of a call from when it was asked for until end. The last one is that in
// which it ran, if it did.
func (t *Timeline) spans(r api.Record, asked, end time.Time) []span {
	l := &spanList{t: t, list: []span{}}
	queued := cmp.Or(r.Scheduled, end)
	if a := r.Approval; a != nil && !a.Asked.IsZero() {
		decided := a.At
		if decided.IsZero() || decided.After(queued) {
			decided = queued
		}
		l.add(spanQueued, asked, a.Asked)
		l.add(spanPerson, a.Asked, decided)
		asked = decided
	}
	l.add(spanQueued, asked, queued)
	switch {
	case r.Scheduled.IsZero():
	case r.Started.IsZero():
		l.add(waitKind(r), queued, end)
	default:
		began := beganAt(r, end)
		l.add(waitKind(r), queued, r.Started)
		l.add(spanQueue, r.Started, began)
		l.add(spanRuns, began, end)
	}
	return l.list
}

// beganAt returns when the last attempt of a call began to run, after its wait for a slot of its
// lane.
func beganAt(r api.Record, end time.Time) time.Time {
	if ran := end.Add(-r.Duration.Std()); !r.Closed.IsZero() && r.Duration > 0 &&
		ran.After(r.Started) {
		return ran
	}
	return r.Started
}

// waitKind returns what a call did between being scheduled and the start of its last attempt.
func waitKind(r api.Record) spanKind {
	if tried := r.Attempts > 1 || r.Started.IsZero() && r.Attempts > 0; tried &&
		r.QueueWait.Std() < r.Started.Sub(r.Scheduled) ||
		r.LastFailure != "" {
		return spanTried
	}
	return spanQueue
}
