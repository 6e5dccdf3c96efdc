package links

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/approvallink"
)

// fakeRuns has one waiting call, and takes one decision about it.
type fakeRuns struct {
	open      []switchyard.Approval
	arguments json.RawMessage
	decisions []api.Decision
	err       error
}

func (f *fakeRuns) Approvals(context.Context, string) ([]switchyard.Approval, error) {
	return f.open, f.err
}

func (f *fakeRuns) Arguments(context.Context, string, string) (json.RawMessage, error) {
	return f.arguments, f.err
}

func (f *fakeRuns) Decide(_ context.Context, _ string, d api.Decision) error {
	if f.err != nil {
		return f.err
	}
	if len(f.open) == 0 {
		return &api.ReplyError{Type: api.DecisionClosed, Message: "decided by bob"}
	}
	f.open, f.decisions = nil, append(f.decisions, d)
	return nil
}

// lab is the handler of links with a fake run.
type lab struct {
	*fakeRuns
	t       *testing.T
	key     approvallink.Key
	handler http.Handler
	logged  *strings.Builder
}

func newLab(t *testing.T) *lab {
	t.Helper()
	t.Setenv("LINK_KEY", "planted-key-of-16")
	key, err := approvallink.ReadKey("env:LINK_KEY")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, key: key, logged: &strings.Builder{}, fakeRuns: &fakeRuns{
		open: []switchyard.Approval{{WorkflowID: "run", Approval: api.Approval{Call: "1.1",
			Tool: "pay", ApprovalNeed: api.ApprovalNeed{Digest: "d",
				Text: "<script>alert(1)</script> pay 5", Reason: "every call"}}}}}}
	l.handler = routes.Handlers{routes.Link: New(Config{Runs: l.fakeRuns, Key: key,
		Audit: slog.New(slog.NewTextHandler(l.logged, nil)),
		now:   func() time.Time { return time.Unix(1_000, 0) }})}
	return l
}

// link returns the path of a link.
func (l *lab) link(digest string, kind api.DecisionKind, until int64) string {
	l.t.Helper()
	token, err := l.key.Token(approvallink.Link{WorkflowID: "run", Call: "1.1", Digest: digest,
		Decision: kind, To: "#payments", Until: until})
	if err != nil {
		l.t.Fatal(err)
	}
	return approvallink.Path + token
}

func (l *lab) send(method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	return w
}

// Programs that follow links decide nothing. A person decides once, and the decision says by which
// link.
func TestLink_DecidesOnceAndOnlyByItsForm(t *testing.T) {
	l := newLab(t)
	path := l.link("d", api.DecisionApprove, 2_000)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		w := l.send(method, path, nil)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<script>") ||
			method == http.MethodGet && !strings.Contains(w.Body.String(),
				"&lt;script&gt;alert(1)&lt;/script&gt; pay 5") {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	for _, method := range []string{http.MethodOptions, http.MethodPut, http.MethodDelete} {
		if w := l.send(method, path, nil); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if len(l.decisions) != 0 {
		t.Fatalf("decided without the form: %+v", l.decisions)
	}
	for i, want := range []int{http.StatusOK, http.StatusGone} {
		if w := l.send(http.MethodPost, path, url.Values{"reason": {" fine "}}); w.Code != want {
			t.Errorf("decision %d: %d %s", i, w.Code, w.Body)
		}
	}
	if w := l.send(http.MethodGet, path, nil); w.Code != http.StatusGone {
		t.Errorf("after the decision: %d", w.Code)
	}
	if len(l.decisions) != 1 || l.decisions[0].By != "link:#payments" ||
		l.decisions[0].Auth != api.AuthLink || l.decisions[0].Kind != api.DecisionApprove ||
		l.decisions[0].Digest != "d" || l.decisions[0].Reason != "fine" {
		t.Errorf("decisions: %+v", l.decisions)
	}
	if got := l.logged.String(); strings.Contains(got, path) || !strings.Contains(got,
		"decision=approve by=\"link:#payments\" run=run call=1.1") &&
		!strings.Contains(got, "decision=approve by=link:#payments run=run call=1.1") {
		t.Errorf("logged: %s", got)
	}
}

// A link that was forged, has expired, is for another call or cannot reach its run decides nothing
// and says so.
func TestLink_RefusesWhatDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name string
		path func(*lab) string
		err  error
		want int
	}{
		{name: "forged", path: func(l *lab) string {
			return strings.Replace(l.link("d", api.DecisionDeny, 2_000), ".", "A.", 1)
		}, want: http.StatusNotFound},
		{name: "no token", path: func(*lab) string { return approvallink.Path + "x.y" },
			want: http.StatusNotFound},
		{name: "expired", path: func(l *lab) string {
			return l.link("d", api.DecisionDeny, 1_000)
		}, want: http.StatusGone},
		{name: "the run has ended", err: &switchyard.RequestError{Type: switchyard.RunEnded},
			want: http.StatusGone},
		{name: "there is no run", err: &switchyard.RequestError{Type: switchyard.RunNotFound},
			want: http.StatusGone},
		{name: "no link is accepted", err: &api.ReplyError{Type: api.DecisionNotAllowed},
			want: http.StatusForbidden},
		{name: "an edit is being checked", err: &api.ReplyError{Type: api.DecisionBusy},
			want: http.StatusConflict},
		{name: "no server", err: context.DeadlineExceeded, want: http.StatusServiceUnavailable},
	} {
		l := newLab(t)
		l.err = tt.err
		path := l.link("d", api.DecisionDeny, 2_000)
		if tt.path != nil {
			path = tt.path(l)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if w := l.send(method, path, nil); w.Code != tt.want {
				t.Errorf("%s: %s is answered with %d %s", tt.name, method, w.Code, w.Body)
			}
		}
		if len(l.decisions) != 0 {
			t.Errorf("%s: decided %+v", tt.name, l.decisions)
		}
	}
	l := newLab(t)
	if w := l.send(http.MethodGet, l.link("other", api.DecisionDeny, 2_000), nil); w.Code !=
		http.StatusGone {
		t.Errorf("a link to another call: %d", w.Code)
	}
}

// Requests about one call are limited, and so are forged links from one address.
func TestLink_IsLimited(t *testing.T) {
	l := newLab(t)
	asked := map[string]int{}
	l.handler = routes.Handlers{routes.Link: New(Config{Runs: l.fakeRuns, Key: l.key,
		Audit: slog.New(slog.DiscardHandler),
		Enter: func(who, _ string) (func(), time.Duration, bool) {
			asked[who]++
			return func() {}, 1500 * time.Millisecond, asked[who] < 2
		}, now: func() time.Time { return time.Unix(1_000, 0) }})}
	for path, first := range map[string]int{l.link("d", api.DecisionDeny, 2_000): http.StatusOK,
		approvallink.Path + "x.y": http.StatusNotFound} {
		if w := l.send(http.MethodGet, path, nil); w.Code != first {
			t.Errorf("first: %d %s", w.Code, w.Body)
		}
		if w := l.send(http.MethodPost, path, nil); w.Code != http.StatusTooManyRequests ||
			w.Header().Get("Retry-After") != "2" {
			t.Errorf("then: %d %s", w.Code, w.Body)
		}
	}
	if len(l.decisions) != 0 || asked["link:run\x001.1"] != 2 || asked["192.0.2.1"] != 2 {
		t.Errorf("asked %v, decided %+v", asked, l.decisions)
	}
}

// The page has all that is approved: also arguments that the text of the approval does not have, or
// has only in part, and no character that hides or reorders others.
func TestLink_ShowsTheWholeCall(t *testing.T) {
	l := newLab(t)
	path := l.link("d", api.DecisionApprove, 2_000)
	l.arguments = json.RawMessage(`{"to":"a\u202eb","texts":["` + strings.Repeat("x", 20_000) +
		`","the end"],"extra":"more"}`)
	page := l.send(http.MethodGet, path, nil).Body.String()
	for _, want := range []string{"a\uFFFDb", "the end", "<dt>extra</dt>", "pay 5"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	l.arguments = json.RawMessage(`{"text":"` + strings.Repeat("x", maxArguments) + `"}`)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		w := l.send(method, path, nil)
		if page := w.Body.String(); w.Code != http.StatusRequestEntityTooLarge ||
			strings.Contains(page, "<button") || !strings.Contains(page, "Decide in the console") ||
			len(l.decisions) != 0 {
			t.Errorf("%s: a call is approved that is not shown: %d", method, w.Code)
		}
	}
	if page := l.send(http.MethodGet, l.link("d", api.DecisionDeny, 2_000), nil).Body.String(); !strings.Contains(
		page, "<button") {
		t.Error("a large call cannot be denied")
	}
}

// A reason that is not read must not be dropped.
func TestLink_RefusesALargeForm(t *testing.T) {
	l := newLab(t)
	w := l.send(http.MethodPost, l.link("d", api.DecisionDeny, 2_000),
		url.Values{"reason": {strings.Repeat("x", maxForm)}})
	if w.Code != http.StatusRequestEntityTooLarge || len(l.decisions) != 0 {
		t.Errorf("%d, %d decisions", w.Code, len(l.decisions))
	}
}

func TestLink_RefusesOtherForms(t *testing.T) {
	l := newLab(t)
	r := httptest.NewRequest(http.MethodPost, l.link("d", api.DecisionDeny, 2_000),
		strings.NewReader(`{"reason":"no"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	if w.Code != http.StatusUnsupportedMediaType || len(l.decisions) != 0 {
		t.Errorf("%d, %d decisions", w.Code, len(l.decisions))
	}
}
