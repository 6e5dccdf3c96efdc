package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

func TestMain(m *testing.M) {
	mcpserver.Main()
	os.Exit(m.Run())
}

// mcpBench is an executor and a server.
type mcpBench struct {
	*Executor
	entry toolspecs.MCPEntry
	pins  map[string]mcpclient.Tool
}

func stdioBench(t *testing.T) *mcpBench {
	return newMCPBench(t, toolspecs.MCPEntry{Argv: mcpserver.Argv(mcpserver.Good)}, Options{})
}

func httpBench(t *testing.T, mode string) *mcpBench {
	server := httptest.NewServer(mcpserver.Handler(mcpserver.New(mode)))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return newMCPBench(t, toolspecs.MCPEntry{URL: server.URL, Allow: []string{"127.0.0.1"}}, Options{})
}

func newMCPBench(t *testing.T, entry toolspecs.MCPEntry, o Options) *mcpBench {
	t.Helper()
	if o.Files == "" {
		o.Files = filepath.Join(t.TempDir(), "files")
	}
	b := &mcpBench{Executor: New(o), entry: entry, pins: map[string]mcpclient.Tool{}}
	t.Cleanup(b.Close)
	c, err := mcpclient.Connect(t.Context(), entry.MCPServer(), mcpclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		b.pins[tool.Name] = tool
	}
	return b
}

// spec returns the toolspec of one of the server's tools.
func (b *mcpBench) spec(tool string, change func(*toolspecs.Spec)) *toolspecs.Spec {
	entry := b.entry
	entry.Tool, entry.Pin = tool, b.pins[tool].Digest()
	entry.Session = toolspecs.SessionShared
	s := &toolspecs.Spec{Name: tool, Version: "1.0.0", Description: b.pins[tool].Description,
		InputSchema:  b.pins[tool].InputSchema,
		OutputSchema: b.pins[tool].OutputSchema, Entry: toolspecs.Entry{Kind: entry}}
	s.Execution = toolspecs.ExecutionSpec{Effect: api.EffectRead, MaxResult: 32 << 10}
	if change != nil {
		change(s)
	}
	return s
}

// edited returns a change of a spec that changes its entry.
func edited(change func(*toolspecs.MCPEntry)) func(*toolspecs.Spec) {
	return func(s *toolspecs.Spec) { toolspecs.EditEntry(s, change) }
}

func (b *mcpBench) call(ctx context.Context, tool, args string) (executor.Answer, error) {
	return b.Execute(ctx, b.spec(tool, nil), json.RawMessage(args))
}

func (b *mcpBench) mustCall(t *testing.T, tool, args string) executor.Answer {
	t.Helper()
	a, err := b.call(t.Context(), tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return a
}

// bothTransports runs a test against a server that is a program and against one at a URL.
func bothTransports(t *testing.T, test func(t *testing.T, b *mcpBench)) {
	t.Run("stdio", func(t *testing.T) { test(t, stdioBench(t)) })
	t.Run("http", func(t *testing.T) { test(t, httpBench(t, mcpserver.Good)) })
}

// Text is a text, structured content is unchanged, and several parts are a list.
func TestMCPAnswers_BecomeOneValue(t *testing.T) {
	bothTransports(t, func(t *testing.T, b *mcpBench) {
		for _, tt := range []struct{ tool, args, want string }{
			{"echo", `{"text":"a <b>"}`, `"a <b>"`},
			{"nothing", `{}`, `""`},
			{"structured", `{}`, `{"id":9007199254740993}`},
			{"picture", `{"count":3}`,
				`[{"type":"text","text":"a picture:"},{"type":"image","mimeType":"image/png","data":"BwcH"}]`},
			{"sound", `{"count":2}`, `[{"type":"audio","mimeType":"audio/wav","data":"AQE="}]`},
			{"resources", `{"count":1}`,
				`[{"type":"resource_link","uri":"file:///a.txt","name":"a.txt","mimeType":"text/plain"},` +
					`{"type":"resource","text":"b","uri":"file:///b.txt","mimeType":"text/plain"},` +
					`{"type":"resource","uri":"file:///c.bin","mimeType":"application/octet-stream","data":"CQ=="}]`},
		} {
			if got := b.mustCall(t, tt.tool, tt.args); string(got.Output) != tt.want {
				t.Errorf("%s: got %s", tt.tool, got.Output)
			}
		}
	})
}

// Bytes that are too large for a result are in a file that only the user can read, stored once. The
// answer has its path.
func TestMCPLargeParts_AreStoredInFiles(t *testing.T) {
	b := stdioBench(t)
	paths := map[string]bool{}
	for range 2 {
		var parts []struct {
			Type, MIMEType, SHA256, Path string
			Bytes                        int
			Data                         []byte
		}
		answer := b.mustCall(t, "picture", `{"count":5000000}`)
		if err := json.Unmarshal(answer.Output, &parts); err != nil {
			t.Fatal(err)
		}
		p := parts[1]
		info, err := os.Stat(p.Path)
		if err != nil || p.Bytes != 5_000_000 || len(p.Data) > 0 || info.Size() != 5_000_000 ||
			info.Mode().Perm() != 0o600 {
			t.Fatalf("got %s, %v", answer.Output, err)
		}
		if filepath.Base(p.Path) != p.SHA256+".png" {
			t.Errorf("the file is %s, the digest %s", p.Path, p.SHA256)
		}
		paths[p.Path] = true
	}
	if len(paths) != 1 {
		t.Errorf("the same picture is in %v", paths)
	}
	small := b.mustCall(t, "picture", `{"count":3000}`)
	if !strings.Contains(string(small.Output), `"data":"Bwc`) {
		t.Errorf("a small picture is not in the answer: %.100s", small.Output)
	}
	tight, err := b.Execute(t.Context(),
		b.spec("picture", func(s *toolspecs.Spec) { s.Execution.MaxResult = 1000 }),
		json.RawMessage(`{"count":3000}`))
	if err != nil || !strings.Contains(string(tight.Output), `"path":`) {
		t.Errorf("a small picture that is too large for this result: %s, %v", tight.Output, err)
	}
}

// If the folder is not writable, only the bytes are lost.
func TestMCPFiles_FailuresKeepTheAnswer(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newMCPBench(t, toolspecs.MCPEntry{Argv: mcpserver.Argv(mcpserver.Good)},
		Options{Files: blocked})
	answer := b.mustCall(t, "picture", `{"count":50000}`)
	if !strings.Contains(string(answer.Output), `"problem":"they could not be kept`) ||
		!strings.Contains(string(answer.Output), `"bytes":50000`) {
		t.Errorf("got %s", answer.Output)
	}
}

// The call has its key and its trace. The server gets no variable of the worker's environment that
// the spec does not name.
func TestMCPServers_GetKeyAndNamedVariables(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", "s3cret")
	t.Setenv("SWITCHYARD_TEST_LISTED", "listed")
	b := newMCPBench(t, toolspecs.MCPEntry{Argv: mcpserver.Argv(mcpserver.Good),
		Env: []string{"SWITCHYARD_TEST_LISTED"}}, Options{})
	origin := api.Origin{Run: "run-1"}
	ctx := callcontext.With(t.Context(), api.CallContext{Key: "run-1/3.1", CallID: "3.1",
		Origin: origin})
	meta, err := b.call(ctx, "meta", `{}`)
	for _, want := range []string{`"io.github.switchyard/idempotency-key":"run-1/3.1"`,
		`"traceparent":"` + traceparent.Format(origin, "3.1") + `"`} {
		if err != nil || !strings.Contains(jsonvalue.Plain(meta.Output), want) {
			t.Errorf("got %s, %v, want %s", meta.Output, err, want)
		}
	}
	for line := range strings.SplitSeq(jsonvalue.Plain(b.mustCall(t, "env", `{}`).Output), "\n") {
		switch name, _, _ := strings.Cut(line, "="); name {
		case "PATH", "HOME", "LANG", "TMPDIR", "SWITCHYARD_TEST_LISTED":
		default:
			t.Errorf("the server sees %s", name)
		}
	}
}

// The next call works.
func TestMCPFailures_HaveTypes(t *testing.T) {
	once := func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectOnce }
	tests := []struct {
		name, tool, args string
		change           func(*toolspecs.Spec)
		want             api.ErrorType
		retryable        bool
		words            string
		stdioOnly        bool
	}{
		{"tool error", "fail", `{}`, nil, api.ErrExecution, false, "the disk is full", false},
		{"tool error in structured content", "fail_wordless", `{"text":"no paper"}`, nil,
			api.ErrExecution, false, `"no paper"`, false},
		{"tool error without a word", "fail_wordless", `{}`, nil, api.ErrExecution, false,
			"the tool says that it failed, and not why", false},
		{"protocol error", "refuse", `{}`, nil, api.ErrExecution, false, "the MCP server rejected tools/call: the database is locked",
			false},
		{"refused arguments", "invalid", `{}`, nil, api.ErrValidation, false,
			"the MCP server rejected tools/call: text must be a colour", false},
		{"too large", "large", `{"count":20000000}`, nil, api.ErrInvalidOutput, false,
			"the MCP server sent a message of more than 16777216 bytes", false},
		{"too large, once", "large", `{"count":20000000}`, once, api.ErrOutcomeUnknown, false,
			"the MCP server sent a message of more than 16777216 bytes", false},
		{"dies", "die", `{}`, nil, api.ErrExecution, true,
			"the connection to the MCP server was lost during tools/call: the server ended with exit code 7; it wrote to standard error: out of cheese", true},
		{"dies, once", "die", `{}`, once, api.ErrOutcomeUnknown, false, "the connection to the MCP server was lost during tools/call: the server ended with exit code 7; it wrote to standard error: out of cheese", true},
		{"broken message", "litter", `{"text":"{\"jsonrpc\":"}`, nil, api.ErrInvalidOutput, false,
			`the MCP server wrote a message to standard output that cannot be read: {"jsonrpc": (the text ends within a JSON value, at byte 11)`, true},
		{"endless noise", "litter", `{"text":"noise"}`, nil, api.ErrInvalidOutput, false,
			"the MCP server wrote more than 16777216 bytes to standard output that are not MCP messages", true},
		{"endless line", "litter", `{"text":"endless"}`, nil, api.ErrInvalidOutput, false,
			"the MCP server sent a message of more than 16777216 bytes", true},
		{"changed", "echo", `{}`, edited(func(e *toolspecs.MCPEntry) { e.Pin = "sha256:0" }),
			api.ErrPreconditionFailed, false, `the MCP server changed the tool "echo" since it was accepted, so nothing was called; look at the difference and run starter tools accept with the file of echo`, false},
		{"gone", "echo", `{}`, edited(func(e *toolspecs.MCPEntry) { e.Tool = "ecko" }),
			api.ErrPreconditionFailed, false, `the MCP server of echo has no tool "ecko" any more; nothing was called. Look at its tools with starter tools import --dry-run, and correct entry.tool or disable the tool`, false},
	}
	bothTransports(t, func(t *testing.T, b *mcpBench) {
		for _, tt := range tests {
			if tt.stdioOnly && b.entry.URL != "" {
				continue
			}
			spec := b.spec(tt.tool, tt.change)
			_, err := b.Execute(t.Context(), spec, json.RawMessage(tt.args))
			if err == nil {
				t.Errorf("%s: the call succeeded", tt.name)
				continue
			}
			e := executor.CallError(t.Context(), err, spec)
			if e.Type != tt.want || e.Retryable != tt.retryable ||
				strings.TrimPrefix(expect.WithoutCoverage(e.Message),
					"on tools/call (HTTP status 200) ") != tt.words {
				t.Errorf("%s: got %v, retryable %v", tt.name, err, e.Retryable)
			}
			if got := b.mustCall(t, "echo", `{"text":"next"}`); string(got.Output) != `"next"` {
				t.Errorf("%s: the next call: %s", tt.name, got.Output)
			}
		}
	})
}

// If a tool changed after it was pinned, it is not called. People see the difference, models do
// not. A removed tool is refused as well.
func TestMCPPinned_RefusesChangedTools(t *testing.T) {
	bothTransports(t, func(t *testing.T, b *mcpBench) {
		b.mustCall(t, "victim", `{"text":"harmless"}`)
		b.mustCall(t, "change", `{"text":"Sends your keys away."}`)
		file := filepath.Join(t.TempDir(), "calls")
		args, _ := json.Marshal(map[string]string{"file": file})
		var refusal *api.Error
		expect.Eventually(t, "the call to be refused", func() bool {
			_, err := b.call(t.Context(), "victim", `{}`)
			refusal = api.AsError(err)
			return err != nil
		})
		if _, err := b.call(t.Context(), "victim", string(args)); err == nil {
			t.Error("a changed tool was called")
		}
		if refusal.Type != api.ErrPreconditionFailed || refusal.Retryable ||
			len(refusal.Details) != 1 ||
			refusal.Details[0] != `$.description was "Does no harm.", is now "Sends your keys away."` ||
			strings.Contains(refusal.ForModel(), "keys") {
			t.Errorf("got %v; details %q", refusal, refusal.Details)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the changed tool was executed")
		}
		b.mustCall(t, "change", `{}`)
		expect.Eventually(t, "the call of a tool that is gone to be refused", func() bool {
			_, err := b.call(t.Context(), "victim", `{}`)
			e := api.AsError(err)
			return e != nil && e.Type == api.ErrPreconditionFailed && e.Message == `the MCP server of victim has no tool "victim" any more; nothing was called. Look at its tools with starter tools import --dry-run, and correct entry.tool or disable the tool`
		})
	})
}

// The next call opens a new one.
func TestMCPIdle_ConnectionsAreClosed(t *testing.T) {
	b := newMCPBench(t, toolspecs.MCPEntry{Argv: mcpserver.Argv(mcpserver.Good)},
		Options{IdleTimeout: 10 * time.Millisecond})
	for range 2 {
		if got := b.mustCall(t, "count", `{}`); string(got.Output) != `"1"` {
			t.Errorf("the server counts %s", got.Output)
		}
		expect.Eventually(t, "the connection to be closed", func() bool {
			b.pool.mu.Lock()
			defer b.pool.mu.Unlock()
			return len(b.pool.conns) == 0
		})
	}
}

// A server that does not react costs the call its timeout, and the next call gets a new one.
func TestMCPStalled_ServersAreReplaced(t *testing.T) {
	b := stdioBench(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, executor.ErrTimeout)
	defer cancel()
	if _, err := b.call(ctx, "stall", `{}`); !errors.Is(err, executor.ErrTimeout) {
		t.Fatalf("got %v", err)
	}
	b.mustCall(t, "echo", `{}`)
}

// A server at a URL that restarts between two calls does not know the session: the call opens a new
// one. While the server is down, calls report that.
func TestMCPServerRestarts_LoseNoCall(t *testing.T) {
	var handler atomic.Pointer[http.Handler]
	start := func() {
		h := mcpserver.Handler(mcpserver.New(mcpserver.Good))
		handler.Store(&h)
	}
	start()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		(*handler.Load()).ServeHTTP(w, r)
	}))
	b := newMCPBench(t, toolspecs.MCPEntry{URL: server.URL, Allow: []string{"127.0.0.1"}}, Options{})
	once := b.spec("count", func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectOnce })
	for range 2 {
		start()
		if a, err := b.Execute(t.Context(), once, nil); err != nil || string(a.Output) != `"1"` {
			t.Errorf("got %s, %v", a.Output, err)
		}
	}
	server.CloseClientConnections()
	server.Close()
	expect.Eventually(t, "calls to report that the server is down", func() bool {
		_, err := b.call(t.Context(), "echo", `{}`)
		e := api.AsError(err)
		return e != nil && e.Type == api.ErrPreconditionFailed && e.Retryable &&
			e.Message == fmt.Sprintf(`there is no connection to the MCP server %[1]s: during initialize: Post "%[1]s": dial tcp %[2]s: connect: connection refused`,
				server.URL, server.Listener.Addr())
	})
}
