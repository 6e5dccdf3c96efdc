package activities

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// guardedBench returns an executor and the toolspec of a tool behind a login, of a person who has
// logged in for the import.
func guardedBench(t *testing.T) (*mcpserver.Guarded, *mcp.Executor, *toolspecs.Spec) {
	t.Helper()
	g := mcpserver.NewGuarded(mcpserver.Good)
	t.Cleanup(g.Close)
	t.Cleanup(g.CloseClientConnections)
	entry := toolspecs.MCPEntry{URL: g.URL + "/mcp", Allow: []string{"127.0.0.1"},
		Tool: "echo",
		Auth: &outbound.Auth{Type: outbound.OAuth}, AnswerWithin: api.Duration(time.Minute),
		Session: toolspecs.SessionShared}
	c, err := mcpclient.Connect(t.Context(), entry.MCPServer(),
		mcpclient.Options{Login: mcpserver.Browse})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	remote, _, err := c.Tool(t.Context(), "echo")
	if err != nil {
		t.Fatal(err)
	}
	entry.Pin = remote.Digest()
	m := mcp.New(mcp.Options{Files: t.TempDir(), Logins: filepath.Join(t.TempDir(), "logins")})
	t.Cleanup(m.Close)
	return g, m, &toolspecs.Spec{Name: "echo", Version: "1.0.0", Entry: toolspecs.Entry{Kind: entry},
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectOnce, MaxResult: 1000}}
}

// unhurried gives a tool time for everything besides asking.
func unhurried(s *toolspecs.Spec) { s.Execution.Timeout = api.Duration(time.Minute) }

// logsIn is a person who opens the address of a question.
func logsIn(t *testing.T) func(api.Question) (api.Reply, error) {
	return func(q api.Question) (api.Reply, error) {
		text, address, _ := strings.Cut(q.Text, "\n")
		final, err := mcpserver.Browse(t.Context(), address)
		if err != nil || !strings.Contains(text, "wants a login") ||
			!strings.Contains(string(q.Schema), `"string"`) {
			t.Errorf("asked %+v: %v", q, err)
		}
		value, err := jsonvalue.Encode(final)
		return api.Reply{Question: "1.1/1", By: "ada", Value: value}, err
	}
}

// A call asks a person to log in, once for it and later ones. A decline ends the call before the
// tool is called. No token is in what the run receives.
func TestMCPLogin_AsksOnce(t *testing.T) {
	g, m, spec := guardedBench(t)
	b, run, compiled := askingBench(t, func(ctx context.Context) (executor.Answer, error) {
		return m.Execute(ctx, spec, json.RawMessage(`{"text":"in"}`))
	}, unhurried)
	declines := func(api.Question) (api.Reply, error) {
		return api.Reply{Question: "1.1/1", By: "ada", Decline: true, Reason: "not today"}, nil
	}
	run.replies = []func(api.Question) (api.Reply, error){declines, says(`17`), logsIn(t)}
	for _, want := range []struct {
		kind  api.ErrorType
		words string
	}{{api.ErrApprovalDenied, "declined by ada: not today"}, {api.ErrPreconditionFailed, "the answer to the question for a login is no text, so nothing was called"}} {
		_, err := b.execute(t, executionOf(compiled), nil)
		if e, _ := callError(t, err); e.Type != want.kind || e.Message != want.words {
			t.Errorf("got %v, want %s", err, want.kind)
		}
	}
	for range 2 {
		result, err := b.execute(t, executionOf(compiled), nil)
		if err != nil || string(result.Output) != `"in"` {
			t.Errorf("got %+v, %v", result, err)
		}
	}
	if len(run.posts) != 3 {
		t.Errorf("%d questions", len(run.posts))
	}
	posted, err := json.Marshal(run.posts)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range g.Secrets() {
		if strings.Contains(string(posted), secret) {
			t.Error("the questions hold a secret")
		}
	}
}

// The error of a tool without answer_within says what to do, and nothing is called.
func TestMCPLogin_NeedsAnswerWithin(t *testing.T) {
	_, m, spec := guardedBench(t)
	toolspecs.EditEntry(spec, func(e *toolspecs.MCPEntry) { e.AnswerWithin = 0 })
	want := "the MCP server " + spec.Entry.Common().Address + " requires a login, and nothing was called; log in with starter tools accept FILE, as the worker's user, or set entry.answer_within in the toolspec so that calls ask for it"
	_, err := m.Execute(t.Context(), spec, json.RawMessage(`{}`))
	if e := api.AsError(err); e == nil || e.Type != api.ErrPreconditionFailed || e.Retryable ||
		e.Message != want {
		t.Errorf("got %v", err)
	}
}

// Other calls of the run make their own login.
func TestMCPLogin_EndsWithItsCall(t *testing.T) {
	_, m, spec := guardedBench(t)
	toolspecs.EditEntry(spec, func(e *toolspecs.MCPEntry) { e.Session = toolspecs.SessionRun })
	session, err := m.StartInstance(t.Context(), spec, executor.InstanceInfo{Asks: true})
	if err != nil {
		t.Fatal(err)
	}
	asked, left := make(chan struct{}), make(chan struct{})
	first, abandon := context.WithCancel(callcontext.With(t.Context(),
		api.CallContext{Origin: api.Origin{Run: "r"}}))
	go func() {
		defer close(left)
		bench, run, compiled := askingBench(t, func(ctx context.Context) (executor.Answer, error) {
			within, cancel := context.WithCancel(callcontext.With(ctx,
				api.CallContext{Origin: api.Origin{Run: "r"}}))
			defer cancel()
			defer context.AfterFunc(first, cancel)()
			return session.Call(within, spec, json.RawMessage(`{"text":"first"}`))
		}, unhurried)
		run.replies = []func(api.Question) (api.Reply, error){func(api.Question) (api.Reply,
			error) {
			close(asked)
			<-first.Done()
			return api.Reply{}, refusal(api.ReplyTimeout)
		}}
		if _, err := bench.execute(t, executionOf(compiled), nil); err == nil {
			t.Error("the call that was ended has a result")
		}
	}()
	<-asked
	b, run, compiled := askingBench(t, func(ctx context.Context) (executor.Answer, error) {
		ctx = callcontext.With(ctx, api.CallContext{Origin: api.Origin{Run: "r"}})
		abandon()
		return session.Call(ctx, spec, json.RawMessage(`{"text":"second"}`))
	}, unhurried)
	run.replies = []func(api.Question) (api.Reply, error){logsIn(t)}
	if result, err := b.execute(t, executionOf(compiled), nil); err != nil ||
		string(result.Output) != `"second"` {
		t.Errorf("got %+v, %v", result, err)
	}
	<-left
}
