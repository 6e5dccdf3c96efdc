package console

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/gateway/console/arguments"
)

// runBody is the content of the page of a run.
type runBody struct {
	*runView

	RunID string
	// Running is what the run does now, Texts are the texts of model steps so far.
	Running   []audit.Running
	Approvals []switchyard.Approval
	Questions []switchyard.Question
	Chart     template.HTML
	Answer    string
	// Open says that the run can be controlled.
	Open, Paused bool
	Temporal     string
	Problem      string
	Message      string
	Newest       bool
	Caller       string
	Lasted       time.Duration
}

// ref returns the run that a request names.
func (p *page) ref() runRef {
	return runRef{ID: p.r.FormValue("id"), RunID: p.r.FormValue("run_id")}
}

func (c *Console) showRun(p *page) error {
	return c.showRunWith(p, "", 0)
}

// showRunWith shows a run, with the reason for which a form was refused.
func (c *Console) showRunWith(p *page, problem string, status int) error {
	run := p.ref()
	before, _ := strconv.Atoi(p.r.FormValue("before")) // not a number: the newest
	view, err := c.views.of(p.r.Context(), run, before)
	if err != nil {
		return err
	}
	body := runBody{runView: view, RunID: run.RunID, Problem: problem, Newest: before == 0,
		Open: view.Run.Closed.IsZero(), Temporal: c.temporalUI(run.ID),
		Paused:  view.Run.Paused != nil,
		Message: p.r.PostForm.Get("text"), Caller: view.Run.Caller.ID}
	if r := view.Run.Result; r != nil {
		body.Answer, _ = cut(arguments.Visible(r.Answer))
	}
	end := view.Run.Closed
	if body.Open {
		if err := c.addNow(p, run, &body); err != nil {
			return err
		}
		end = time.Now()
	}
	body.Lasted = end.Sub(view.Run.Started)
	if body.Chart, err = view.chart(body.Running); err != nil {
		return err
	}
	name := cmp.Or(view.Run.Name, string(view.Run.Kind))
	return p.show(content{Template: "run", Title: name + " · " + run.ID, Section: "runs",
		Live: body.Open, Status: status, Body: body})
}

// addNow adds what an open run does and waits for.
func (c *Console) addNow(p *page, run runRef, body *runBody) (err error) {
	if body.Running, err = c.backend.listPending(p.r.Context(), run); err != nil {
		return err
	}
	for i := range body.Running {
		if l := body.Running[i].Live; l != nil {
			shown := *l
			shown.Text, _ = cut(arguments.Visible(l.Text))
			body.Running[i].Live = &shown
		}
	}
	body.Approvals, body.Questions, err = c.backend.listWaits(p.r.Context(), run)
	return err
}

// controls are the actions, as a page confirms them.
var controls = map[string]string{"pause": "is paused", "resume": "continues",
	"cancel": "is asked to stop", "send": "has received the message"}

// control handles the forms that control a run.
func (c *Console) control(p *page) error {
	run, entered := p.ref(), p.r.PostForm
	action, by, reason := entered.Get("action"), p.who.Name, entered.Get("reason")
	handle, ctx := c.backend.handle(run), p.r.Context()
	var err error
	switch action {
	case "pause":
		err = handle.Pause(ctx, by, reason)
	case "resume":
		err = handle.Resume(ctx, by, reason)
	case "cancel":
		err = handle.Cancel(ctx, by, reason)
	case "send":
		err = handle.Send(ctx, switchyard.Sent{Text: strings.ReplaceAll(entered.Get("text"),
			"\r\n", "\n"), By: by, ID: entered.Get("message")})
	default:
		return p.problem(http.StatusUnprocessableEntity, "The form asks for an unknown action.")
	}
	p.audit("control", action, err, "run", run.ID)
	if err == nil {
		return p.done("/console/run", "Run "+run.ID+" "+controls[action]+".", "id", run.ID,
			"run_id", run.RunID)
	}
	if e, ok := errors.AsType[*switchyard.RequestError](err); ok && requestTypes[e.Type] != 0 {
		return c.showRunWith(p, sentence(err.Error()), requestTypes[e.Type])
	}
	return err
}

// maxResult bounds the text of a call, in bytes.
const maxResult = 16 << 20

// showResult sends the arguments and the result of a call as they are in the record.
func (c *Console) showResult(p *page) error {
	call := p.r.FormValue("call")
	a, err := readAbout(p.r.Context(), c.backend, p.ref(), call)
	if err != nil {
		return err
	}
	if !a.Found {
		return p.problem(http.StatusNotFound, "The run has no such call.")
	}
	text := "call " + call + " of " + a.Record.Tool + ": " + string(a.Record.Status) +
		"\n\narguments\n" + arguments.Readable(a.Record.Arguments) + "\n"
	if a.Record.Error != nil {
		text += "\nerror\n" + arguments.Visible(a.Record.Error.Message) + "\n"
	}
	if a.Record.Result != nil {
		text += "\nresult\n" + arguments.Readable(a.Record.Result.Output) + "\n"
	}
	header := p.w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	_, _ = p.w.Write([]byte(text[:min(len(text), maxResult)])) // the browser may be gone
	return nil
}

// tone is the class of the status of a run or a call.
func tone(status any) string {
	switch fmt.Sprint(status) {
	case "completed":
		return "good"
	case "failed", "refused", "terminated", "timed_out":
		return "bad"
	case "cancelled", "paused":
		return "warn"
	}
	return "wait"
}
