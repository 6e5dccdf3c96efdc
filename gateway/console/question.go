package console

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/forms"
)

// questionBody is the content of the page of one question.
type questionBody struct {
	Run, ID string
	// Open is the question; nil if it is not open.
	Open     *switchyard.Question
	About    *about
	Form     *forms.Form
	Problem  string
	Problems []api.Problem
	Reason   string
	Late     bool
}

func (c *Console) showQuestion(p *page) error {
	body, err := c.questionBody(p.r.Context(), p)
	if err != nil {
		return err
	}
	return c.showQuestionBody(p, body, 0)
}

func (c *Console) showQuestionBody(p *page, body *questionBody, status int) error {
	if status != 0 && body.Form != nil {
		body.Form.Forget()
	}
	return p.show(content{Template: "question", Title: "Question " + body.ID, Section: "inbox",
		Status: status, Live: true, Body: body})
}

// questionBody reads the question that a request names.
func (c *Console) questionBody(ctx context.Context, p *page) (*questionBody, error) {
	body := &questionBody{Run: p.r.FormValue("run"), ID: p.r.FormValue("question")}
	_, open, err := c.backend.listWaits(ctx, runRef{ID: body.Run})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(open, func(q switchyard.Question) bool {
		return q.WorkflowID == body.Run && q.ID == body.ID
	}); i >= 0 {
		body.Open = &open[i]
		f := forms.Answer(open[i].Schema)
		body.Form = &f
		body.About, err = readAbout(ctx, c.backend, runRef{ID: body.Run}, open[i].Call)
	}
	return body, err
}

// answer handles the form of a question.
func (c *Console) answer(p *page) error {
	body, err := c.questionBody(p.r.Context(), p)
	if err != nil {
		return err
	}
	entered := p.r.PostForm
	body.Reason = entered.Get("reason")
	reply := switchyard.Reply{Question: body.ID, By: p.who.Name,
		Auth: p.who.Auth, Reason: body.Reason,
		Decline: entered.Get("decision") == "decline"}
	did := "decline"
	if !reply.Decline && body.Form != nil {
		did = "answer"
		value, ok := body.Form.Value(entered)
		if reply.Value = value; !ok {
			p.audit("answer", did, errFaults, "run", body.Run, "question", body.ID)
			body.Problem = "The answer is not valid."
			if body.Form.Stale {
				body.Problem = "The form is not that of this question. Answer here."
			}
			return c.showQuestionBody(p, body, http.StatusUnprocessableEntity)
		}
	}
	if body.Open == nil {
		p.audit("answer", did, errClosed, "run", body.Run, "question", body.ID)
		body.Late, body.Problem = true, "The question is no longer open."
		return c.showQuestionBody(p, body, http.StatusConflict)
	}
	err = c.backend.handle(runRef{ID: body.Run}).Answer(p.r.Context(), reply)
	p.audit("answer", did, err, "run", body.Run, "question", body.ID)
	if err != nil {
		c.inbox.kick()
		return c.refusedAnswer(p, body, err)
	}
	c.inbox.removeDecided(aboutKey{body.Run, body.Open.Call, body.ID})
	words := map[string]string{"answer": "is answered", "decline": "is declined"}
	return p.done("/console/inbox", "Question "+body.ID+" of run "+body.Run+" "+words[did]+".")
}

// refusedAnswer shows why an answer did not take effect.
func (c *Console) refusedAnswer(p *page, body *questionBody, err error) error {
	refused, ok := errors.AsType[*api.ReplyError](err)
	if !ok && !errors.Is(err, &switchyard.RequestError{Type: switchyard.RunEnded}) {
		return err
	}
	status := http.StatusConflict
	if ok && (refused.Type == api.ReplyUnfit || refused.Type == api.ReplyMalformed) {
		status = http.StatusUnprocessableEntity
		body.Problems = refused.Problems
		if body.Form != nil {
			body.Problems = body.Form.Blame(refused.Problems)
		}
	} else {
		body.Late = !ok || refused.Type == api.ReplyClosed || refused.Type == api.ReplyUnknown
	}
	body.Problem = sentence(err.Error())
	return c.showQuestionBody(p, body, status)
}
