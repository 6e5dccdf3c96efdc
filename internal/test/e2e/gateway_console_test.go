package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// person is a browser with a session of the console.
type person struct {
	g    *gatewayLab
	http *http.Client
	base string
	csrf string
}

// visitor returns somebody who has not logged in to the console at base.
func (g *gatewayLab) visitor(base string) *person {
	g.t.Helper()
	jar, err := cookiejar.New(nil)
	g.must(err)
	return &person{g: g, http: &http.Client{Jar: jar}, base: base}
}

// person logs in with an API key.
func (g *gatewayLab) person(r *replica, key string) *person {
	g.t.Helper()
	p := g.visitor(strings.TrimSuffix(r.Endpoint, "/mcp") + "/console/")
	p.get("login")
	if status, page := p.post("login", url.Values{"key": {key}}); status != http.StatusOK {
		g.t.Fatalf("the login: %d %s", status, page)
	}
	return p
}

func (p *person) get(path string) (int, string) {
	return p.send(http.MethodGet, path, nil)
}

// post sends a form and returns the page that follows.
func (p *person) post(path string, form url.Values) (int, string) {
	form.Set("csrf", p.csrf)
	return p.send(http.MethodPost, path, form)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (p *person) send(method, path string, form url.Values) (int, string) {
	p.g.t.Helper()
	r, err := http.NewRequestWithContext(p.g.ctx, method, p.base+path,
		strings.NewReader(form.Encode()))
	p.g.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := p.http.Do(r)
	p.g.must(err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	p.g.must(err)
	if m := csrfField.FindStringSubmatch(string(data)); m != nil {
		p.csrf = m[1]
	}
	return res.StatusCode, string(data)
}

var digestField = regexp.MustCompile(`name="digest" value="([^"]+)"`)

// The call of one principal is approved with changed arguments by another on the pages of the
// console, at another replica. The record says who decided. A second decision is told what
// happened, and somebody without the role may only look.
func TestGateway_PeopleDecideOnThePagesOfTheConsole(t *testing.T) {
	g := newGatewayLab(t, "  roles:\n    viewer: [\"key:ada\"]\n    approver: [\"key:grace\", "+
		"\"key:ben\"]\n")
	g.serve()
	one, two := g.replica("--direct", "100ms", "--wait", "100ms", "--console"),
		g.replica("--console")
	olga := g.older(one.Endpoint, g.apiKey("olga"), "demo")
	pending := must(t)(olga.call(g.ctx, "publish", arguments("text", "news"), nil))
	if pending.Result == nil || pending.Result.Meta.Call.State !=
		string(api.SessionCallAwaitsApproval) {
		t.Fatalf("the call: %s", pending.body)
	}
	open, err := switchyard.NewClient(g.Client, switchyard.Options{}).Approvals(g.ctx)
	if g.must(err); len(open) != 1 {
		t.Fatalf("%d calls wait", len(open))
	}
	grace, ben, ada := g.person(two, g.apiKey("grace")), g.person(one, g.apiKey("ben")),
		g.person(two, g.apiKey("ada"))
	_, inbox := grace.get("inbox")
	digest := digestField.FindStringSubmatch(inbox)
	for _, want := range []string{"Publish news?", "key:olga", open[0].Call} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox does not have %q", want)
		}
	}
	if digest == nil || digest[1] != open[0].Digest {
		t.Fatalf("the inbox does not have the digest %s\n%s", open[0].Digest, inbox)
	}
	form := url.Values{"run": {open[0].WorkflowID}, "call": {open[0].Call},
		"digest": {open[0].Digest}, "decision": {"edit"}, "f.text": {"good news"},
		"reason": {"friendlier"}}
	if status, _ := ada.post("call", form); status != http.StatusForbidden {
		t.Errorf("a viewer decides: %d", status)
	}
	if status, page := grace.post("call", form); status != http.StatusOK ||
		!strings.Contains(page, "is approved with changed arguments") {
		t.Fatalf("the decision: %d %s", status, page)
	}
	form.Set("decision", "deny")
	if status, page := ben.post("call", form); status != http.StatusConflict ||
		!strings.Contains(page, "approved with changed arguments by key:grace (api_key)") {
		t.Errorf("the second decision: %d %s", status, page)
	}
	run := switchyard.NewClient(g.Client, switchyard.Options{}).Open(open[0].WorkflowID)
	g.await("for the call's end", func() bool {
		for r, err := range run.Records(g.ctx) {
			g.must(err)
			if d := r.Approval; r.Status == api.CallCompleted && d != nil {
				if d.By != "key:grace" || d.Auth != api.AuthKey || d.Reason != "friendlier" ||
					string(d.Edited) != `{"text":"good news"}` {
					t.Errorf("the record has the approval %+v", d)
				}
				return true
			}
		}
		return false
	})
}
