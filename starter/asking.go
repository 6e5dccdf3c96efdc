package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// belowPace is how often the sub-agents below a run are asked for their questions: its own stand in its events.
const belowPace = 3 * time.Second

// tellsBelow tells of what sub-agents ask people, each once.
type tellsBelow struct {
	notes io.Writer
	reach reach
	told  map[string]bool
}

func (t *tellsBelow) below(open []audit.RunQuestion, waiting []audit.RunApproval) {
	for _, q := range open {
		t.tell(q.WorkflowID+" "+q.ID, t.reach.askedNote(q))
	}
	for _, a := range waiting {
		t.tell(a.WorkflowID+" approval "+a.Call, t.reach.approvalNote(a))
	}
}

func (t *tellsBelow) tell(key, note string) {
	if t.told[key] {
		return
	}
	if t.told == nil {
		t.told = map[string]bool{}
	}
	t.told[key] = true
	fmt.Fprintln(t.notes, "starter: "+note)
}

// askedNote tells of a question in two lines.
func (r reach) askedNote(q audit.RunQuestion) string {
	return fmt.Sprintf("run %s asks a person: %s\n  answer it: %s", q.WorkflowID, api.Shorten(q.Text, 300), r.howToAnswer(q))
}

// quietView shows nothing but what somebody has to do.
type quietView struct{ *plainView }

func newQuietView(below tellsBelow) *quietView {
	return &quietView{&plainView{out: io.Discard, tellsBelow: below}}
}

func (v *quietView) event(e api.Event) error {
	if e.Type == api.EventQuestionAsked {
		v.note(v.reach.askedNote(audit.RunQuestion{WorkflowID: e.WorkflowID, Question: *e.Question}))
	}
	if e.Type == api.EventApprovalRequested || e.Type == api.EventApprovalEscalated {
		v.note(v.reach.approvalNote(audit.RunApproval{WorkflowID: e.WorkflowID, Approval: *e.Approval}))
	}
	return nil
}

// question adds what an event says of a question.
func (p *pairs) question(e api.Event, r reach) {
	if e.Question == nil {
		return
	}
	p.add("question", e.Question.ID)
	p.add("text", api.Shorten(e.Question.Text, 300))
	if e.Type == api.EventQuestionAsked {
		p.add("answer", r.howToAnswer(audit.RunQuestion{WorkflowID: e.WorkflowID, Question: *e.Question}))
	}
	if e.Reply != nil {
		p.add("reply", e.Reply.Note())
	}
}

// asks takes an event that is about a question.
func (t *tracker) asks(e api.Event) {
	switch e.Type {
	case api.EventQuestionAsked:
		t.questions = append(t.questions, audit.RunQuestion{WorkflowID: e.WorkflowID, Question: *e.Question})
	case api.EventQuestionClosed:
		t.questions = slices.DeleteFunc(slices.Clone(t.questions), func(q audit.RunQuestion) bool { return q.ID == e.Question.ID })
	}
}

// questionLines show the open questions, two lines each, of the run and of the sub-agents below it; at most limit lines.
func (t *tracker) questionLines(limit int) []string {
	var lines []string
	for _, q := range slices.Concat(t.questions, t.below) {
		if len(lines)+2 > limit {
			break
		}
		text := strings.Join(strings.Fields(q.Text), " ")
		lines = append(lines, t.palette.warn("? ")+q.ID+" "+api.Shorten(text, 300), "  "+t.palette.bold(t.reach.howToAnswer(q)))
	}
	return lines
}

// askBelow shows what the sub-agents ask that run now.
func (f *follower) askBelow(ctx context.Context, running []audit.Running, now time.Time) {
	isChild := func(r audit.Running) bool { return r.Child != nil }
	if !slices.ContainsFunc(running, isChild) {
		f.view.below(nil, nil)
		return
	}
	if now.Sub(f.askedBelow) < belowPace {
		return
	}
	f.askedBelow = now
	open, err := audit.Questions(ctx, f.client, f.id, f.run)
	waiting, failure := audit.Approvals(ctx, f.client, f.id, f.run)
	if err == nil && failure == nil { // otherwise the next try tells, or the reader of events
		f.view.below(slices.DeleteFunc(open, func(q audit.RunQuestion) bool { return q.WorkflowID == f.id }),
			slices.DeleteFunc(waiting, func(a audit.RunApproval) bool { return a.WorkflowID == f.id }))
	}
}
