package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
)

// notices are the confirmations that a page shows after a form, by the parameter did.
var notices = map[string]string{"approve": "is approved", "deny": "is denied",
	"edit": "is approved with changed arguments", grantKind: "may use more",
	"answer": "is answered", "decline": "is declined", "pause": "is paused",
	"resume": "continues", "cancel": "is asked to stop", "send": "has received the message"}

// formAction is what a form did, for the page that confirms it.
type formAction struct {
	// Did is the key of the notice.
	Did, Run string
	// Call and Tool, or Question, are what was decided; empty for what was done to the run.
	Call, Tool, Question string
}

// notice is the confirmation of a form, with a link; empty for none.
type notice struct {
	Text, Link, Label string
	// Bad is set for a refusal, so that it does not look like an approval.
	Bad bool
}

// refuses reports whether a call did not run because of how its approval ended.
func refuses(d api.DecisionKind) bool {
	return d == api.DecisionDeny || d == api.DecisionTimeout || d == api.DecisionWithdrawn
}

// done sends the browser to a page that confirms what a form did. The confirmation is sealed, so
// that the address of another site cannot show one. pairs are further parameters of the page.
func (p *page) done(path string, d formAction, pairs ...string) {
	p.redirect(link(path, append(pairs, "did", d.Did, "of", d.Run, "call", d.Call, "tool", d.Tool,
		"question", d.Question, "seal", p.seal(d))...))
}

// seal returns what only this session can have made of the action: replicas share its key. Without
// a login it is the key of this process.
func (p *page) seal(d formAction) string {
	key := []byte(p.who.CSRF)
	if len(key) == 0 {
		key = []byte(p.console.key)
	}
	h := hmac.New(sha256.New, key)
	for _, t := range []string{d.Did, d.Run, d.Call, d.Tool, d.Question} {
		_, _ = h.Write([]byte(t + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// notice returns the confirmation that the address asks for; empty for none.
func (p *page) notice() notice {
	q := p.r.URL.Query()
	d := formAction{Did: q.Get("did"), Run: q.Get("of"), Call: q.Get("call"), Tool: q.Get("tool"),
		Question: q.Get("question")}
	text, ok := notices[d.Did]
	if !ok || !hmac.Equal([]byte(q.Get("seal")), []byte(p.seal(d))) {
		return notice{}
	}
	run := "run " + display.Shorten(d.Run, 200)
	n := notice{Text: run + " " + text, Bad: d.Did == "decline" || refuses(api.DecisionKind(d.Did))}
	switch {
	case d.Question != "":
		n.Text = "question " + display.Shorten(d.Question, 60) + " of " + run + " " + text
		n.Link, n.Label = link("/console/run", "id", d.Run), "Open the run"
	case d.Call != "":
		n.Text = "the call of " + display.Shorten(d.Tool, 60) + ", " + display.Shorten(d.Call, 60) + " of " +
			run + ", " + text
		n.Link, n.Label = link("/console/call", "run", d.Run, "call", d.Call), "What came of it"
	case d.Did == grantKind:
		n.Link, n.Label = link("/console/run", "id", d.Run), "Open the run"
	}
	n.Text = sentence(n.Text)
	return n
}

// inboxBody is the content of the inbox.
type inboxBody struct {
	waitingList
	Loading bool
}

func (c *Console) showInbox(p *page) {
	list, loading := c.inbox.current(p.r.Context())
	p.show(content{Template: "inbox", Title: "Inbox", Section: "inbox",
		Events: "/console/events/inbox", Notice: p.notice(), Away: !list.Failed.IsZero(),
		Since: list.Failed, Body: inboxBody{waitingList: list, Loading: loading}})
}
