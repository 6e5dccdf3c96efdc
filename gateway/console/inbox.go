package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/switchyard/switchyard/api"
)

// refuses reports whether a call did not run because of how its approval ended.
func refuses(d api.DecisionKind) bool {
	return d == api.DecisionDeny || d == api.DecisionTimeout || d == api.DecisionWithdrawn
}

// done sends the browser to a page that confirms what a form did. The confirmation is sealed, so
// that the address of another site cannot show one. pairs are further parameters of the page.
func (p *page) done(path, text string, pairs ...string) error {
	return p.redirect(link(path, append(pairs, "done", text, "seal", p.seal(text))...))
}

// seal returns what only this session can have made of a text: replicas share its token.
func (p *page) seal(text string) string {
	h := hmac.New(sha256.New, []byte(p.who.CSRF))
	_, _ = h.Write([]byte("done\x00" + text))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// notice returns the confirmation that the address asks for; empty for none.
func (p *page) notice() string {
	q := p.r.URL.Query()
	if p.who.CSRF == "" || !hmac.Equal([]byte(q.Get("seal")), []byte(p.seal(q.Get("done")))) {
		return ""
	}
	return q.Get("done")
}

// inboxBody is the content of the inbox.
type inboxBody struct {
	waitingList
	Loading bool
}

func (c *Console) showInbox(p *page) error {
	list, loading := c.inbox.current(p.r.Context())
	return p.show(content{Template: "inbox", Title: "Inbox", Section: "inbox", Live: true,
		Away: !list.Failed.IsZero(), Since: list.Failed,
		Body: inboxBody{waitingList: list, Loading: loading}})
}
