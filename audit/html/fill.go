package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/people"
)

// shownCall is one call of the page.
type shownCall struct {
	Run int `json:"run"`
	// ID is the path of the call in the tree of runs.
	ID       string      `json:"id"`
	Tool     string      `json:"tool"`
	Lane     string      `json:"lane"`
	Status   string      `json:"status"`
	Spans    []span      `json:"spans"`
	End      millis      `json:"end"`
	Attempts int         `json:"attempts,omitempty"`
	Error    string      `json:"error,omitempty"`
	ChildRun string      `json:"child_run,omitempty"`
	Details  [][2]string `json:"details"`
	record   api.Record
	asked    millis
}

// first returns the start of the first span.
func (c shownCall) first() millis {
	if len(c.Spans) == 0 {
		return c.End
	}
	return c.Spans[0].from
}

// fill adds the calls, steps and marks of one run to a Timeline.
type fill struct {
	t       *Timeline
	run     int
	b       *Run
	summary history.Summary
	end     time.Time
}

// call adds a call. told is when the run reported its end; zero for an open call.
func (f fill) call(r api.Record, told time.Time) {
	end := f.end
	if !told.IsZero() {
		end = cmp.Or(r.Closed, told)
	}
	asked := f.asked(r, end)
	c := shownCall{
		Run:      f.run,
		ID:       r.CallID,
		Tool:     r.Tool,
		Lane:     cmp.Or(r.Lane, "no lane"),
		Status:   string(r.Status),
		Attempts: r.Attempts,
		Spans: f.questions(
			r,
			f.t.spans(r, asked, end),
		),
		End:     f.t.at(end),
		Details: callDetails(r),
		record:  r,
		asked:   f.t.at(asked),
	}
	path := cmp.Or(r.Path, r.CallID)
	if f.run > 0 {
		c.ID = path
	}
	if r.DryRun {
		c.Status = "withheld"
	}
	if r.Error != nil {
		c.Error = string(r.Error.Type)
	}
	if r.Child != nil {
		c.ChildRun = path
	}
	f.t.calls = append(f.t.calls, c)
}

// asked returns when the call came into being: when the model asked for it, or when the run of a
// plan started. end is the end of the call.
func (f fill) asked(r api.Record, end time.Time) time.Time {
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
		if m.Kind == markQuestion && m.Call == r.CallID {
			to := m.to
			if to.IsZero() {
				to = f.end
			}
			spans = append(spans, span{spanPerson, f.t.at(m.from), f.t.at(to)})
		}
	}
	return spans
}

// step adds a finished model step.
func (f fill) step(e api.Event) {
	s := shownStep{Run: f.run, Turn: e.Turn, ID: fmt.Sprintf("turn %d", e.Turn)}
	r := api.Record{Timing: api.Timing{Scheduled: e.Time, Started: e.Time, Closed: e.Time}}
	if e.Timing != nil {
		r.Timing = *e.Timing
	}
	s.Attempts, s.Spans = r.Attempts, f.t.spans(r, r.Scheduled, cmp.Or(r.Closed, e.Time))
	if e.Step != nil {
		u := e.Step.Usage
		s.In, s.Out, s.Cached, s.Cost = u.InputTokens, u.OutputTokens, u.CachedTokens, u.Cost
		if e.Step.Compacted != nil {
			s.ID = "summary"
		}
	}
	s.Details = stepDetails(e, r.Timing)
	f.t.steps = append(f.t.steps, s)
}

// openStep adds an open model step.
func (f fill) openStep(p audit.Running) {
	if p.Kind != audit.KindStep {
		return
	}
	kind := spanQueue
	switch p.State {
	case audit.StateRunning, audit.StateCancelling:
		kind = spanRuns
	case audit.StateBackingOff:
		kind = spanTried
	}
	f.t.steps = append(f.t.steps, shownStep{Run: f.run, ID: p.ID, Open: true, Attempts: p.Attempt,
		Spans: []span{{kind, f.t.at(cmp.Or(p.Since, f.end)), f.t.at(f.end)}},
		Details: details(
			line("model step", p.ID),
			line("state", string(p.State)),
			line("lane", p.Lane),
			line("worker", p.Worker),
			line("last failure", p.LastFailure),
		)})
}

// marksOf adds the marks of the run. Open marks last until the end of the run.
func (f fill) marksOf() {
	for _, m := range f.b.marks {
		m.Run, m.From = f.run, f.t.at(m.from)
		m.To = m.From
		if m.Kind.lasts() {
			m.Open = m.to.IsZero()
			m.To = f.t.at(cmp.Or(m.to, f.end))
		}
		if f.run > 0 && m.Call != "" && f.summary.Parent != nil {
			m.Call = api.CallPath(f.summary.Parent.Call, m.Call)
		}
		f.t.marks = append(f.t.marks, m.mark)
	}
}

// markReaders read the events about people, pauses and hooks. Other events are ignored.
var markReaders = map[api.EventType]func(*Run, api.Event){
	api.EventApprovalRequested: (*Run).approvalRequested,
	api.EventApprovalDecided: func(b *Run, e api.Event) {
		b.finish("approval "+e.CallID, e.Time, people.DecidedNote(*e.Decided))
	},
	api.EventApprovalRefused: func(b *Run, e api.Event) {
		b.point(
			e,
			markRefused,
			"rejected decision",
			line("call", e.CallID),
			line("by", e.Decided.By),
			line("authenticated", string(e.Decided.Auth)),
			line("reason", e.Failure),
		)
	},
	api.EventQuestionAsked: func(b *Run, e api.Event) {
		b.begin(
			"question "+e.Question.ID,
			runMark{
				from: e.Time,
				mark: mark{Kind: markQuestion, Call: e.CallID, Label: "question of " + e.Tool,
					Details: details(line("asked", e.Question.Text))},
			},
		)
	},
	api.EventQuestionClosed: func(b *Run, e api.Event) {
		b.finish("question "+e.Question.ID, e.Time, replyOf(e.Reply))
	},
	api.EventRunPaused: func(b *Run, e api.Event) {
		b.begin(
			pauseKey,
			runMark{
				from: e.Time,
				mark: mark{
					Kind:    markPause,
					Label:   "paused",
					Details: details(line("paused by", e.Pause.By), line("reason", e.Pause.Reason)),
				},
			},
		)
	},
	api.EventRunResumed: func(b *Run, e api.Event) {
		b.finish(pauseKey, e.Time, "resumed by "+e.Pause.By)
	},
	api.EventMessageSent: func(b *Run, e api.Event) {
		b.point(
			e,
			markMessage,
			"message from "+e.Sent.By,
			line("message", e.Sent.Text),
			line("by", e.Sent.By),
		)
	},
	api.EventInstanceClosed: func(b *Run, e api.Event) {
		b.point(
			e,
			markMessage,
			"instance "+e.Closes.Instance+" closed",
			line("closed by", e.Closes.By),
			line("reason", e.Closes.Reason),
		)
	},
	api.EventHookEnded: func(b *Run, e api.Event) {
		b.point(
			e,
			markHook,
			"hook "+e.Hook.Hook,
			line("hook", e.Hook.Hook),
			line("outcome", string(e.Hook.Outcome)),
			line("reason", e.Hook.Reason),
		)
	},
	api.EventRunFailed:    (*Run).endedBadly,
	api.EventRunCancelled: (*Run).endedBadly,
}

func (b *Run) approvalRequested(e api.Event) {
	label := "approval of " + e.Tool
	if limit := e.Approval.Limit; limit != "" {
		label = "higher limit of " + limit
	}
	b.begin(
		"approval "+e.CallID,
		runMark{
			from: e.Time,
			mark: mark{
				Kind:    markApproval,
				Call:    e.CallID,
				Label:   label,
				Details: details(line("reason", e.Approval.Reason)),
			},
		},
	)
}

func (b *Run) endedBadly(e api.Event) {
	b.point(
		e,
		markEnd,
		endText[e.Type],
		line("failure", e.Failure),
		line("type", string(e.FailureType)),
	)
}

var endText = map[api.EventType]string{
	api.EventRunFailed:    "the run failed",
	api.EventRunCancelled: "the run was cancelled",
}

// pauseKey is the key of the mark of a pause.
const pauseKey = "pause"

// begin opens a mark that lasts. A mark that is open stays.
func (b *Run) begin(key string, m runMark) {
	if _, open := b.open[key]; open {
		return
	}
	b.open[key] = len(b.marks)
	b.marks = append(b.marks, m)
}

// finish closes a mark that lasts.
func (b *Run) finish(key string, at time.Time, how string) {
	i, open := b.open[key]
	if !open {
		return
	}
	delete(b.open, key)
	m := &b.marks[i]
	m.to, m.Label = at, m.Label+": "+how
	m.Details = append(slices.Clone(m.Details), [2]string{"result", how})
}

func (b *Run) point(e api.Event, kind markKind, label string, lines ...[2]string) {
	b.marks = append(
		b.marks,
		runMark{
			from: e.Time,
			mark: mark{Kind: kind, Call: e.CallID, Label: label, Details: details(lines...)},
		},
	)
}

func replyOf(r *api.Reply) string {
	if r == nil {
		return "no reply"
	}
	return people.ReplyNote(*r)
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
