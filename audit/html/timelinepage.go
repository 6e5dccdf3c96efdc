package html

import (
	"errors"
	"io"
	"strings"

	"github.com/switchyard/switchyard/audit/history"
)

// timelinePage is the data of pages/timeline.html.
type timelinePage struct {
	frame
	Heading, Status, Tone                string
	Words                                []string
	Prompt, Failure, AnswerTitle, Answer string
	Facts                                [][2]string
	Chart                                chart
	Rows                                 []row
	Runs                                 []runRow
}

type runRow struct{ Path, Name, ID, Status, At, Took, Used string }

// maxAnswer bounds the answer of a run on the page, in bytes.
const maxAnswer = 20 << 10

// errNoRun is returned for a page without a run.
var errNoRun = errors.New("the page has no run: add one")

// Write writes the page. The error is that of the writer, or says that no run was added.
func (t *Timeline) Write(w io.Writer) error {
	if len(t.runs) == 0 {
		return errNoRun
	}
	s, rows := t.runs[0].summary, t.sorted()
	p := timelinePage{
		frame: newFrame(runName(s)+" · "+s.WorkflowID, "starter timeline, "+clock(t.Now),
			file("pages/timeline.js")),
		Heading: runName(s),
		Prompt:  cut(s.Prompt),
		Words:   t.words(rows),
		Facts:   append(facts(s), t.decision()...),
		Chart:   newChart(rows),
		Rows:    rows,
		Runs:    t.runRows(),
	}
	p.Status, p.Tone = describeEnd(s, t.Person, t.awaited(0))
	if s.Failure != "" {
		p.Failure = joined(string(s.FailureType), cut(s.Failure))
	}
	p.setAnswer(s)
	return write(w, "timeline.html", p)
}

func (p *timelinePage) setAnswer(s history.Summary) {
	r := s.Result
	if r == nil {
		return
	}
	p.AnswerTitle, p.Answer = "The answer", r.Answer
	if r.Answer == "" {
		p.AnswerTitle, p.Answer = "The result", indented(r.Output)
	}
	p.Answer = strings.ToValidUTF8(p.Answer[:min(len(p.Answer), maxAnswer)], "")
}

// runRows returns the rows of the table of runs, if there are several.
func (t *Timeline) runRows() []runRow {
	if len(t.runs) < 2 {
		return nil
	}
	var rows []runRow
	for i, r := range t.runs {
		status, _ := describeEnd(r.summary, nil, t.awaited(i))
		rows = append(rows, runRow{Path: r.path, Name: runName(r.summary),
			ID: r.summary.WorkflowID, Status: status, At: formatElapsed(r.from),
			Took: shortDuration(r.to - r.from), Used: usedText(r.summary.Usage)})
	}
	return rows
}
