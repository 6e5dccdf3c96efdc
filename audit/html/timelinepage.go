package html

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/display"
)

// timelinePage is the data of pages/timeline.html.
type timelinePage struct {
	frame
	Heading, Status, Tone                string
	Words                                []string
	Prompt, Failure, AnswerTitle, Answer string
	Facts                                [][2]string
	Calls                                []callRow
	Runs                                 []runRow
	Data                                 timelineData
}

// callRow is a row of the table of calls.
type callRow struct {
	Index                                                                     int
	ID, Tool, Lane, Status, Attempts, At, Waited, Took, Error, Arguments, Run string
	Bad                                                                       bool
}

type runRow struct{ Path, Name, ID, Status, At, Took, Used string }

// timelineData is the data of the page's script.
type timelineData struct {
	To    millis      `json:"to"`
	Open  bool        `json:"open,omitempty"`
	Start string      `json:"start"`
	Runs  []shownRun  `json:"runs"`
	Calls []shownCall `json:"calls"`
	Steps []shownStep `json:"steps"`
	Marks []mark      `json:"marks"`
	Uses  []use       `json:"uses"`
}

// use is a number of tokens at the end of the step that used them.
type use struct {
	At    millis  `json:"at"`
	In    int     `json:"in"`
	Out   int     `json:"out"`
	Cost  float64 `json:"cost,omitempty"`
	Label string  `json:"label"`
}

// maxAnswer bounds the answer of a run on the page, in bytes.
const maxAnswer = 20 << 10

// errNoRun is returned for a page without a run.
var errNoRun = errors.New("the page has no run: add one")

// Write writes the page. The error is that of the writer, or says that no run was added.
func (t *Timeline) Write(w io.Writer) error {
	if len(t.runs) == 0 {
		return errNoRun
	}
	s := t.runs[0].summary
	calls := t.sorted()
	p := timelinePage{
		frame: newFrame(
			runName(s)+" · "+s.WorkflowID,
			"starter timeline, "+clock(t.Now),
			"page.js",
			"rows.js",
			"bars.js",
			"timeline.js",
			"moves.js",
		),
		Heading: runName(
			s,
		),
		Prompt: cut(s.Prompt),
		Words:  t.words(calls),
		Facts:  append(facts(s), t.decision()...),
		Runs:   t.runRows(),
		Data: timelineData{
			Start: s.Started.UTC().Format(time.RFC3339Nano),
			Open:  s.Closed.IsZero(),
			Runs:  t.runs,
			Calls: calls,
			Steps: append([]shownStep{}, t.steps...),
			Marks: append([]mark{}, t.marks...),
			Uses:  t.uses(),
		},
	}
	p.Status, p.Tone = ending(s, t.Person, t.awaited(0))
	if s.Failure != "" {
		p.Failure = joined(string(s.FailureType), cut(s.Failure))
	}
	if r := s.Result; r != nil {
		p.AnswerTitle, p.Answer = "The answer", r.Answer
		if r.Answer == "" {
			p.AnswerTitle, p.Answer = "The result", indented(r.Output)
		}
		p.Answer = strings.ToValidUTF8(p.Answer[:min(len(p.Answer), maxAnswer)], "")
	}
	for i, c := range calls {
		p.Calls = append(p.Calls, rowOf(i, c, t.runs[c.Run]))
		p.Data.To = max(p.Data.To, c.End)
	}
	for _, r := range t.runs {
		p.Data.To = max(p.Data.To, r.To)
	}
	return write(w, "timeline.html", p)
}

// sorted returns the calls in the order in which they were asked for.
func (t *Timeline) sorted() []shownCall {
	calls := append([]shownCall{}, t.calls...)
	slices.SortStableFunc(calls, func(x, y shownCall) int {
		return cmp.Or(
			cmp.Compare(x.asked, y.asked),
			audit.ByCall(x.record, y.record),
			cmp.Compare(x.first(), y.first()),
		)
	})
	return calls
}

func rowOf(i int, c shownCall, run shownRun) callRow {
	r := c.record
	row := callRow{
		Index:     i,
		ID:        c.ID,
		Tool:      c.Tool,
		Lane:      c.Lane,
		Status:    c.Status,
		Error:     c.Error,
		Run:       run.ID,
		At:        elapsed(c.first()),
		Bad:       r.Error != nil,
		Arguments: display.Shorten(strings.TrimSpace(callview.Line("", r.Arguments, nil)), 120),
	}
	if r.Attempts > 0 {
		row.Attempts = fmt.Sprint(r.Attempts)
	}
	if !r.Started.IsZero() {
		row.Waited = shortDuration(r.QueueWait.Std())
	}
	if n := len(c.Spans); n > 0 && !r.Started.IsZero() {
		for _, s := range c.Spans {
			if s.kind == spanRuns {
				row.Took = shortDuration(time.Duration(s.to - s.from))
			}
		}
		if c.Status == string(api.CallRunning) {
			row.Took += " so far"
		}
	}
	return row
}

// elapsed formats a time since the start of the page.
func elapsed(m millis) string { return "+" + shortDuration(time.Duration(max(m, 0))) }

// runRows returns the rows of the table of runs, if there are several.
func (t *Timeline) runRows() []runRow {
	var rows []runRow
	for i, r := range t.runs {
		status, _ := ending(r.summary, nil, t.awaited(i))
		rows = append(
			rows,
			runRow{
				Path:   r.Path,
				Name:   r.Name,
				ID:     r.ID,
				Status: status,
				At:     elapsed(r.From),
				Took:   shortDuration(time.Duration(r.To - r.From)),
				Used:   usedText(r.summary.Usage),
			},
		)
	}
	if len(rows) < 2 {
		return nil
	}
	return rows
}

// uses returns the used tokens in order: of model steps, and of sub-agents whose steps are not on
// the page.
func (t *Timeline) uses() []use {
	list := []use{}
	shown := map[string]bool{}
	for _, r := range t.runs {
		shown[r.ID] = true
	}
	for _, s := range t.steps {
		if n := len(s.Spans); n > 0 && s.In+s.Out > 0 {
			list = append(
				list,
				use{
					At:    s.Spans[n-1].to,
					In:    s.In,
					Out:   s.Out,
					Cost:  s.Cost,
					Label: joined(t.runs[s.Run].Path, s.ID),
				},
			)
		}
	}
	for _, c := range t.calls {
		if u := c.record.Usage; u.InputTokens+u.OutputTokens > 0 &&
			!(c.record.Child != nil && shown[c.record.Child.WorkflowID]) {
			list = append(
				list,
				use{
					At:    c.End,
					In:    u.InputTokens,
					Out:   u.OutputTokens,
					Cost:  u.Cost,
					Label: "sub-agent of call " + c.ID,
				},
			)
		}
	}
	slices.SortStableFunc(list, func(x, y use) int { return cmp.Compare(x.At, y.At) })
	return list
}
