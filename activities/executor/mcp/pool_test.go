package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/toolspecs"
)

// A failure of the connection becomes an error of the closed set, by what may have happened and by
// the effect of the tool.
func TestMCPErrors_DependOnWhatMayHaveHappened(t *testing.T) {
	refused := func(status, code int) error {
		return &mcpclient.Refused{Status: status, Code: code, Message: "no",
			Header: http.Header{"Retry-After": {"7"}}}
	}
	cause := errors.New("connection reset")
	tests := []struct {
		name      string
		err       error
		effect    api.Effect
		want      api.ErrorType
		retryable bool
	}{
		{"lost before it was sent", &mcpclient.Lost{Err: cause}, api.EffectOnce,
			api.ErrPreconditionFailed, true},
		{"session unknown before it was sent", &mcpclient.Lost{Err: refused(404, 0)},
			api.EffectOnce, api.ErrPreconditionFailed, true},
		{"lost", &mcpclient.Lost{Sent: true, Err: cause}, api.EffectIdempotent, api.ErrExecution,
			true},
		{"lost, once", &mcpclient.Lost{Sent: true, Err: cause}, api.EffectOnce,
			api.ErrOutcomeUnknown, false},
		{"no answer", &mcpclient.Fault{Reason: "talks nonsense"}, api.EffectRead,
			api.ErrInvalidOutput, false},
		{"no answer, once", &mcpclient.Fault{Reason: "talks nonsense"}, api.EffectOnce,
			api.ErrOutcomeUnknown, false},
		{"arguments", refused(0, -32602), api.EffectRead, api.ErrValidation, false},
		{"login", refused(401, 0), api.EffectRead, api.ErrPreconditionFailed, false},
		{"forbidden", refused(403, 0), api.EffectRead, api.ErrPreconditionFailed, false},
		{"busy", refused(429, 0), api.EffectRead, api.ErrExecution, true},
		{"broken", refused(500, 0), api.EffectRead, api.ErrExecution, true},
		{"gateway", refused(502, 0), api.EffectRead, api.ErrExecution, true},
		{"gateway, once", refused(504, 0), api.EffectOnce, api.ErrOutcomeUnknown, false},
		{"gateway, idempotent", refused(504, 0), api.EffectIdempotent, api.ErrExecution, true},
		{"broken, once", refused(500, 0), api.EffectOnce, api.ErrOutcomeUnknown, false},
		{"unavailable, once", refused(503, 0), api.EffectOnce, api.ErrOutcomeUnknown, false},
		{"busy, once", refused(429, 0), api.EffectOnce, api.ErrExecution, true},
		{"not found, once", refused(404, -32603), api.EffectOnce, api.ErrExecution, false},
		{"internal error, once", refused(0, -32603), api.EffectOnce, api.ErrOutcomeUnknown, false},
		{"internal error", refused(0, -32603), api.EffectRead, api.ErrExecution, false},
		{"timed out behind a proxy, once", refused(0, -32001), api.EffectOnce,
			api.ErrOutcomeUnknown, false},
		{"the first of a server's codes, once", refused(0, -32099), api.EffectOnce,
			api.ErrOutcomeUnknown, false},
		{"no such method, once", refused(0, -32601), api.EffectOnce, api.ErrExecution, false},
		{"an application's code, once", refused(0, 42), api.EffectOnce, api.ErrExecution, false},
		{"see other, once", refused(303, 0), api.EffectOnce, api.ErrOutcomeUnknown, false},
		{"moved, once", refused(308, 0), api.EffectOnce, api.ErrExecution, false},
		{"its own", api.Errorf(api.ErrPolicyViolation, "no"), api.EffectRead,
			api.ErrPolicyViolation, false},
		{"list: lost", executor.NotStarted(notListed(&mcpclient.Lost{Sent: true, Err: cause})),
			api.EffectOnce, api.ErrPreconditionFailed, true},
		{"list: session unknown", executor.NotStarted(&mcpclient.Lost{Err: refused(404, 0)}),
			api.EffectOnce, api.ErrPreconditionFailed, true},
		{"list: unavailable", executor.NotStarted(refused(503, 0)), api.EffectOnce,
			api.ErrPreconditionFailed, true},
		{"list: gateway", executor.NotStarted(refused(504, 0)), api.EffectOnce,
			api.ErrPreconditionFailed, true},
		{"list: busy", executor.NotStarted(refused(429, 0)), api.EffectRead,
			api.ErrPreconditionFailed, true},
		{"list: login", executor.NotStarted(refused(401, 0)), api.EffectOnce,
			api.ErrPreconditionFailed, false},
		{"list: internal error", executor.NotStarted(refused(0, -32603)), api.EffectOnce,
			api.ErrPreconditionFailed, false},
		{"list: parameters", executor.NotStarted(refused(0, -32602)), api.EffectOnce,
			api.ErrPreconditionFailed, false},
		{"list: fault", executor.NotStarted(&mcpclient.Fault{Reason: "has too many tools"}),
			api.EffectOnce, api.ErrInvalidOutput, false},
		{"list: its own", executor.NotStarted(api.Errorf(api.ErrPolicyViolation, "no")),
			api.EffectOnce, api.ErrPolicyViolation, false},
	}
	for _, tt := range tests {
		spec := &toolspecs.Spec{Name: "probe",
			Execution: toolspecs.ExecutionSpec{Effect: tt.effect}}
		e := executor.CallError(t.Context(), mcpError(tt.err), spec)
		if e.Type != tt.want || e.Retryable != tt.retryable {
			t.Errorf("%s: got %v, retryable %v", tt.name, e, e.Retryable)
		}
		if e.NotStarted != (strings.HasSuffix(tt.name, "before it was sent") ||
			strings.HasPrefix(tt.name, "list: ")) {
			t.Errorf("%s: not started: %t", tt.name, e.NotStarted)
		}
		if strings.HasSuffix(tt.name, "busy") && e.RetryAfter != api.Duration(7*time.Second) {
			t.Errorf("the next attempt is after %s", e.RetryAfter)
		}
	}
	if err := notListed(&mcpclient.Lost{Sent: true, Err: cause}); api.AsError(mcpError(
		err)).Type != api.ErrPreconditionFailed {
		t.Errorf("a list that was lost is taken for a call: %v", err)
	}
	if err := notListed(cause); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// An image beside structured content is stored and noted.
func TestMCPStructuredContent_KeepsImages(t *testing.T) {
	b := stdioBench(t)
	a := b.mustCall(t, "chart", `{"count":10}`)
	if string(a.Output) != `{"points":3}` || len(a.Notes) != 1 || !strings.Contains(a.Notes[0],
		"image (image/png): 10 bytes, SHA-256") {
		t.Errorf("got %s, %q", a.Output, a.Notes)
	}
}

// Shared calls that may ask people have a connection each.
func TestMCPAsking_UsesSeparateConnections(t *testing.T) {
	b := stdioBench(t)
	execute := func(ctx context.Context, tool string) (executor.Answer, error) {
		spec := b.spec(tool, edited(func(e *toolspecs.MCPEntry) {
			e.AnswerWithin = api.Duration(time.Hour)
		}))
		return b.Execute(ctx, spec, json.RawMessage(`{"count":1,"text":"wait"}`))
	}
	over := errors.New("over")
	busy, end := context.WithCancelCause(t.Context())
	started := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := execute(callcontext.WithProgress(busy,
			func(api.Progress) { started <- struct{}{} }),
			"progress")
		ended <- err
	}()
	<-started
	if a, err := execute(t.Context(), "echo"); err != nil || string(a.Output) != `"wait"` {
		t.Errorf("a call beside another one: %s, %v", a.Output, err)
	}
	end(over)
	if err := <-ended; !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
}

// Connections that are being opened are closed.
func TestMCPClosed_OpensNoConnections(t *testing.T) {
	m := New(Options{})
	hanging := &toolspecs.Spec{Name: "probe",
		Entry: toolspecs.Entry{Kind: toolspecs.MCPEntry{Argv: mcpserver.Argv(mcpserver.Hang),
			Session: toolspecs.SessionShared}}}
	failed := make(chan error, 1)
	go func() {
		_, err := m.Execute(t.Context(), hanging, nil)
		failed <- err
	}()
	expect.Eventually(t, "a connection to be made", func() bool {
		m.pool.mu.Lock()
		defer m.pool.mu.Unlock()
		return len(m.pool.conns) == 1
	})
	m.Close()
	if err := <-failed; err == nil {
		t.Error("a call of a closed pool succeeded")
	}
	if _, err := m.Execute(t.Context(), hanging, nil); err == nil || err.Error() != "precondition_failed: the worker is being stopped; nothing was called" {
		t.Errorf("got %v", err)
	}
}
