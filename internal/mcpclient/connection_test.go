package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/expect"
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

// A list without end fails its request, and the connection stays.
func TestTools_AreBounded(t *testing.T) {
	for mode, want := range map[string]string{
		mcpserver.Endless:      "lists more than 10000 tools",
		mcpserver.EndlessPages: "lists its tools on more than 1000 pages",
	} {
		bothWays(t, mode, func(t *testing.T, c *Connection) {
			_, err := c.Tools(t.Context())
			fault, ok := errors.AsType[*Fault](err)
			if !ok || fault.Reason != want {
				t.Errorf("%s: got %v, not a fault with %q", mode, err, want)
			}
			if c.Err() != nil {
				t.Errorf("%s: the connection ended: %v", mode, c.Err())
			}
		})
	}
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

// Log messages of the level info and above reach the call that runs, and none while several do.
func TestLogMessages_ReachTheirCall(t *testing.T) {
	for _, mode := range []string{mcpserver.Good, mcpserver.Older} {
		bothWays(t, mode, func(t *testing.T, c *Connection) {
			lines := make(chan string, 100)
			call := func(args string) {
				t.Helper()
				ctx, cancel := context.WithCancelCause(t.Context())
				received := errors.New("received")
				_, err := c.Call(ctx, Request{Tool: "progress", Arguments: json.RawMessage(args),
					Log: func(l api.LogLine) {
						lines <- fmt.Sprint(l.Level, " ", l.Logger, " ", string(l.Data))
						cancel(received)
					}})
				if err != nil && !errors.Is(err, received) {
					t.Error(err)
				}
			}
			call(`{"count":1,"text":"wait"}`)
			if got := <-lines; got != `warning steps {"step":1}` {
				t.Errorf("%s: got %s", mode, got)
			}
			other := &Request{Log: func(api.LogLine) {}}
			c.reports.begin(other, &mcp.CallToolParams{}, false)
			call(`{"count":2}`)
			if len(lines) > 0 {
				t.Errorf("%s: with two calls: %s", mode, <-lines)
			}
		})
	}
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
	program := "there is no connection to the MCP server " + os.Args[0] + ": "
	tests := []struct {
		name      string
		entry     *Server
		want      api.ErrorType
		retryable bool
		message   string
	}{
		{"no program", &Server{Argv: []string{"no-such-program"}}, api.ErrExecutorNotFound, false,
			`the program no-such-program is not on this worker; install it, or correct entry.argv or the worker's PATH (exec: "no-such-program": executable file not found in $PATH)`},
		{"no folder", &Server{Argv: []string{"true"}, Dir: "/no/such/folder"},
			api.ErrPreconditionFailed, false, "the program's working folder /no/such/folder does not exist on this worker; create it or correct entry.dir"},
		{"ends at once", stdio(mcpserver.Dies), api.ErrPreconditionFailed, true,
			program + "during server/discover: the server ended with exit code 3; it wrote to standard error: no configuration found"},
		{"garbage", stdio(mcpserver.Garbage), api.ErrPreconditionFailed, true,
			program + "the server was not ready within 300ms, during server/discover; it wrote to standard output, not an MCP message: Server listening on port 3000  [31m"},
		{"huge", stdio(mcpserver.Huge), api.ErrPreconditionFailed, false,
			program + "during server/discover: the MCP server sent a message of more than 16777216 bytes"},
		{"hangs", stdio(mcpserver.Hang), api.ErrPreconditionFailed, true,
			program + "the server was not ready within 300ms, during server/discover"},
		{"no server", &Server{URL: silent.URL, Allow: []string{"127.0.0.1"}},
			api.ErrPreconditionFailed, true, fmt.Sprintf(`there is no connection to the MCP server %[1]s: during initialize: Post "%[1]s": dial tcp %[2]s: connect: connection refused`,
				silent.URL, silent.Listener.Addr())},
		{"inside", &Server{URL: silent.URL}, api.ErrPolicyViolation, false,
			"127.0.0.1 is refused: its address 127.0.0.1 is loopback; to reach it, add the host, the address or its range to allow in the toolspec or to SWITCHYARD_HTTP_ALLOW of the worker"},
		{"neither", &Server{}, api.ErrExecutorNotFound, false, "the MCP server has neither entry.argv nor entry.url"},
		{"no secret", &Server{URL: silent.URL, Allow: []string{"127.0.0.1"},
			Auth: &outbound.Auth{Type: "bearer", Secret: "env:NO_SUCH_SECRET"}},
			api.ErrPreconditionFailed, false, "the secret env:NO_SUCH_SECRET is not set on this worker"},
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
			if got := expect.WithoutCoverage(e.Message); got != tt.message {
				t.Errorf("got %q, want %q", got, tt.message)
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
	const want = "the connection to the MCP server was lost during tools/call: the server ended with exit code 7; it wrote to standard error: out of cheese"
	if got := expect.WithoutCoverage(err.Error()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	<-c.Done()
	_, err = c.Call(t.Context(), Request{Tool: "echo"})
	if lost, ok := errors.AsType[*Lost](err); !ok || lost.Sent {
		t.Errorf("a call of an ended connection: %v (%T)", err, err)
	}
}
