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

// done sends the browser to a page that confirms what a form did. The confirmation is sealed, so
// that the address of another site cannot show one. pairs are further parameters of the page.
func (p *page) done(path, did, run, call string, pairs ...string) {
	p.redirect(link(path, append(pairs, "did", did, "of", run, "call", call, "seal",
		p.seal(did, run, call))...))
}

// seal returns what only this session can have made of the texts: replicas share its key. Without a
// login it is the key of this process.
func (p *page) seal(texts ...string) string {
	key := []byte(p.who.CSRF)
	if len(key) == 0 {
		key = []byte(p.console.key)
	}
	h := hmac.New(sha256.New, key)
	for _, t := range texts {
		_, _ = h.Write([]byte(t + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// notice returns the confirmation that the address asks for; empty for none.
func (p *page) notice() string {
	q := p.r.URL.Query()
	did, of, call := q.Get("did"), q.Get("of"), q.Get("call")
	text, ok := notices[did]
	if !ok || !hmac.Equal([]byte(q.Get("seal")), []byte(p.seal(did, of, call))) {
		return ""
	}
	run := api.Shorten(of, 200)
	if call != "" {
		return "Call " + api.Shorten(call, 60) + " of run " + run + " " + text + "."
	}
	return "Run " + run + " " + text + "."
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
