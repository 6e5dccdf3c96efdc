package terminal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// Tracker holds the state of a run's live view: the open turn with its calls. Finished work leaves
// it as lines, so that its size does not grow with the run.
type Tracker struct {
	Palette    cli.Palette
	invocation cli.Invocation
	// header is the open turn's line, if any. calls are its calls in order.
	header string
	calls  []*callRow
	// others is open work other than calls: the model step, or the run waiting for a worker.
	others []audit.Running
	// modelStream is the streamed text of the current step. width is the line width.
	modelStream modelStream
	width       int
	// paused describes the pause of the run; empty while it is not paused.
	paused string
	// questions are the run's open questions, childQuestions those of sub-agents.
	questions, childQuestions []audit.RunQuestion
	// approvals are the run's pending approvals, childApprovals those of sub-agents.
	approvals, childApprovals []audit.RunApproval
}

// callRow is one call of the open turn.
type callRow struct {
	id, text, lane string
	// record is set when the call has ended.
	record *api.Record
	// running is the server's latest description of an open call.
	running *audit.Running
}

// event handles the next event and returns the lines it finishes.
func (t *Tracker) event(e api.Event) (finished []string) {
	t.asks(e)
	switch e.Type {
	case api.EventRunStarted:
		return []string{t.Palette.Bold("run " + e.WorkflowID)}
	case api.EventStepDelta:
		t.modelStream.take(e)
	case api.EventStepCompleted:
		finished = t.flush()
		t.others, t.modelStream = nil, modelStream{}
		t.open(e)
	case api.EventToolStarted:
		t.row(e).markStarted(e)
	case api.EventToolCompleted, api.EventToolFailed, api.EventValidationError:
		t.row(e).record = e.Record
		if e.Turn == 0 {
			return t.flushEnded()
		}
	case api.EventHookEnded:
		return t.hookLines(e)
	case api.EventRunCompleted, api.EventRunFailed, api.EventRunCancelled:
		finished = t.flush()
		t.others, t.modelStream = nil, modelStream{}
	default:
		return append(t.controlEvent(e), t.approvalEvent(e)...)
	}
	return finished
}

// markStarted records that the call runs or waits for a worker.
func (r *callRow) markStarted(e api.Event) {
	r.running = &audit.Running{Kind: audit.KindCall, State: audit.StateWaiting, Since: e.Time,
		Child: e.Child}
	if e.Child != nil {
		r.running.State = audit.StateRunning
	}
}

// hookLines describes hook outcomes that need attention.
func (t *Tracker) hookLines(e api.Event) []string {
	if e.Hook == nil || e.Hook.Outcome == api.HookDone {
		return nil
	}
	return append(t.flush(), hookNote(*e.Hook))
}

// hookNote describes a hook outcome in one line.
func hookNote(h api.HookAction) string {
	text := "hook " + h.Hook + " for " + string(h.Point) + ": " + string(h.Outcome)
	if h.Reason != "" {
		text += ": " + display.Shorten(h.Reason, 200)
	}
	return text
}

// open starts the turn that a model step requested.
func (t *Tracker) open(e api.Event) {
	t.header = t.stepLine(e)
	if e.Step == nil {
		return
	}
	for _, c := range e.Step.Message.Calls {
		t.calls = append(t.calls, &callRow{id: c.ID, text: callview.Line(c.Tool,
			json.RawMessage(c.Arguments), nil)})
	}
}

func (t *Tracker) stepLine(e api.Event) string {
	name, what := stepText(e)
	parts := []string{t.Palette.Bold(name)}
	if e.Timing != nil {
		parts = append(parts, t.Palette.Faint(cli.ShortDuration(e.Timing.Duration.Std())))
	}
	if s := e.Step; s != nil {
		if s.Model != "" {
			parts = append(parts, t.Palette.Faint(s.Model))
		}
		if n := s.Usage.InputTokens + s.Usage.OutputTokens; n > 0 {
			parts = append(parts, t.Palette.Faint(display.Thousands(n)+" tokens"))
		}
	}
	return strings.Join(append(parts, cli.NonEmpty([]string{what})...), " · ")
}

// stepText returns the name and the action of a model step.
func stepText(e api.Event) (name, what string) {
	name = fmt.Sprintf("turn %d", e.Turn)
	switch s := e.Step; {
	case s == nil:
	case s.Compacted != nil:
		return "compaction", "summarized " + display.Plural(s.Compacted.Messages, "message")
	case len(s.Message.Calls) == 0:
		what = "answered"
	default:
		what = display.Shorten(s.Message.Text, 100)
	}
	return name, what
}

// row returns the row of the event's call and adds it if it is new.
func (t *Tracker) row(e api.Event) *callRow {
	for _, r := range t.calls {
		if r.id == e.CallID {
			return r.describe(e)
		}
	}
	r := &callRow{id: e.CallID, text: e.Tool}
	t.calls = append(t.calls, r)
	return r.describe(e)
}

func (r *callRow) describe(e api.Event) *callRow {
	if e.Summary != "" {
		r.text = e.Summary
	}
	if e.Record != nil {
		r.text, r.lane = recordSummary(*e.Record), e.Record.Lane
	}
	return r
}

// recordSummary formats a call in one line. A record's arguments are already redacted.
func recordSummary(r api.Record) string {
	return callview.Line(r.Tool, r.Arguments, nil)
}

// updateRunning updates the open work from the server's description.
func (t *Tracker) updateRunning(running []audit.Running) {
	t.others = nil
	if len(t.questions) > 0 {
		audit.OpenQuestions(running, t.questions[0].WorkflowID, t.questions)
	}
	for _, r := range running {
		if r.Kind != audit.KindCall {
			t.others = append(t.others, r)
			continue
		}
		for _, row := range t.calls {
			if row.id == r.ID {
				row.update(r)
			}
		}
	}
}

// update updates the row from the server's description, which lacks the start time of
// sub-agents.
func (r *callRow) update(now audit.Running) {
	if now.Child != nil && r.running != nil {
		now.Since, now.Lane = r.running.Since, r.lane
	}
	r.running, r.lane = &now, now.Lane
}

// flush returns the open turn's lines and closes it.
func (t *Tracker) flush() []string {
	var lines []string
	if t.header != "" {
		lines = append(lines, t.header)
	}
	for _, r := range t.calls {
		lines = append(append(lines, t.callLine(r, time.Time{}, "")), t.detailLines(r)...)
	}
	t.header, t.calls = "", nil
	return lines
}

// rest returns the final lines of open work when the view ends before the run.
func (t *Tracker) rest(now time.Time) []string {
	t.modelStream = modelStream{} // it is incomplete, and its start is unknown
	return t.live(now, "…", len(t.calls)+len(t.others)+2+4*(len(t.questions)+len(t.childQuestions))+
		6*(len(t.approvals)+len(t.childApprovals)))
}

func (t *Tracker) clear() { *t = Tracker{Palette: t.Palette, invocation: t.invocation} }

// flushEnded returns and removes the lines of finished calls. Plans need this because they have no
// turns.
func (t *Tracker) flushEnded() []string {
	var lines []string
	var open []*callRow
	for _, r := range t.calls {
		if r.record == nil {
			open = append(open, r)
			continue
		}
		lines = append(append(lines, t.callLine(r, time.Time{}, "")), t.detailLines(r)...)
	}
	t.calls = open
	return lines
}

// live returns the lines of open work, at most limit of them, with spinner before running work.
func (t *Tracker) live(now time.Time, spinner string, limit int) []string {
	var lines []string
	if t.header != "" {
		lines = append(lines, t.header)
	}
	hidden := 0
	asked := t.questionLines(limit / 2)
	asked = append(asked, t.approvalLines(limit/2-len(asked))...)
	free := limit - len(lines) - len(t.others) - len(t.pauseLines()) - len(asked) - 1
	text := t.modelStreamLines(min(limit/2, free))
	free -= len(text)
	for _, r := range t.visible(free) {
		lines = append(lines, t.callLine(r, now, spinner))
	}
	if hidden = len(t.calls) - max(min(free, len(t.calls)), 0); hidden > 0 {
		lines = append(lines, t.Palette.Faint(fmt.Sprintf("  … and %d more calls of this turn",
			hidden)))
	}
	for _, o := range t.others {
		lines = append(lines, t.otherLine(o, now, spinner))
	}
	return slices.Concat(lines, text, t.pauseLines(), asked)
}

// visible returns at most free rows and prefers open calls to finished ones.
func (t *Tracker) visible(free int) []*callRow {
	if free >= len(t.calls) {
		return t.calls
	}
	var open, ended []*callRow
	for _, r := range t.calls {
		if r.record == nil && r.running != nil {
			open = append(open, r)
		} else {
			ended = append(ended, r)
		}
	}
	return append(open, ended...)[:max(free, 0)]
}

func (t *Tracker) otherLine(r audit.Running, now time.Time, spinner string) string {
	what := "next decision"
	switch {
	case r.Kind == audit.KindStep:
		what = "model"
		if t.modelStream.repeats(r) {
			what += " " + t.Palette.Warn("repeats the text")
		}
	case r.Kind == audit.KindHook:
		what = "hook " + r.ID
	case r.Kind == audit.KindInstance:
		what = "instance of " + r.ID
	case waitsLong(r, now):
		what = "the run waits for a worker"
	}
	return strings.Join(append([]string{spinner + " " + what}, t.RunningParts(r, now)...), " · ")
}
