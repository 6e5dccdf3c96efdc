package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// What people decide, answer and control is logged with who did it, and so is what was refused and
// why. Texts that they enter are not.
func TestAudit_SaysWhoDidWhat(t *testing.T) {
	const run, call = "run/1", "2.1"
	decision := []string{"run", run, "call", call, "reason", "planted-reason", "digest", "digest-1"}
	viewer := Principal{Name: "vic", Auth: api.AuthOIDC, Roles: []api.UserRole{api.RoleViewer}}
	for _, tt := range []struct {
		name, path string
		who        Principal
		form       []string
		refusal    error
		closed     bool
		want       string
	}{
		{name: "a decision", form: []string{"decision", "deny"}, want: `msg=decision by=eve ` +
			`auth=api_key path=/console/call from=192.0.2.1:1234 decision=deny run=run/1 call=2.1`},
		{name: "a decision of a viewer", who: viewer, form: []string{"decision", "deny"},
			want: `msg="request refused" by=vic auth=oidc path=/console/call ` +
				`from=192.0.2.1:1234 reason=no_role`},
		{name: "the caller's own", form: []string{"decision", "approve"},
			refusal: &api.ReplyError{Type: api.DecisionOwnCall, Message: "planted-text"},
			want:    `msg="decision refused"`},
		{name: "somebody was faster", form: []string{"decision", "approve"}, closed: true,
			want: `decision=approve run=run/1 call=2.1 reason=closed`},
		{name: "an edit with faults", form: []string{"decision", "edit", "f.amount", "planted"},
			want: `decision=edit run=run/1 call=2.1 reason=invalid_form`},
		{name: "another word", form: []string{"decision", "planted"},
			refusal: &api.ReplyError{Type: api.ReplyMalformed},
			want:    `decision=unknown run=run/1 call=2.1 reason=reply_malformed`},
		{name: "without a server", form: []string{"decision", "deny"},
			refusal: errors.New("planted-address"), want: `reason=unreachable`},
		{name: "control", path: "/console/run", form: []string{"id", run, "action", "pause"},
			want: `msg=control by=eve auth=api_key path=/console/run from=192.0.2.1:1234 ` +
				`control=pause run=run/1`},
		{name: "control of an ended run", path: "/console/run",
			form:    []string{"id", run, "action", "cancel"},
			refusal: &switchyard.RequestError{Type: switchyard.RunEnded, Message: "planted-text"},
			want:    `msg="control refused"`},
		{name: "an answer to a closed question", path: "/console/question",
			form: []string{"run", run, "question", "3.1", "decision", "decline"},
			want: `msg="answer refused" by=eve auth=api_key path=/console/question ` +
				`from=192.0.2.1:1234 answer=decline run=run/1 question=3.1 reason=closed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, who, path, form := waitingRun(), approver, tt.path, tt.form
			f.refusal = tt.refusal
			if tt.closed {
				f.denied("mia", "no")
			}
			if tt.who.Name != "" {
				who = tt.who
			}
			if path == "" {
				path, form = "/console/call", append(form, decision...)
			}
			var log bytes.Buffer
			post(auditedConsole(t, f, who, &log), path, form...)
			if got := log.String(); !strings.Contains(got, tt.want) ||
				strings.Contains(got, "planted") || strings.Count(got, "\n") != 1 {
				t.Errorf("logged %s\nwant %s", got, tt.want)
			}
		})
	}
	var log bytes.Buffer
	r := httptest.NewRequest(http.MethodPost, "/console/call", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	routed(auditedConsole(t, waitingRun(), approver, &log)).ServeHTTP(httptest.NewRecorder(), r)
	if !strings.Contains(log.String(), "reason=cross_site") {
		t.Errorf("logged %s", &log)
	}
}
