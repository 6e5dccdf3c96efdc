package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// SubAgentNotes reports each open question and approval of sub-agents once.
type SubAgentNotes struct {
	Notes      io.Writer
	invocation cli.Invocation
	reported   map[string]bool
}

func (t *SubAgentNotes) SubAgents(open []audit.RunQuestion, waiting []audit.RunApproval) {
	for _, q := range open {
		t.once(q.WorkflowID+" "+q.ID, askedNote(t.invocation, q))
	}
	for _, a := range waiting {
		t.once(a.WorkflowID+" approval "+a.Call, approvalWaitNote(t.invocation, a))
	}
}

func (t *SubAgentNotes) once(key, note string) {
	if t.reported[key] {
		return
	}
	if t.reported == nil {
		t.reported = map[string]bool{}
	}
	t.reported[key] = true
	fmt.Fprintln(t.Notes, "starter: "+note)
}

// askedNote describes a question in two lines.
func askedNote(r cli.Invocation, q audit.RunQuestion) string {
	return fmt.Sprintf("run %s asks: %s\n  answer: %s", q.WorkflowID,
		display.Shorten(q.Text, 300), r.HowToAnswer(q))
}

// quietView shows only what requires a person's action.
type quietView struct{ *PlainView }

func NewQuietView(notes SubAgentNotes) *quietView {
	return &quietView{&PlainView{Out: io.Discard, SubAgentNotes: notes}}
}

func (v *quietView) Event(e api.Event) error {
	if e.Type == api.EventQuestionAsked {
		v.Note(askedNote(v.invocation, audit.RunQuestion{WorkflowID: e.WorkflowID,
			Question: *e.Question}))
	}
	if e.Type == api.EventApprovalRequested {
		v.Note(approvalWaitNote(v.invocation, audit.RunApproval{WorkflowID: e.WorkflowID,
			Approval: *e.Approval}))
	}
	if e.Type == api.EventAttemptFailed {
		v.Note(fmt.Sprintf("attempt %d of %s failed: %s", e.Timing.Attempts,
			cmp.Or(e.Tool, e.Summary), display.Shorten(e.Failure, 300)))
	}
	return nil
}

// question adds the fields of a question event.
func (p *pairs) question(e api.Event, r cli.Invocation) {
	if e.Question == nil {
		return
	}
	p.add("question", e.Question.ID)
	p.add("text", display.Shorten(e.Question.Text, 300))
	if e.Type == api.EventQuestionAsked {
		p.add("answer", r.HowToAnswer(audit.RunQuestion{WorkflowID: e.WorkflowID,
			Question: *e.Question}))
	}
	if e.Reply != nil {
		p.add("reply", people.ReplyNote(*e.Reply))
	}
}

// asks handles a question event.
func (t *Tracker) asks(e api.Event) {
	switch e.Type {
	case api.EventQuestionAsked:
		t.questions = append(t.questions, audit.RunQuestion{WorkflowID: e.WorkflowID,
			Question: *e.Question})
	case api.EventQuestionClosed:
		t.questions = slices.DeleteFunc(slices.Clone(t.questions),
			func(q audit.RunQuestion) bool { return q.ID == e.Question.ID })
	}
}

// questionLines returns the open questions of the run and its sub-agents, two lines each, at most
// limit lines.
func (t *Tracker) questionLines(limit int) []string {
	var lines []string
	for _, q := range slices.Concat(t.questions, t.childQuestions) {
		if len(lines)+2 > limit {
			break
		}
		text := strings.Join(strings.Fields(q.Text), " ")
		lines = append(lines, t.Palette.Warn("? ")+q.ID+" "+display.Shorten(text, 300), "  "+
			t.Palette.Bold(t.invocation.HowToAnswer(q)))
	}
	return lines
}
