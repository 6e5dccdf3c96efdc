package console

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/gateway/console/arguments"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
)

// maxEvents bounds the events of one page of a run.
const maxEvents = 100

// runView is a run as its page shows it.
type runView struct {
	Run   history.Summary
	Items []item
	// First and Last are the numbers of the events on the page, All is how many there are.
	First, Last, All int
	// Total is the number of calls that have ended, Labels are those of the last call.
	Total  int
	Labels []string
	// Incomplete says that the server has deleted the first histories.
	Incomplete bool

	// before is the number of the event before which the page ends; zero for the last.
	before int
	events []api.Event
	// drawn has the events of the page for its chart, open are the open calls of the last page.
	drawn *html.Run
	open  []api.Record
}

// item is one entry of the conversation.
type item struct {
	// Class is model, person, call, bad or empty.
	Class, By, Text string
	Time            time.Time
	Call, Tool      string
	// Child is the run of a sub-agent. Decided says that a person decided about the call.
	Child   string
	Decided bool
	// Code is shown as it is, such as arguments or a result; More says that it is cut.
	Code []code
}

// code is a text that is shown as it is.
type code struct {
	Name, Text string
	More       bool
}

// readRun reads the page of a run that ends before the event numbered before; zero for the last.
func readRun(ctx context.Context, b backend, run runRef, before int) (*runView, error) {
	v := &runView{before: before, drawn: html.NewRun()}
	summary, open, err := b.read(ctx, run, v.add)
	v.Incomplete = errors.Is(err, audit.ErrIncomplete)
	if err != nil && !v.Incomplete {
		return nil, err
	}
	v.Run = summary
	if before == 0 {
		v.open = open
	}
	v.finish()
	return v, nil
}

// add takes an event of the run.
func (v *runView) add(e api.Event) {
	v.All++
	if e.Record != nil {
		v.Total++
		v.Labels = e.Record.Labels
	}
	if v.before > 0 && v.All >= v.before || e.Type == api.EventToolStarted {
		return
	}
	if len(v.events) >= 2*maxEvents { // keeps memory bounded without moving at each event
		v.events = append(v.events[:0], v.events[maxEvents:]...)
	}
	e.Sequence = v.All
	v.events = append(v.events, e)
}

// finish makes entries of the last events, and forgets the events.
func (v *runView) finish() {
	events := v.events[max(0, len(v.events)-maxEvents):]
	for _, e := range events {
		v.Items = append(v.Items, newItem(e))
		if e.Record != nil {
			record := *e.Record
			record.Arguments = nil // may have a megabyte
			e.Record = &record
		}
		v.drawn.Add(e)
	}
	if n := len(events); n > 0 {
		v.First, v.Last = events[0].Sequence, events[n-1].Sequence
	}
	v.events = nil
}

// chart draws the calls, model steps and events of the page, and what runs now.
func (v *runView) chart(now []audit.Running) (template.HTML, error) {
	t := html.Timeline{Now: time.Now()}
	run := v.Run
	run.Parts = nil // most began before the page
	if v.before > 0 {
		now = nil
	}
	t.AddRun(v.drawn, run, v.open, now)
	return t.Chart()
}

// block returns a text as code of bounded length.
func block(name, text string) code {
	short, more := cut(text)
	return code{Name: name, Text: arguments.Visible(short), More: more}
}

// jsonBlock is block for JSON. Only short values are formatted.
func jsonBlock(name string, data json.RawMessage) code {
	if len(data) > 4*maxShown {
		return block(name, string(data[:maxShown])+" ")
	}
	return block(name, arguments.Readable(data))
}

// newItem returns an event as an entry of the conversation.
func newItem(e api.Event) item {
	i := item{Time: e.Time, Call: e.CallID, Tool: e.Tool}
	switch {
	case e.Step != nil:
		i.ofStep(e)
	case e.Record != nil:
		i.ofRecord(*e.Record)
	case e.Question != nil:
		i.ofQuestion(e)
	case e.Approval != nil || e.Decided != nil:
		i.ofApproval(e)
	default:
		i.ofControl(e)
	}
	return i
}

// ofControl describes what people did to the run, and its start and end.
func (i *item) ofControl(e api.Event) {
	switch i.By = words[e.Type]; {
	case e.Sent != nil:
		i.Class, i.By = "person", "message from "+arguments.Visible(e.Sent.By)
		i.Text, _ = cut(arguments.Visible(e.Sent.Text))
	case e.Pause != nil:
		i.Class, i.By = "person", i.By+" by "+arguments.Visible(e.Pause.By)
		i.Text = arguments.Visible(e.Pause.Reason)
	case e.Closes != nil:
		i.Class, i.By = "person", arguments.Visible(people.CloseNote(*e.Closes))
	case e.Failure != "":
		i.Class = "bad"
		i.Text, _ = cut(arguments.Visible(e.Failure))
	}
}

// words name events without more content.
var words = map[api.EventType]string{api.EventRunStarted: "the run started",
	api.EventRunCompleted: "the run completed", api.EventRunFailed: "the run failed",
	api.EventRunCancelled: "the run was cancelled", api.EventRunPaused: "paused",
	api.EventRunResumed: "resumed", api.EventHookEnded: "a hook of the run ended",
	api.EventApprovalRequested: "waits for approval",
	api.EventQuestionAsked:     "asks", api.EventQuestionClosed: "question closed"}

func (i *item) ofStep(e api.Event) {
	i.Class, i.By = "model", "model"
	if e.Step.Model != "" {
		i.By += " " + arguments.Visible(e.Step.Model)
	}
	text, more := cut(arguments.Visible(e.Step.Message.Text))
	if i.Text = text; more {
		i.Text += " (cut)"
	}
	if n := len(e.Step.Message.Calls); n > 0 {
		i.By += ", calls " + display.Plural(n, "tool")
	}
}

func (i *item) ofRecord(r api.Record) {
	i.Class, i.Tool, i.Call = "call", r.Tool, r.CallID
	i.By = string(r.Status)
	if r.DryRun {
		i.By = "withheld"
	}
	if d := r.Duration.Std(); d > 0 {
		i.By += " in " + took(d)
	}
	if r.Child != nil {
		i.Child = r.Child.WorkflowID
	}
	if len(r.Arguments) > 0 {
		i.Code = append(i.Code, jsonBlock("arguments", r.Arguments))
	}
	if r.Approval != nil {
		i.Text, i.Decided = arguments.Visible(people.DecidedNote(*r.Approval)), r.Approval.Decision != ""
	}
	if r.Error != nil {
		i.Class = "bad"
		i.Code = append(i.Code, block(string(r.Error.Type), r.Error.Message))
	} else if r.Result != nil {
		c := jsonBlock("result", r.Result.Output)
		c.More = c.More || r.Result.Cut > 0
		i.Code = append(i.Code, c)
	}
}

func (i *item) ofQuestion(e api.Event) {
	i.Class, i.By, i.Tool, i.Call = "person", words[e.Type], e.Question.Tool, e.Question.Call
	i.Text, _ = cut(arguments.Visible(e.Question.Text))
	if e.Reply != nil {
		i.Text = arguments.Visible(people.ReplyNote(*e.Reply))
	}
}

func (i *item) ofApproval(e api.Event) {
	i.Class, i.By = "person", words[e.Type]
	if e.Approval != nil {
		i.Tool, i.Call = e.Approval.Tool, e.Approval.Call
		i.Text = arguments.Visible(e.Approval.Reason)
	}
	if e.Decided == nil {
		return
	}
	i.By = arguments.Visible(people.DecidedNote(*e.Decided))
	if e.Type == api.EventApprovalRefused {
		i.Class, i.By = "bad", "decision refused: "+i.By
		i.Text = arguments.Visible(e.Failure)
	}
}
