package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// The inbox approves only what it shows: padding one argument must not hide another.
func TestInbox_ApprovesOnlyWhatItShows(t *testing.T) {
	const approve, open = `value="approve"`, "Open to approve…"
	for name, change := range map[string]func(*fake){
		"large arguments": func(f *fake) {
			f.open[0].Arguments = json.RawMessage(`{"to":"` + strings.Repeat("x", maxShown) + `"}`)
		},
		"an unknown call": func(f *fake) { f.open = nil },
	} {
		f := waitingRun()
		change(f)
		page := get(consoleOf(t, f, approver), "/console/inbox").Body.String()
		if strings.Contains(page, approve) || !strings.Contains(page, open) ||
			!strings.Contains(page, `value="deny"`) {
			t.Errorf("%s: the inbox is\n%s", name, page)
		}
	}
	f := waitingRun()
	f.open = nil
	c := consoleOf(t, f, approver)
	const call = "/console/call?run=run%2F1&call=2.1"
	for _, path := range []string{call, call + "&edit=1"} {
		if page := get(c, path).Body.String(); strings.Contains(page, approve) ||
			strings.Contains(page, `value="edit"`) || !strings.Contains(page, `value="deny"`) {
			t.Errorf("%s approves an unknown call", path)
		}
	}
	for _, kind := range []string{"approve", "edit"} {
		w := post(c, "/console/call", "run", "run/1", "call", "2.1", "digest", "digest-1",
			"decision", kind)
		if w.Code != http.StatusUnprocessableEntity || len(f.decisions) != 0 {
			t.Errorf("%s of an unknown call: %d, %d decisions", kind, w.Code, len(f.decisions))
		}
	}
	page := get(consoleOf(t, waitingRun(), approver), "/console/inbox").Body.String()
	if !strings.Contains(page, approve) || strings.Contains(page, open) {
		t.Error("the inbox does not approve a call that it shows")
	}
}

// A form that was drawn for another version of the tool changes nothing.
func TestDecide_RefusesTheFormOfAnotherSchema(t *testing.T) {
	for _, entered := range [][]string{{"form", "0123"}, {"f.account", "bob"}} {
		f := waitingRun()
		w := post(consoleOf(t, f, approver), "/console/call", append([]string{"run", "run/1", "call",
			"2.1", "digest", "digest-1", "decision", "edit", "f.to", "bob"}, entered...)...)
		page := w.Body.String()
		if w.Code != http.StatusUnprocessableEntity || len(f.decisions) != 0 ||
			!strings.Contains(page, "The tool has changed since the form was shown.") ||
			!strings.Contains(page, `value="ada"`) || strings.Contains(page, `value="bob"`) {
			t.Errorf("%q: %d, %d decisions\n%s", entered, w.Code, len(f.decisions), page)
		}
	}
}

func TestDecide_DoesNotSendSecretsBack(t *testing.T) {
	f := waitingRun()
	w := post(consoleOf(t, f, approver), "/console/call", "run", "run/1", "call", "2.1", "digest",
		"digest-1", "decision", "edit", "f.to", "bob", "f.amount", "many", "f.pin", "planted-0815")
	if page := w.Body.String(); w.Code != http.StatusUnprocessableEntity ||
		strings.Contains(page, "planted-") || !strings.Contains(page, "enter it again") ||
		!strings.Contains(page, `value="bob"`) || !strings.Contains(page, `name="again.pin"`) {
		t.Errorf("%d\n%s", w.Code, page)
	}
	// What was entered before must not be dropped without a word.
	w = post(consoleOf(t, f, approver), "/console/call", "run", "run/1", "call", "2.1", "digest",
		"digest-1", "decision", "edit", "f.to", "bob", "f.amount", "7", "f.pin", "", "again.pin", "1")
	if w.Code != http.StatusUnprocessableEntity || len(f.decisions) != 0 {
		t.Errorf("without the pin: %d, %d decisions", w.Code, len(f.decisions))
	}
	page := get(consoleOf(t, f, approver), "/console/call?run=run%2F1&call=2.1&edit=1").Body.String()
	if strings.Contains(page, "enter it again") {
		t.Error("the form begins with a fault")
	}
}

func TestAnswer_DoesNotSendSecretsBack(t *testing.T) {
	f := waitingRun()
	f.asks = []switchyard.Question{{WorkflowID: "run/1", Question: api.Question{ID: "3.1",
		Call: "3.1", Tool: "clerk_asks", Text: "How much?", Schema: json.RawMessage(
			`{"type":"object","properties":{"sum":{"type":"integer"},"pw":{"type":"string","writeOnly":true}}}`)}}}
	w := post(consoleOf(t, f, approver), "/console/question", "run", "run/1", "question", "3.1",
		"decision", "answer", "f.sum", "much", "f.pw", "planted-0815")
	if page := w.Body.String(); w.Code != http.StatusUnprocessableEntity ||
		strings.Contains(page, "planted-") || !strings.Contains(page, "enter it again") {
		t.Errorf("%d\n%s", w.Code, page)
	}
}

func TestDecide_RefusesGrantsThatAreNoAmount(t *testing.T) {
	for _, cost := range []string{"NaN", "Inf", "-Inf", "1e999", "much"} {
		f := waitingRun()
		f.calls[0].Limit = "cost"
		w := post(consoleOf(t, f, approver), "/console/call", "run", "run/1", "call", "2.1",
			"digest", "digest-1", "decision", "grant", "f.cost", cost)
		if w.Code != http.StatusUnprocessableEntity || len(f.decisions) != 0 ||
			!strings.Contains(w.Body.String(), "nter a number") &&
				!strings.Contains(w.Body.String(), "Enter whole numbers") {
			t.Errorf("%s: %d, %d decisions", cost, w.Code, len(f.decisions))
		}
	}
}

// After an edit, the page of the call says what was asked for, and what was approved instead.
func TestCall_ShowsWhatAnEditChanged(t *testing.T) {
	f := waitingRun()
	f.calls = nil
	f.open[0].Status = api.CallCompleted
	f.open[0].Approval = &api.Decided{Decision: api.DecisionEdit, By: "eve", Reason: "half",
		Original: json.RawMessage(`{"amount":100,"pin":"***","to":"ada"}`),
		Edited:   json.RawMessage(`{"amount":50,"pin":"***","to":"ada"}`)}
	page := get(consoleOf(t, f, approver), "/console/call?run=run%2F1&call=2.1").Body.String()
	for _, want := range []string{"&#34;amount&#34;: 100", "&#34;amount&#34;: 50",
		"Sensitive values can have changed as well.", "approved with changed arguments by eve: half"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s:\n%s", want, page)
		}
	}
}

func TestAnswer_IsOpenToOperatorsAndApprovers(t *testing.T) {
	for role, want := range map[api.UserRole]int{api.RoleOperator: http.StatusSeeOther,
		api.RoleApprover: http.StatusSeeOther, api.RoleViewer: http.StatusForbidden} {
		f := waitingRun()
		f.asks = []switchyard.Question{{WorkflowID: "run/1", Question: api.Question{ID: "3.1",
			Call: "3.1", Tool: "clerk_asks", Text: "How much?",
			Schema: json.RawMessage(`{"type":"integer"}`)}}}
		c := consoleOf(t, f, Principal{Name: "eve", Roles: []api.UserRole{role}})
		w := post(c, "/console/question", "run", "run/1", "question", "3.1", "f.value", "3")
		offered := strings.Contains(get(c, "/console/question?run=run%2F1&question=3.1").Body.String(),
			"<button class")
		if w.Code != want || offered != (want == http.StatusSeeOther) {
			t.Errorf("%s: %d, offered: %v", role, w.Code, offered)
		}
	}
}

// Names that nothing can have are not found. The server would refuse them, which looked like an
// outage.
func TestPages_DoNotFindHiddenCharacters(t *testing.T) {
	f := waitingRun()
	f.err = errAway
	c := consoleOf(t, f, approver)
	for _, path := range []string{"/console/run?id=%0a", "/console/run/result?id=a&call=%00",
		"/console/call?run=%E2%80%AE&call=1", "/console/question?run=a&question=%C2%80",
		"/console/run?id=%C3%A9"} {
		if w := get(c, path); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(),
			"data-away") {
			t.Errorf("%s is answered with %d", path, w.Code)
		}
	}
}
