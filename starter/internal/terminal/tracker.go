package terminal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// Tracker keeps what a live view shows of a run: the open turn with its calls. What is over leaves
// it as finished lines, so that its size does not grow with the run.
type Tracker struct {
	Palette    cli.Palette
	invocation cli.Invocation
	// header is the line of the open turn, if any; calls are its calls, in the order in which they
	// were made.
	header string
	calls  []*callRow
	// others are what runs beside calls: the model step, or the run itself waiting for a worker.
	others []audit.Running
	// spoken is what the model says in the step that is under way; width is how much of it fits a
	// line.
	modelStream modelStream
	width       int
	// paused are the lines that say who has the run pause, by whether the server holds it.
	paused map[bool]string
	// questions are the run's open ones, below those of sub-agents.
	questions, below []audit.RunQuestion
	// approvals are the run's calls that wait for approval, approvalsBelow those of sub-agents.
	approvals, approvalsBelow []audit.RunApproval
}

// callRow is one call of the open turn.
type callRow struct {
	id, text, lane string
	// record is set when the call has ended.
	record *api.Record
	// running is what the server last said of the call, if it is open there.
	running *audit.Running
}

// event takes the next event and returns the lines that are finished by it.
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
		t.row(e).started(e)
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
		return append(t.controlled(e), t.approvalEvent(e)...)
	}
	return finished
}

// started notes that the call runs, or waits to.
func (r *callRow) started(e api.Event) {
	r.running = &audit.Running{Kind: audit.KindCall, State: audit.StateWaiting, Since: e.Time,
		Child: e.Child}
	if e.Child != nil {
		r.running.State = audit.StateRunning
	}
}

// hookLines tells of a hook of the run that did not just do its work.
func (t *Tracker) hookLines(e api.Event) []string {
	if e.Hook == nil || e.Hook.Outcome == api.HookDone {
		return nil
	}
	return append(t.flush(), hookNote(*e.Hook))
}

// hookNote is what a hook did, in one line.
func hookNote(h api.HookAction) string {
	text := "hook " + h.Hook + " for " + string(h.Point) + ": " + string(h.Outcome)
	if h.Reason != "" {
		text += ": " + api.Shorten(h.Reason, 200)
	}
	return text
}

// open begins the turn that a model step asked for.
func (t *Tracker) open(e api.Event) {
	t.header = t.stepLine(e)
	if e.Step == nil {
		return
	}
	for _, c := range e.Step.Message.Calls {
		t.calls = append(t.calls, &callRow{id: c.ID, text: api.Summary(c.Tool,
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
			parts = append(parts, t.Palette.Faint(api.Thousands(n)+" tokens"))
		}
	}
	return strings.Join(append(parts, cli.NonEmpty([]string{what})...), " · ")
}

// stepText returns the name of a model step and what it did.
func stepText(e api.Event) (name, what string) {
	name = fmt.Sprintf("turn %d", e.Turn)
	switch s := e.Step; {
	case s == nil:
	case s.Compacted != nil:
		return "compaction", "summed up " + api.Plural(s.Compacted.Messages, "message")
	case len(s.Message.Calls) == 0:
		what = "answered"
	default:
		what = api.Shorten(s.Message.Text, 100)
	}
	return name, what
}

// row returns the row of the event's call, a new one if it has none.
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

// recordSummary is a call in one line. A record's arguments are redacted already.
func recordSummary(r api.Record) string {
	return api.Summary(r.Tool, r.Arguments, nil)
}

// pending takes what the server says runs now.
func (t *Tracker) pending(running []audit.Running) {
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
				row.statusText(r)
			}
		}
	}
}

// statusText takes what the server says of the call. Since when a sub-agent runs it does not say.
func (r *callRow) statusText(now audit.Running) {
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

// rest returns the lines of what is open, for good: the view ends before the run.
func (t *Tracker) rest(now time.Time) []string {
	t.modelStream = modelStream{} // it is not over, and its beginning is not known any more
	return t.live(now, "…", len(t.calls)+len(t.others)+2+4*(len(t.questions)+len(t.below))+
		6*(len(t.approvals)+len(t.approvalsBelow)))
}

func (t *Tracker) clear() { *t = Tracker{Palette: t.Palette, invocation: t.invocation} }

// flushEnded returns the lines of calls that have ended and forgets them: a plan has no turns that
// end.
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

// live returns the lines of what is open, at most limit of them; spinner stands before what runs.
func (t *Tracker) live(now time.Time, spinner string, limit int) []string {
	var lines []string
	if t.header != "" {
		lines = append(lines, t.header)
	}
	hidden := 0
	asked := t.questionLines(limit / 2)
	asked = append(asked, t.approvalLines(limit/2-len(asked))...)
	free := limit - len(lines) - len(t.others) - len(t.paused) - len(asked) - 1
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

// visible returns the rows to show where there is room for so many: open ones rather than those
// that have ended.
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
		if t.modelStream.anew(r) {
			what += " " + t.Palette.Warn("says it anew")
		}
	case r.Kind == audit.KindHook:
		what = "hook " + r.ID
	case waitsLong(r, now):
		what = "the run waits for a worker"
	}
	return strings.Join(append([]string{spinner + " " + what}, t.RunningParts(r, now)...), " · ")
}
