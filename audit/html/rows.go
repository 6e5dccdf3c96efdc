package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
)

// row is a call, a model step or an event of a run, as the chart and the list have it.
type row struct {
	Index int
	// Kind is call, step or event.
	Kind string
	// Label has the path of a call in the tree of runs, and its tool.
	Label, Note, Arguments string
	Bad                    bool
	Details                [][2]string
	// within is set if the row of a call has the spans.
	within bool
	asked  time.Duration
	spans  []span
	// status and record are those of a call.
	status string
	record api.Record
}

// At is when the row begins.
func (r row) At() string { return formatElapsed(r.from()) }

func (r row) from() time.Duration {
	if len(r.spans) == 0 {
		return r.asked
	}
	return r.spans[0].from
}

func (r row) to() time.Duration {
	to := r.asked
	for _, s := range r.spans {
		to = max(to, s.to)
	}
	return to
}

func (r row) length() time.Duration { return r.to() - r.from() }

// fill adds the rows of one run to a Timeline.
type fill struct {
	t       *Timeline
	b       *Run
	summary history.Summary
	end     time.Time
	// path is the call that the run is the sub-agent of; empty for the first run.
	path string
}

func (f fill) add(r row) { f.t.rows = append(f.t.rows, r) }

// call adds a call. reported is when the run reported its end; zero for an open call.
func (f fill) call(r api.Record, reported time.Time) {
	end := f.end
	if !reported.IsZero() {
		end = cmp.Or(r.Closed, reported)
	}
	asked := f.creationTime(r, end)
	id, status := r.CallID, string(r.Status)
	if f.path != "" {
		id = cmp.Or(r.Path, id)
	}
	if r.DryRun {
		status = "withheld"
	}
	ran := cmp.Or(endClasses[status], classRuns)
	spans := f.questions(r, f.t.spans(r, asked, end, ran))
	f.add(row{Kind: "call", Label: id + " " + r.Tool, Note: f.callNote(r, status, ran, spans),
		Arguments: display.Shorten(strings.TrimSpace(callview.Line("", r.Arguments, nil)), 120),
		Bad:       r.Error != nil, Details: callDetails(r), asked: f.t.at(asked), spans: spans,
		status: status, record: r})
}

// callNote says how long a call ran, or what it does now, how it ended and how often it was tried.
func (f fill) callNote(r api.Record, status string, ran class, spans []span) string {
	took, ended := "", status
	for _, s := range spans {
		switch {
		case r.Status == api.CallRunning && s.to == f.t.at(f.end):
			took, ended = soFar(s), ""
		case s.class == ran && !r.Started.IsZero():
			took = shortDuration(s.to - s.from)
		}
	}
	if r.Error != nil {
		ended = joined(status, string(r.Error.Type))
	} else if r.Status == api.CallCompleted && !r.DryRun {
		ended = ""
	}
	return listed(took, ended, attemptsText(r.Attempts))
}

// soFar says what an open row does, and for how long.
func soFar(s span) string { return s.class.text() + ", " + shortDuration(s.to-s.from) + " so far" }

func attemptsText(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d attempts", n)
}

// creationTime returns when the call came into being: when the model asked for it, or when the run
// of a plan started. end is the end of the call.
func (f fill) creationTime(r api.Record, end time.Time) time.Time {
	asked, known := f.b.asked[r.Turn]
	switch {
	case r.TargetCallID != "":
		asked = r.Scheduled
	case f.summary.Kind == history.RunPlan:
		asked = f.summary.Started
	case !known:
		asked = r.Scheduled
	}
	if asked.IsZero() || asked.After(end) {
		return end
	}
	return asked
}

// questions puts the questions of a running call over its spans.
func (f fill) questions(r api.Record, spans []span) []span {
	for _, m := range f.b.marks {
		if m.class == classAsks && m.call == r.CallID {
			spans = append(spans, f.span(m))
		}
	}
	return spans
}

func (f fill) span(m mark) span {
	to := m.from
	if m.lasts {
		to = cmp.Or(m.to, f.end)
	}
	return span{m.class, f.t.at(m.from), f.t.at(to)}
}

// label is a label of the run in the tree of runs.
func (f fill) label(text string) string { return strings.TrimSpace(f.path + " " + text) }

// step adds a finished model step.
func (f fill) step(e api.Event) {
	r := api.Record{Timing: api.Timing{Scheduled: e.Time, Started: e.Time, Closed: e.Time}}
	if e.Timing != nil {
		r.Timing = *e.Timing
	}
	r.Scheduled = cmp.Or(r.Scheduled, r.Started, e.Time)
	name, used := fmt.Sprintf("turn %d", e.Turn), ""
	if e.Step != nil {
		used = usedText(e.Step.Usage)
		if e.Step.Compacted != nil {
			name = "summary"
		}
	}
	spans := f.t.spans(r, r.Scheduled, cmp.Or(r.Closed, e.Time), classModel)
	last := spans[len(spans)-1]
	f.add(row{Kind: "step", Label: f.label(name), asked: f.t.at(r.Scheduled), spans: spans,
		Note:    listed(shortDuration(last.to-last.from), used, attemptsText(r.Attempts)),
		Details: stepDetails(e, r.Timing)})
}

// openStep adds an open model step.
func (f fill) openStep(p audit.Running) {
	if p.Kind != audit.KindStep {
		return
	}
	s := span{classQueue, f.t.at(cmp.Or(p.Since, f.end)), f.t.at(f.end)}
	switch p.State {
	case audit.StateRunning, audit.StateCancelling:
		s.class = classModel
	case audit.StateBackingOff:
		s.class = classTried
	}
	f.add(row{Kind: "step", Label: f.label(strings.ReplaceAll(p.ID, "-", " ")), asked: s.from,
		spans: []span{s}, Note: listed(soFar(s), attemptsText(p.Attempt)), Details: details(
			line("model step", p.ID), line("state", string(p.State)), line("lane", p.Lane),
			line("worker", p.Worker), line("last failure", p.LastFailure))})
}

// mark adds an event.
func (f fill) mark(m mark) {
	s := f.span(m)
	note := ""
	if m.lasts && m.to.IsZero() {
		note = soFar(s)
	} else if m.lasts {
		note = shortDuration(s.to - s.from)
	}
	f.add(row{Kind: "event", Label: f.label(m.label), Note: note, Details: m.details,
		Bad: m.class == classFailed, asked: s.from, spans: []span{s},
		within: m.lasts && m.call != "" && m.call != api.LimitCall})
}

// mark is an event that is neither a call nor a step: a question, an approval, a pause, a message.
type mark struct {
	class       class
	lasts       bool
	call, label string
	from, to    time.Time
	details     [][2]string
}

// markReaders read the events about people, pauses and hooks. Other events are ignored.
var markReaders = map[api.EventType]func(*Run, api.Event){
	api.EventApprovalRequested: func(b *Run, e api.Event) {
		label := "approval of " + e.Tool
		if limit := e.Approval.Limit; limit != "" {
			label = "higher limit of " + limit
		}
		b.begin("approval "+e.CallID, e, classPerson, label, line("reason", e.Approval.Reason))
	},
	api.EventApprovalDecided: func(b *Run, e api.Event) {
		b.finish("approval "+e.CallID, e.Time, people.DecidedNote(*e.Decided))
	},
	api.EventApprovalRefused: func(b *Run, e api.Event) {
		b.point(e, classFailed, "rejected decision", line("call", e.CallID),
			line("by", e.Decided.By), line("authenticated", string(e.Decided.Auth)),
			line("reason", e.Failure))
	},
	api.EventQuestionAsked: func(b *Run, e api.Event) {
		b.begin("question "+e.Question.ID, e, classAsks, "question of "+e.Tool,
			line("asked", e.Question.Text))
	},
	api.EventQuestionClosed: func(b *Run, e api.Event) {
		reply := "no reply"
		if e.Reply != nil {
			reply = people.ReplyNote(*e.Reply)
		}
		b.finish("question "+e.Question.ID, e.Time, reply)
	},
	api.EventRunPaused: func(b *Run, e api.Event) {
		b.begin(pauseKey, e, classEvent, "paused", line("paused by", e.Pause.By),
			line("reason", e.Pause.Reason))
	},
	api.EventRunResumed: func(b *Run, e api.Event) {
		b.finish(pauseKey, e.Time, "resumed by "+e.Pause.By)
	},
	api.EventMessageSent: func(b *Run, e api.Event) {
		b.point(e, classEvent, "message from "+e.Sent.By, line("message", e.Sent.Text),
			line("by", e.Sent.By))
	},
	api.EventInstanceClosed: func(b *Run, e api.Event) {
		b.point(e, classEvent, "instance "+e.Closes.Instance+" closed",
			line("closed by", e.Closes.By), line("reason", e.Closes.Reason))
	},
	api.EventHookEnded: func(b *Run, e api.Event) {
		b.point(e, classEvent, "hook "+e.Hook.Hook, line("hook", e.Hook.Hook),
			line("outcome", string(e.Hook.Outcome)), line("reason", e.Hook.Reason))
	},
	api.EventRunFailed: func(b *Run, e api.Event) {
		b.point(e, classFailed, "the run failed", line("failure", e.Failure),
			line("type", string(e.FailureType)))
	},
	api.EventRunCancelled: func(b *Run, e api.Event) {
		b.point(e, classFailed, "the run was cancelled", line("failure", e.Failure),
			line("type", string(e.FailureType)))
	},
}

// pauseKey is the key of the mark of a pause.
const pauseKey = "pause"

// begin opens a mark that lasts. A mark that is open stays.
func (b *Run) begin(key string, e api.Event, c class, label string, lines ...[2]string) {
	if _, open := b.open[key]; open {
		return
	}
	b.open[key] = len(b.marks)
	b.point(e, c, label, lines...)
	b.marks[b.open[key]].lasts = true
}

// finish closes a mark that lasts.
func (b *Run) finish(key string, at time.Time, how string) {
	i, open := b.open[key]
	if !open {
		return
	}
	delete(b.open, key)
	m := &b.marks[i]
	m.to, m.label = at, m.label+": "+how
	m.details = append(slices.Clone(m.details), [2]string{"result", how})
}

func (b *Run) point(e api.Event, c class, label string, lines ...[2]string) {
	b.marks = append(b.marks, mark{class: c, call: e.CallID, label: label, from: e.Time,
		details: details(lines...)})
}

// indented returns indented JSON.
func indented(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
