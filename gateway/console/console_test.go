package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
)

var everyPage = []string{"/console/inbox", "/console/call?run=run%2F1&call=2.1",
	"/console/call?run=run%2F1&call=1.1", "/console/question?run=run%2F1&question=3.1",
	"/console/runs", "/console/run?id=run%2F1", "/console/report", "/console/lanes",
	"/console/tools"}

func TestConsole_ShowsEveryPage(t *testing.T) {
	f := waitingRun()
	f.asks = []switchyard.Question{{WorkflowID: "run/1", Question: api.Question{ID: "3.1",
		Call: "3.1", Tool: "clerk_asks", Text: "How much?",
		Schema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)}}}
	f.runs = []switchyard.ListedRun{{WorkflowID: "run/1", Kind: history.RunAgent, Waits: true}}
	f.now = []audit.Running{{Kind: audit.KindStep, ID: "turn-2", State: audit.StateRunning,
		Live: &api.Live{Text: "I think"}}}
	c := consoleOf(t, f, approver)
	for _, path := range everyPage {
		w := get(c, path)
		page := w.Body.String()
		if w.Code != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
			t.Errorf("%s is answered with %d\n%s", path, w.Code, page)
		}
		for _, inline := range []string{"style=", "<style", "onclick", "javascript:"} {
			if strings.Contains(page, inline) {
				t.Errorf("%s has %s, which the content policy forbids", path, inline)
			}
		}
	}
	if w := get(c, "/console/"); w.Header().Get("Location") != "/console/inbox" {
		t.Errorf("the first address leads to %q", w.Header().Get("Location"))
	}
}

// The chart has calls that wait and model steps that run, on the page of earlier events neither.
func TestRun_DrawsWhatWaitsAndRuns(t *testing.T) {
	f := waitingRun()
	f.open[0].Approval = &api.Decided{Asked: asked}
	f.now = []audit.Running{{Kind: audit.KindStep, ID: "turn-2", State: audit.StateRunning}}
	c := consoleOf(t, f, approver)
	page := get(c, "/console/run?id=run%2F1").Body.String()
	for _, want := range []string{`<svg class="chart"`, "1.1 lookup: runs, &#43;1 s to &#43;3 s",
		"2.1 refund: waits for approval", "turn 2: model step"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	page = get(c, "/console/run?id=run%2F1&before=3").Body.String()
	if !strings.Contains(page, "1.1 lookup: runs") || strings.Contains(page, "2.1 refund: waits") ||
		strings.Contains(page, "turn 2: model step") {
		t.Errorf("earlier events are drawn with what runs now")
	}
}

func TestInbox_HasWhatADecisionNeeds(t *testing.T) {
	page := get(consoleOf(t, waitingRun(), approver), "/console/inbox").Body.String()
	for _, want := range []string{"refund", "money leaves", "ask-money", "private", "bob", "clerk",
		"give ada her money back", "<b>lookup</b> <code>", "&#34;name&#34;: &#34;ada&#34;", "</code> completed",
		"<q>{ &#34;owed&#34;: 100 }</q>", "She is owed it.", "digest-1", "min",
		`<dt>amount</dt><dd><span class="text">100</span>`, `name="csrf" value="token"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the inbox does not have %q", want)
		}
	}
}

func TestDecide_SendsWhatWasDecided(t *testing.T) {
	form := []string{"run", "run/1", "call", "2.1", "digest", "digest-1", "reason", "fine"}
	for name, tt := range map[string]struct {
		more []string
		want switchyard.Decision
	}{
		"approve": {[]string{"decision", "approve"}, switchyard.Decision{Kind: "approve"}},
		"deny":    {[]string{"decision", "deny"}, switchyard.Decision{Kind: "deny"}},
		"edit": {[]string{"decision", "edit", "f.to", "ada", "f.amount", "80"},
			switchyard.Decision{Kind: "edit", Arguments: json.RawMessage(`{"amount":80}`)}},
		"edit without changes": {[]string{"decision", "edit", "f.to", "ada", "f.amount", "100"},
			switchyard.Decision{Kind: "approve"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := waitingRun()
			w := post(consoleOf(t, f, approver), "/console/call", append(form, tt.more...)...)
			if w.Code != http.StatusSeeOther || len(f.decisions) != 1 {
				t.Fatalf("the form is answered with %d\n%s", w.Code, w.Body)
			}
			got := f.decisions[0]
			if got.Kind != tt.want.Kind || string(got.Arguments) != string(tt.want.Arguments) ||
				got.By != "eve" || got.Auth != api.AuthKey || got.Digest != "digest-1" ||
				got.Reason != "fine" || len(got.Roles) != 3 {
				t.Errorf("the decision is %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestDecide_GrantsMoreToARunAtALimit(t *testing.T) {
	f := waitingRun()
	f.calls[0].Limit, f.calls[0].Call = "calls", "limit"
	c := consoleOf(t, f, approver)
	form := []string{"run", "run/1", "call", "limit", "digest", "digest-1", "decision", "grant"}
	if w := post(c, "/console/call", append(form, "f.calls", "20", "f.wall_time",
		"soon")...); w.Code != http.StatusUnprocessableEntity || len(f.decisions) != 0 {
		t.Fatalf("a wrong amount is answered with %d", w.Code)
	}
	w := post(c, "/console/call", append(form, "f.calls", "20", "f.cost", "1.5")...)
	if w.Code != http.StatusSeeOther || len(f.decisions) != 1 ||
		*f.decisions[0].Grant != (api.Grant{Calls: 20, Cost: 1.5}) {
		t.Errorf("the form is answered with %d, decisions %+v", w.Code, f.decisions)
	}
}

// refusals of a run, and what the person is shown.
func TestDecide_ShowsWhyADecisionDidNotCount(t *testing.T) {
	form := []string{"run", "run/1", "call", "2.1", "digest", "digest-1", "decision", "edit",
		"f.to", "ada", "f.amount", "-5"}
	for name, tt := range map[string]struct {
		refusal error
		decided bool
		status  int
		has     []string
	}{
		"unfit": {&api.ReplyError{Type: api.DecisionUnfit, Message: "the edit is refused",
			Problems: []api.Problem{{Path: "$.amount", Message: "must be above 0"},
				{Message: "too many"}}}, false, http.StatusUnprocessableEntity,
			[]string{"must be above 0", "too many", `value="-5"`, `aria-invalid="true"`}},
		"decided by another": {&api.ReplyError{Type: api.DecisionClosed,
			Message: "the call was decided"}, true, http.StatusConflict,
			[]string{"The call was decided.", "denied by mia: wrong account"}},
		"own call": {&api.ReplyError{Type: api.DecisionOwnCall, Message: "eve is the caller"},
			false, http.StatusConflict, []string{"Your decision does not count: eve is the caller."}},
		"ended": {&switchyard.RequestError{Type: switchyard.RunEnded,
			Message: "the run has already ended"}, true, http.StatusConflict,
			[]string{"The run has already ended."}},
		"no worker": {&switchyard.RequestError{Type: switchyard.RunUnanswered,
			Message: "no worker answered"}, false, http.StatusGatewayTimeout,
			[]string{"No worker answered."}},
		"no server": {errors.New("dial tcp"), false, http.StatusServiceUnavailable,
			[]string{"Temporal cannot be reached"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := waitingRun()
			f.refusal = tt.refusal
			c := consoleOf(t, f, approver)
			f.decided = func() {
				if tt.decided { // meanwhile
					f.denied("mia", "wrong account")
				}
			}
			w := post(c, "/console/call", form...)
			if w.Code != tt.status {
				t.Errorf("the form is answered with %d, want %d", w.Code, tt.status)
			}
			for _, want := range tt.has {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("the page does not have %q", want)
				}
			}
		})
	}
}

func TestDecide_ShowsWhatOthersHaveDecided(t *testing.T) {
	f := waitingRun()
	f.denied("mia", "wrong account")
	w := post(consoleOf(t, f, approver), "/console/call", "run", "run/1", "call", "2.1", "digest",
		"digest-1", "decision", "approve")
	page := w.Body.String()
	if w.Code != http.StatusConflict || len(f.decisions) != 0 ||
		!strings.Contains(page, "denied by mia: wrong account") {
		t.Errorf("a late decision is answered with %d\n%s", w.Code, page)
	}
}

func TestAnswer_ReadsTheForm(t *testing.T) {
	f := waitingRun()
	f.calls = nil
	f.asks = []switchyard.Question{{WorkflowID: "run/1", Question: api.Question{ID: "3.1",
		Call: "3.1", Schema: json.RawMessage(`{"type":"integer"}`)}}}
	c := consoleOf(t, f, approver)
	form := []string{"run", "run/1", "question", "3.1", "decision", "answer"}
	if w := post(c, "/console/question", append(form, "f.value", "lots")...); w.Code !=
		http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "enter a number") {
		t.Errorf("a wrong answer is answered with %d", w.Code)
	}
	w := post(c, "/console/question", append(form, "f.value", "12")...)
	if w.Code != http.StatusSeeOther || string(f.replies[0].Value) != "12" ||
		f.replies[0].By != "eve" {
		t.Errorf("the answer is answered with %d: %+v", w.Code, f.replies)
	}
	f.asks = nil
	if w := post(c, "/console/question", append(form, "f.value", "12")...); w.Code !=
		http.StatusConflict || !strings.Contains(w.Body.String(), "no longer open") {
		t.Errorf("a late answer is answered with %d", w.Code)
	}
}

func TestRoles_AllowNoMoreThanTheySay(t *testing.T) {
	nobody := Principal{Name: "eve"}
	viewer := Principal{Name: "eve", Roles: []api.UserRole{api.RoleViewer}}
	f := waitingRun()
	if w := get(consoleOf(t, f, nobody), "/console/inbox"); w.Code != http.StatusForbidden {
		t.Errorf("somebody without a role sees the inbox: %d", w.Code)
	}
	c := consoleOf(t, f, viewer)
	if page := get(c, "/console/inbox").Body.String(); strings.Contains(page, "<button class") {
		t.Error("a viewer is offered decisions")
	}
	for path, form := range map[string][]string{
		"/console/call": {"run", "run/1", "call", "2.1", "digest", "digest-1", "decision",
			"approve"},
		"/console/question": {"run", "run/1", "question", "3.1"},
		"/console/run":      {"id", "run/1", "action", "cancel"},
	} {
		if w := post(c, path, form...); w.Code != http.StatusForbidden {
			t.Errorf("a viewer may post to %s: %d", path, w.Code)
		}
	}
	if len(f.decisions)+len(f.controls)+len(f.replies) != 0 {
		t.Error("a viewer has changed a run")
	}
}

func TestControl_ReachesTheRun(t *testing.T) {
	f := waitingRun()
	c := consoleOf(t, f, approver)
	for _, action := range []string{"pause", "resume", "cancel"} {
		w := post(c, "/console/run", "id", "run/1", "action", action, "reason", "lunch")
		if w.Code != http.StatusSeeOther {
			t.Errorf("%s is answered with %d", action, w.Code)
		}
	}
	want := "pause by eve: lunch,resume by eve: lunch,cancel by eve: lunch"
	if got := strings.Join(f.controls, ","); got != want {
		t.Errorf("the run was asked for %q, want %q", got, want)
	}
	post(c, "/console/run", "id", "run/1", "action", "send", "text", "a\r\nb")
	if len(f.sent) != 1 || f.sent[0].Text != "a\nb" || f.sent[0].By != "eve" {
		t.Errorf("the messages are %+v", f.sent)
	}
	f.refusal = &switchyard.RequestError{Type: switchyard.RequestRefused,
		Message: "the run is already paused"}
	w := post(c, "/console/run", "id", "run/1", "action", "pause")
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(),
		"The run is already paused.") {
		t.Errorf("a refused pause is answered with %d", w.Code)
	}
}

// Output of tools, models and people must neither become markup nor fill the page.
func TestPages_ShowHostileTextsAsText(t *testing.T) {
	f := waitingRun()
	evil := `</pre><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u202e\x1b[31m\x00"
	long, _ := json.Marshal(evil + strings.Repeat("x", 3<<20))
	f.run.Prompt, f.run.Name = evil, evil
	f.calls[0].Tool, f.calls[0].Reason, f.calls[0].Text = evil, evil, evil
	f.open[0].Arguments = json.RawMessage(`{"to":` + string(long) + `}`)
	f.events[1].Record.Result.Output = long
	f.events = append(f.events, api.Event{Type: api.EventMessageSent,
		Sent: &api.Sent{By: evil, Text: evil}}, api.Event{Type: api.EventToolFailed,
		Record: &api.Record{Tool: evil, Error: &api.Error{Message: evil}}})
	f.runs = []switchyard.ListedRun{{WorkflowID: evil, Agent: evil, Caller: evil}}
	c := consoleOf(t, f, approver)
	for _, path := range []string{"/console/inbox", "/console/run?id=run%2F1", "/console/runs",
		"/console/call?run=run%2F1&call=2.1", "/console/inbox?seal=&done=" +
			"%3Cscript%3Ealert(1)%3C/script%3E"} {
		page := get(c, path).Body.String()
		for _, bad := range []string{"<script>alert", "<img", "\x1b", "\x00", "\u202e"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if limit := 200 << 10; len(page) > limit && !strings.Contains(path, "/call?") {
			t.Errorf("%s has %d bytes", path, len(page))
		}
	}
	w := get(c, "/console/run/result?id=run%2F1&call=1.1")
	if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
		w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Body.Len() < 3<<20 {
		t.Errorf("the whole result has %d bytes, %v", w.Body.Len(), w.Header())
	}
}

func TestInbox_SaysThatTemporalIsAway(t *testing.T) {
	f := waitingRun()
	c := consoleOf(t, f, approver)
	get(c, "/console/inbox")
	f.mu.Lock()
	f.err = errors.New("unavailable")
	f.mu.Unlock()
	c.inbox.kick()
	page := get(c, "/console/inbox").Body.String()
	if !strings.Contains(page, "Temporal cannot be reached since") ||
		!strings.Contains(page, "refund") {
		t.Errorf("the page does not say so with the last list:\n%s", page)
	}
	if w := get(c, "/console/run?id=run%2F1"); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), "data-away") {
		t.Errorf("the page of a run is answered with %d", w.Code)
	}
	f.mu.Lock()
	f.err = nil
	f.mu.Unlock()
	c.inbox.kick()
	if page := get(c, "/console/inbox").Body.String(); strings.Contains(page, "cannot be reached") {
		t.Error("the page does not recover")
	}
}

func TestRun_IsReadOnceForManyBrowsers(t *testing.T) {
	f := waitingRun()
	c := consoleOf(t, f, approver)
	for range 5 {
		get(c, "/console/run?id=run%2F1")
	}
	if f.reads != 1 {
		t.Errorf("the history was read %d times", f.reads)
	}
	for i := range 3 * maxEvents {
		f.events = append(f.events, api.Event{Type: api.EventMessageSent, Sequence: i,
			Sent: &api.Sent{By: "ada", Text: "hello"}})
	}
	v, err := readRun(t.Context(), f, runRef{}, 0)
	if err != nil || len(v.Items) != maxEvents || v.First != 204 || v.All != 303 {
		t.Errorf("the newest page has %d events from %d of %d, %v", len(v.Items), v.First, v.All,
			err)
	}
	v, err = readRun(t.Context(), f, runRef{}, v.First)
	if err != nil || v.First != 104 || v.Last != 203 {
		t.Errorf("the page before has the events %d to %d, %v", v.First, v.Last, err)
	}
}

func TestRuns_AreFilteredAndPaged(t *testing.T) {
	f := waitingRun()
	f.next = []byte("token")
	c := consoleOf(t, f, approver)
	page := get(c, "/console/runs?agent=clerk&status=failed&since=2026-01-31")
	if !strings.Contains(page.Body.String(), "page=dG9rZW4") {
		t.Error("there is no next page")
	}
	q := f.queries[0]
	if q.Agent != "clerk" || q.Status != history.RunFailed ||
		!q.Since.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the query is %+v", q)
	}
	if w := get(c, "/console/runs?since=yesterday"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a wrong time is answered with %d", w.Code)
	}
}
