package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// confirmation returns what the page after a form confirms.
func confirmation(t *testing.T, c *Console, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the form is answered with %d\n%s", w.Code, w.Body)
	}
	return noticeOf(get(c, w.Header().Get("Location")).Body.String())
}

// noticeOf returns the confirmation of a page; empty for none.
func noticeOf(page string) string {
	_, status, _ := strings.Cut(page, `<div id="status" role="status">`)
	status, _, _ = strings.Cut(status, "</div>")
	_, text, _ := strings.Cut(status, ">")
	text, _, _ = strings.Cut(text, "</p>")
	return text
}

func TestNotice_ConfirmsWhatWasRecorded(t *testing.T) {
	call := []string{"run", "run/1", "call", "2.1", "digest", "digest-1", "decision"}
	for name, tt := range map[string]struct {
		limit bool
		path  string
		form  []string
		want  string
	}{
		"approve": {false, "/console/call", append(call, "approve"),
			"The call of refund, 2.1 of run run/1, is approved."},
		"deny": {false, "/console/call", append(call, "deny"),
			"The call of refund, 2.1 of run run/1, is denied."},
		"edit": {false, "/console/call", append(call, "edit", "f.to", "ada", "f.amount", "80"),
			"The call of refund, 2.1 of run run/1, is approved with changed arguments."},
		"edit without changes": {false, "/console/call",
			append(call, "edit", "f.to", "ada", "f.amount", "100"),
			"The call of refund, 2.1 of run run/1, is approved."},
		"grant": {true, "/console/call", append(call, "grant", "f.calls", "5"),
			"Run run/1 may use more."},
		"pause": {false, "/console/run", []string{"id", "run/1", "action", "pause"},
			"Run run/1 is paused."},
	} {
		t.Run(name, func(t *testing.T) {
			f := waitingRun()
			if tt.limit {
				f.calls[0].Limit = "calls"
			}
			c := consoleOf(t, f, approver)
			if got := confirmation(t, c, post(c, tt.path, tt.form...)); got != tt.want {
				t.Errorf("the page confirms %q, want %q", got, tt.want)
			}
		})
	}
}

// The address of a confirmation works in the session that sent the form, and for nothing else.
func TestNotice_CannotBeForged(t *testing.T) {
	f := waitingRun()
	other := approver
	other.CSRF = "another token"
	forged := consoleOf(t, f, other)
	c := consoleOf(t, f, approver)
	w := post(forged, "/console/call", "run", "run/1", "call", "2.1", "digest", "digest-1",
		"decision", "deny")
	for name, path := range map[string]string{
		"no seal":         "/console/inbox?done=Denied.",
		"an empty seal":   "/console/inbox?done=Denied.&seal=",
		"another session": w.Header().Get("Location"),
		"another call": strings.Replace(post(c, "/console/call", "run", "run/1", "call", "2.1",
			"digest", "digest-1", "decision", "deny").Header().Get("Location"), "2.1", "2.2", 1),
	} {
		if got := noticeOf(get(c, path).Body.String()); got != "" {
			t.Errorf("%s: the page confirms %q", name, got)
		}
	}
}

// A page that answers a form must not be loaded again by itself: that sends the form again.
func TestDecide_DoesNotRepeatAFormWhenTemporalIsAway(t *testing.T) {
	f := waitingRun()
	f.err = errAway
	c := consoleOf(t, f, approver)
	w := post(c, "/console/call", "run", "run/1", "call", "2.1", "digest", "digest-1", "decision",
		"approve")
	page := w.Body.String()
	if w.Code != http.StatusServiceUnavailable || strings.Contains(page, "data-away") ||
		!strings.Contains(page, unsure) {
		t.Errorf("the form is answered with %d\n%s", w.Code, page)
	}
	if page := get(c, "/console/call?run=run%2F1&call=2.1").Body.String(); !strings.Contains(page,
		"data-away") {
		t.Error("the page of the call does not try again")
	}
}
