package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// inSession makes the spec of a tool that uses the session of its run.
func inSession(s *toolspecs.Spec) {
	toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) { e.Session = toolspecs.SessionRun })
}

func inSessionOnce(s *toolspecs.Spec) {
	inSession(s)
	s.Execution.Effect = api.EffectOnce
}

// runSession is the session of one run.
type runSession struct {
	executor.Instance
	t *testing.T
	b *mcpBench
}

func (b *mcpBench) session(t *testing.T) *runSession {
	t.Helper()
	i, err := b.StartInstance(t.Context(), b.spec("echo", inSession), executor.InstanceInfo{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Value.(*session).Close() })
	return &runSession{i, t, b}
}

// call makes a call; change completes its spec.
func (s *runSession) call(ctx context.Context, tool, args string,
	change func(*toolspecs.Spec)) (string, *api.Error) {
	s.t.Helper()
	spec := s.b.spec(tool, change)
	answer, err := s.Call(ctx, spec, json.RawMessage(args))
	if err != nil {
		return "", executor.CallError(ctx, err, spec)
	}
	return jsonvalue.Plain(answer.Output), nil
}

func (s *runSession) count() string {
	s.t.Helper()
	text, e := s.call(s.t.Context(), "count", `{}`, inSession)
	if e != nil {
		s.t.Fatal(e)
	}
	return text
}

func TestSession_KeepsTheStateOfItsRun(t *testing.T) {
	b := stdioBench(t)
	first, second := b.session(t), b.session(t)
	got := strings.Join([]string{first.count(), first.count(), second.count(), first.count()}, " ")
	if got != "1 2 1 3" {
		t.Errorf("the servers count %s", got)
	}
	if text, e := first.call(t.Context(), "echo", `{"text":"x"}`, inSession); e != nil || text != "x" {
		t.Errorf("another tool of the session: %q, %v", text, e)
	}
	if _, err := b.Execute(t.Context(), b.spec("count", inSession), nil); !errors.Is(err,
		&api.Error{Type: api.ErrExecutorNotFound}) {
		t.Errorf("a call without its session: %v", err)
	}
}

const lostBecause = "the session with its MCP server was lost: "

// gone checks that a session is lost: its host knows why, and no call is sent any more.
func (s *runSession) gone(why string) {
	s.t.Helper()
	reason := expect.WithoutCoverage(expect.Receive(s.t, "the loss", s.Lost).Error())
	if reason != lostBecause+why {
		s.t.Errorf("the session was lost because of %q, want %q", reason, why)
	}
	for range 2 {
		_, e := s.call(s.t.Context(), "count", `{}`, inSessionOnce)
		if e == nil || e.Type != api.ErrWorkerLost || !e.NotStarted || !e.Retryable ||
			expect.WithoutCoverage(e.Message) != lostBecause+why+"; nothing was called" {
			s.t.Errorf("a call after the loss: %v", e)
		}
	}
}

func TestSession_LosesItsStateWithItsServer(t *testing.T) {
	b := stdioBench(t)
	for _, test := range []struct {
		change    func(*toolspecs.Spec)
		want      api.ErrorType
		retryable bool
	}{
		{inSession, api.ErrExecution, true},
		{inSessionOnce, api.ErrOutcomeUnknown, false},
	} {
		s := b.session(t)
		s.count()
		_, e := s.call(t.Context(), "die", `{}`, test.change)
		if e == nil || e.Type != test.want || e.Retryable != test.retryable ||
			expect.WithoutCoverage(e.Message) != "the connection to the MCP server was lost during tools/call: the server ended with exit code 7; it wrote to standard error: out of cheese" {
			t.Errorf("the call in flight: %v", e)
		}
		s.gone("the server ended with exit code 7; it wrote to standard error: out of cheese")
	}
}

// A server that is lost between two calls takes the session with it.
func TestSession_NoticesTheEndOfItsServer(t *testing.T) {
	s := stdioBench(t).session(t)
	s.count()
	s.Value.(*session).conn.conn.Close()
	s.gone("it was closed")
}

// A server that hangs after a call's timeout is ended, and the session with it.
func TestSession_LosesItsStateWithAStalledServer(t *testing.T) {
	s := stdioBench(t).session(t)
	s.count() // starting the server may take longer than the timeout
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, executor.ErrTimeout)
	defer cancel()
	if _, e := s.call(ctx, "stall", `{}`, inSession); e == nil || e.Type != api.ErrTimeout {
		t.Errorf("got %v", e)
	}
	s.gone("the server did not respond within 3s after a call was cancelled")
}

// A connection on which no call was sent has no state to lose.
func TestSession_ReconnectsBeforeItsFirstCall(t *testing.T) {
	b := stdioBench(t)
	s := b.session(t)
	changed := func(s *toolspecs.Spec) {
		inSession(s)
		toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) { e.Pin = "sha256:0" })
	}
	if _, e := s.call(t.Context(), "count", `{}`, changed); e == nil ||
		e.Type != api.ErrPreconditionFailed {
		t.Fatalf("got %v", e)
	}
	s.Value.(*session).conn.conn.Close()
	if got := s.count(); got != "1" {
		t.Errorf("the server counts %s", got)
	}
}

// A call that is about to use a replaced connection does not mark the new one as used.
func TestSession_CountsACallForItsOwnConnection(t *testing.T) {
	b := stdioBench(t)
	s := b.session(t).Value.(*session)
	open := func() *sessionConn {
		t.Helper()
		c, err := s.connection(t.Context(), b.spec("count", inSession))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := open()
	first.close()
	second := open()
	s.sends(first)
	second.close()
	third := open()
	s.sends(third)
	third.close()
	if _, err := s.connection(t.Context(), b.spec("count", inSession)); !errors.Is(err,
		&api.Error{Type: api.ErrWorkerLost}) {
		t.Errorf("after the loss of a connection with state: %v", err)
	}
}

// restarting is an HTTP server that forgets its sessions when it restarts.
func restarting(t *testing.T, handler func() http.Handler) (b *mcpBench, restart func()) {
	t.Helper()
	var current atomic.Pointer[http.Handler]
	restart = func() {
		h := handler()
		current.Store(&h)
	}
	restart()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*current.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return newMCPBench(t, toolspecs.MCPEntry{URL: server.URL, Allow: []string{"127.0.0.1"}},
		Options{}), restart
}

func TestSession_IsLostIfTheServerForgetsIt(t *testing.T) {
	b, restart := restarting(t, func() http.Handler {
		return mcpserver.Handler(mcpserver.New(mcpserver.Good))
	})
	s := b.session(t)
	s.count()
	restart()
	_, e := s.call(t.Context(), "count", `{}`, inSessionOnce)
	if e == nil || e.Type != api.ErrWorkerLost || !e.NotStarted {
		t.Errorf("got %v", e)
	}
	s.gone("the MCP server answered tools/call with HTTP status 404: session not found")
}

// A server that issues no session id keeps no state for a connection.
func TestSession_OutlivesRestartsOfServersWithoutSessions(t *testing.T) {
	b, restart := restarting(t, func() http.Handler {
		server := mcpserver.New(mcpserver.Good)
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: true})
	})
	s := b.session(t)
	for range 2 {
		if got := s.count(); got != "1" {
			t.Errorf("the server counts %s", got)
		}
		restart()
	}
}

// A server that cannot be reached fails its calls, which connect again.
func TestSession_ConnectsWithItsCalls(t *testing.T) {
	b := stdioBench(t)
	s := b.session(t)
	absent := func(s *toolspecs.Spec) {
		inSession(s)
		toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) {
			e.Argv = []string{"no-such-program-here"}
		})
	}
	if _, e := s.call(t.Context(), "count", `{}`, absent); e == nil ||
		e.Type != api.ErrExecutorNotFound || !e.NotStarted {
		t.Errorf("got %v", e)
	}
	if got := s.count(); got != "1" {
		t.Errorf("the server counts %s", got)
	}
	if err := s.Value.(*session).Close(); err != nil {
		t.Error(err)
	}
	if _, e := s.call(t.Context(), "count", `{}`, inSession); e == nil ||
		e.Type != api.ErrPreconditionFailed || !e.NotStarted {
		t.Errorf("a call of a closed session: %v", e)
	}
}
