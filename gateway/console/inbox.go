package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/switchyard/switchyard/api"
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
	// Call and Tool are empty for what was done to the run.
	Call, Tool string
}

// notice is the confirmation of a form. Link leads to what came of it; empty for none.
type notice struct{ Text, Link string }

// done sends the browser to a page that confirms what a form did. The confirmation is sealed, so
// that the address of another site cannot show one. pairs are further parameters of the page.
func (p *page) done(path string, d formAction, pairs ...string) {
	p.redirect(link(path, append(pairs, "did", d.Did, "of", d.Run, "call", d.Call, "tool", d.Tool,
		"seal", p.seal(d))...))
}

// seal returns what only this session can have made of the action: replicas share its key. Without
// a login it is the key of this process.
func (p *page) seal(d formAction) string {
	key := []byte(p.who.CSRF)
	if len(key) == 0 {
		key = []byte(p.console.key)
	}
	h := hmac.New(sha256.New, key)
	for _, t := range []string{d.Did, d.Run, d.Call, d.Tool} {
		_, _ = h.Write([]byte(t + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// notice returns the confirmation that the address asks for; empty for none.
func (p *page) notice() notice {
	q := p.r.URL.Query()
	d := formAction{Did: q.Get("did"), Run: q.Get("of"), Call: q.Get("call"), Tool: q.Get("tool")}
	text, ok := notices[d.Did]
	if !ok || !hmac.Equal([]byte(q.Get("seal")), []byte(p.seal(d))) {
		return notice{}
	}
	run := "run " + api.Shorten(d.Run, 200)
	switch {
	case d.Call == "":
		return notice{Text: sentence(run + " " + text), Link: link("/console/run", "id", d.Run)}
	case d.Tool == "":
		return notice{Text: sentence("question " + api.Shorten(d.Call, 60) + " of " + run + " " + text),
			Link: link("/console/run", "id", d.Run)}
	}
	return notice{Text: sentence("the call of " + api.Shorten(d.Tool, 60) + ", " +
		api.Shorten(d.Call, 60) + " of " + run + ", " + text),
		Link: link("/console/call", "run", d.Run, "call", d.Call)}
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
