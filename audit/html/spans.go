package html

import (
	"cmp"
	"time"

	"github.com/switchyard/switchyard/api"
)

// class is what a call, a step or an event did in a time span: a class of the stylesheet.
type class string

const (
	classHeld      class = "held"
	classPerson    class = "person"
	classAsks      class = "asks"
	classQueue     class = "queue"
	classTried     class = "tried"
	classRuns      class = "runs"
	classModel     class = "model"
	classFailed    class = "failed"
	classCancelled class = "cancelled"
	classWithheld  class = "withheld"
	classEvent     class = "event"
)

// legend explains the classes, in the order of a call's life.
var legend = []legendEntry{
	{classHeld, "waits in the run"}, {classPerson, "waits for approval"},
	{classQueue, "waits for a worker"}, {classTried, "earlier attempts"}, {classRuns, "runs"},
	{classAsks, "waits for an answer"}, {classModel, "model step"},
	{classFailed, "failed or refused"}, {classCancelled, "cancelled"},
	{classWithheld, "withheld"}, {classEvent, "message, hook or pause"},
}

type legendEntry struct {
	Class class
	Text  string
}

func (c class) text() string {
	for _, l := range legend {
		if l.Class == c {
			return l.Text
		}
	}
	return string(c)
}

// endClasses are the classes of calls that ended otherwise than completed, by their status.
var endClasses = map[string]class{"failed": classFailed, "refused": classFailed,
	"cancelled": classCancelled, "withheld": classWithheld}

// span is a part of the time of a row. Times count from the start of the first run.
type span struct {
	class    class
	from, to time.Duration
}

// spanList has the spans of a row in the order of their times. A row that runs has the class ran.
type spanList struct {
	t    *Timeline
	ran  class
	list []span
}

// add adds a span unless it is empty. The span in which a row ran may be empty.
func (l *spanList) add(c class, from, to time.Time) {
	if to.After(from) || c == l.ran {
		l.list = append(l.list, span{c, l.t.at(from), l.t.at(to)})
	}
}

// spans returns the spans of a call from when it was asked for until end. The last one has the
// class ran, unless the call has not begun to run; a call that ended before has an empty one.
func (t *Timeline) spans(r api.Record, asked, end time.Time, ran class) []span {
	l := &spanList{t: t, ran: ran}
	queued := cmp.Or(r.Scheduled, end)
	if a := r.Approval; a != nil && !a.Asked.IsZero() {
		decided := a.At
		if decided.IsZero() || decided.After(queued) {
			decided = queued
		}
		l.add(classHeld, asked, a.Asked)
		l.add(classPerson, a.Asked, decided)
		asked = decided
	}
	l.add(classHeld, asked, queued)
	if !r.Scheduled.IsZero() {
		l.add(waitClass(r), queued, cmp.Or(r.Started, end))
	}
	switch {
	case !r.Scheduled.IsZero() && !r.Started.IsZero():
		began := beganAt(r, end)
		l.add(classQueue, r.Started, began)
		l.add(ran, began, end)
	case r.Status != api.CallRunning:
		l.add(ran, end, end)
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

// waitClass returns what a call did between being scheduled and the start of its last attempt.
func waitClass(r api.Record) class {
	if tried := r.Attempts > 1 || r.Started.IsZero() && r.Attempts > 0; tried &&
		r.QueueWait.Std() < r.Started.Sub(r.Scheduled) ||
		r.LastFailure != "" {
		return classTried
	}
	return classQueue
}
