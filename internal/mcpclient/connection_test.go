package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

func TestMain(m *testing.M) {
	mcpserver.Main()
	if server := os.Getenv(childServer); server != "" {
		callOnce(server)
	}
	os.Exit(m.Run())
}

func stdio(mode string, more ...string) *Server {
	return &Server{Argv: mcpserver.Argv(mode, more...)}
}

func overHTTP(t *testing.T, mode string) *Server {
	server := httptest.NewServer(mcpserver.Handler(mcpserver.New(mode)))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return &Server{URL: server.URL, Allow: []string{"127.0.0.1"}}
}

func connect(t *testing.T, entry *Server, o Options) *Connection {
	t.Helper()
	c, err := Connect(t.Context(), entry, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// bothWays runs a test over standard input and output and over HTTP.
func bothWays(t *testing.T, mode string, test func(t *testing.T, c *Connection)) {
	t.Run("stdio", func(t *testing.T) { test(t, connect(t, stdio(mode), Options{})) })
	t.Run("http", func(t *testing.T) { test(t, connect(t, overHTTP(t, mode), Options{})) })
}

func textOf(t *testing.T, a Answer) string {
	t.Helper()
	if len(a.Content) != 1 {
		t.Fatalf("the answer has %d parts", len(a.Content))
	}
	text, ok := a.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the answer is %T", a.Content[0])
	}
	return text.Text
}

// Both transports are used.
func TestCall_ReturnsText(t *testing.T) {
	bothWays(t, mcpserver.Good, func(t *testing.T, c *Connection) {
		a, err := c.Call(t.Context(),
			Request{Tool: "echo", Arguments: json.RawMessage(`{"text":"hello"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(t, a); got != "hello" {
			t.Errorf("got %q", got)
		}
	})
}

// The SDK's own decoding does not.
func TestCall_KeepsDigitsOfStructuredContent(t *testing.T) {
	bothWays(t, mcpserver.Good, func(t *testing.T, c *Connection) {
		a, err := c.Call(t.Context(), Request{Tool: "structured"})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ ID json.Number }
		if err := json.Unmarshal(a.Structured, &got); err != nil || got.ID != "9007199254740993" {
			t.Errorf("got %s, %v", a.Structured, err)
		}
	})
}

// All pages of a list are read, in the server's order.
func TestTools_ArePaginated(t *testing.T) {
	bothWays(t, mcpserver.Many, func(t *testing.T, c *Connection) {
		tools, err := c.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, tool := range tools {
			if strings.HasPrefix(tool.Name, "tool_") {
				found++
			}
		}
		if found != 500 {
			t.Errorf("found %d of 500", found)
		}
	})
}

// After the server reports that its list changed, the next request reads the change. A removed tool
// is not found.
func TestTools_FollowListChanges(t *testing.T) {
	bothWays(t, mcpserver.Good, func(t *testing.T, c *Connection) {
		was, ok, err := c.Tool(t.Context(), "victim")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		change(t, c, `{"text":"Sends your keys away."}`)
		eventually(t, "a changed tool", func() bool {
			now, ok, err := c.Tool(t.Context(), "victim")
			return err == nil && ok && now.Digest() != was.Digest()
		})
		change(t, c, `{}`)
		eventually(t, "a removed tool", func() bool {
			_, ok, err := c.Tool(t.Context(), "victim")
			return err == nil && !ok
		})
	})
}

func change(t *testing.T, c *Connection, args string) {
	t.Helper()
	if _, err := c.Call(t.Context(), Request{Tool: "change",
		Arguments: json.RawMessage(args)}); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-tick.C
	}
}

func TestProgress_ReachesItsCall(t *testing.T) {
	bothWays(t, mcpserver.Good, func(t *testing.T, c *Connection) {
		ctx, cancel := context.WithCancelCause(t.Context())
		received := errors.New("received")
		_, err := c.Call(ctx, Request{Tool: "progress",
			Arguments: json.RawMessage(`{"count":3,"text":"wait"}`),
			Progress: func(p api.Progress) {
				if p == (api.Progress{Done: 3, Total: 3, Message: "step 3"}) {
					cancel(received)
				}
			}})
		if !errors.Is(err, received) {
			t.Errorf("got %v", err)
		}
	})
}

// When a call's context ends, the server is notified and the call returns the cause. The connection
// stays usable.
func TestCall_CanBeCancelled(t *testing.T) {
	bothWays(t, mcpserver.Good, func(t *testing.T, c *Connection) {
		file := t.TempDir() + "/calls"
		args, _ := json.Marshal(map[string]string{"file": file})
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("not wanted any more")
		failed := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, Request{Tool: "wait", Arguments: args})
			failed <- err
		}()
		eventually(t, "the call's start", func() bool {
			return strings.HasPrefix(read(file),
				"wait")
		})
		cancel(reason)
		if err := <-failed; !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
		eventually(t, "the server to be notified", func() bool {
			return strings.Contains(read(file),
				"cancelled")
		})
		if _, err := c.Call(t.Context(), Request{Tool: "echo"}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func read(file string) string {
	data, _ := os.ReadFile(file)
	return string(data)
}

// A broken server and a missing one give different errors, and no process stays.
func TestConnect_DistinguishesFailures(t *testing.T) {
	silent := httptest.NewServer(nil)
	silent.Close()
	tests := []struct {
		name      string
		entry     *Server
		want      api.ErrorType
		retryable bool
		words     []string
	}{
		{"no program", &Server{Argv: []string{"no-such-program"}}, api.ErrExecutorNotFound, false,
			[]string{"no-such-program"}},
		{"no folder", &Server{Argv: []string{"true"}, Dir: "/no/such/folder"},
			api.ErrPreconditionFailed, false, []string{"/no/such/folder"}},
		{"ends at once", stdio(mcpserver.Dies), api.ErrPreconditionFailed, true,
			[]string{"exit code 3", "no configuration found"}},
		{"garbage", stdio(mcpserver.Garbage), api.ErrPreconditionFailed, true,
			[]string{"was not ready within 300ms", "not an MCP message", "Server listening on port 3000"}},
		{"huge", stdio(mcpserver.Huge), api.ErrPreconditionFailed, false,
			[]string{"more than 16777216 bytes"}},
		{"hangs", stdio(mcpserver.Hang), api.ErrPreconditionFailed, true,
			[]string{"was not ready within 300ms"}},
		{"no server", &Server{URL: silent.URL, Allow: []string{"127.0.0.1"}},
			api.ErrPreconditionFailed, true, []string{"connection refused"}},
		{"inside", &Server{URL: silent.URL}, api.ErrPolicyViolation, false, []string{"127.0.0.1"}},
		{"neither", &Server{}, api.ErrExecutorNotFound, false, []string{"entry.url"}},
		{"no secret", &Server{URL: silent.URL, Allow: []string{"127.0.0.1"},
			Auth: &outbound.Auth{Type: "bearer", Secret: "env:NO_SUCH_SECRET"}},
			api.ErrPreconditionFailed, false, []string{"NO_SUCH_SECRET"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{}
			if tt.name == "hangs" || tt.name == "garbage" {
				o.ConnectTimeout = 300 * time.Millisecond
			}
			_, err := Connect(t.Context(), tt.entry, o)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Type != tt.want || e.Retryable != tt.retryable {
				t.Fatalf("got %v (%T)", err, err)
			}
			for _, word := range tt.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%q has a control character", err)
			}
		})
	}
}

// A server that exits during a call gives a lost call that may have been executed, with the end of
// the server's output.
func TestCall_IsLostWithItsServer(t *testing.T) {
	c := connect(t, stdio(mcpserver.Good), Options{})
	_, err := c.Call(t.Context(), Request{Tool: "die"})
	lost, ok := errors.AsType[*Lost](err)
	if !ok || !lost.Sent {
		t.Fatalf("got %v (%T)", err, err)
	}
	for _, word := range []string{"exit code 7", "out of cheese"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	<-c.Done()
	_, err = c.Call(t.Context(), Request{Tool: "echo"})
	if lost, ok := errors.AsType[*Lost](err); !ok || lost.Sent {
		t.Errorf("a call of an ended connection: %v (%T)", err, err)
	}
}
