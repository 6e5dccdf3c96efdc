package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// browse sends a request to a link and returns the status and the page.
func (g *gatewayLab) browse(method, link string, form url.Values) (int, string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.ctx, method, link, strings.NewReader(form.Encode()))
	g.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(r)
	g.must(err)
	defer func() { _ = res.Body.Close() }()
	page, err := io.ReadAll(res.Body)
	g.must(err)
	return res.StatusCode, string(page)
}

// A notice has links that decide about its call. Programs that follow them decide nothing; a person
// decides once, at any replica, and the record says by which link. A link for a call that was
// decided, or whose run has ended, decides nothing.
func TestGateway_LinksOfNoticesDecide(t *testing.T) {
	g := newGatewayLab(t, "")
	notices := make(chan api.Notice, 20)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n api.Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		if n.Event == api.NoticeWaiting {
			notices <- n
		}
	}))
	t.Cleanup(hook.Close)
	key := filepath.Join(t.TempDir(), "link-key")
	g.writeFile(key, "a key of these tests\n")
	one, two := g.replica("--approval-link-key", "file:"+key), g.replica("--approval-link-key",
		"file:"+key)
	g.workerIn(nil, "--tools", gatewayTools, "--approval-webhook", hook.URL,
		"--approval-webhook-secret", "file:"+key, "--approval-link-key", "file:"+key,
		"--console-url", strings.TrimSuffix(one.Endpoint, "/mcp"), "--approval-link-to", "#ops")
	at := func(r *replica, link string) string {
		return strings.Replace(link, strings.TrimSuffix(one.Endpoint, "/mcp"),
			strings.TrimSuffix(r.Endpoint, "/mcp"), 1)
	}

	run := g.calling(g.dial(), "linked", "publish", arguments("text", "news"))
	links := (<-notices).Links
	for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodGet} {
		for _, link := range []string{links.Approve, links.Deny} {
			if status, page := g.browse(method, link, nil); status != http.StatusOK ||
				method == http.MethodGet && !strings.Contains(page, "Publish news?") {
				t.Errorf("%s: %d %s", method, status, page)
			}
		}
	}
	g.awaitApprovals("linked", 1)
	one.Kill()
	if status, page := g.browse(http.MethodPost, at(two, links.Approve),
		url.Values{"reason": {"read it"}}); status != http.StatusOK {
		t.Fatalf("the approval: %d %s", status, page)
	}
	if r, err := run.Result(g.ctx); err != nil || string(r.Output) != `{"text":"news"}` {
		t.Errorf("the call returned %s, %v", r.Output, err)
	}
	for _, link := range []string{links.Approve, links.Deny} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, page := g.browse(method, at(two, link), nil); status != http.StatusGone {
				t.Errorf("%s again: %d %s", method, status, page)
			}
		}
	}
	for r, err := range switchyard.NewClient(g.Client, switchyard.Options{}).Open("linked").Records(
		g.ctx) {
		g.must(err)
		if d := r.Approval; d == nil || d.By != "link:#ops" || d.Auth != api.AuthLink ||
			d.Reason != "read it" {
			t.Errorf("the record has the approval %+v", d)
		}
	}

	ended := g.calling(g.dial(), "ended", "publish", arguments("text", "old"))
	links = (<-notices).Links
	g.must(ended.Cancel(g.ctx, "ada", "not needed"))
	if _, err := ended.Result(g.ctx); err == nil {
		t.Error("the run was not cancelled")
	}
	if status, page := g.browse(http.MethodPost, at(two, links.Approve), nil); status !=
		http.StatusGone {
		t.Errorf("a run that has ended: %d %s", status, page)
	}
	forged := strings.Replace(at(two, links.Approve), "/link/", "/link/A", 1)
	if status, page := g.browse(http.MethodPost, forged, nil); status != http.StatusNotFound {
		t.Errorf("a forged link: %d %s", status, page)
	}
	if n := len(g.entries()); n != 1 {
		t.Errorf("%d calls were executed, want 1", n)
	}
}
