package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

// interfering returns a server whose calls of the tool echo are answered by answer.
func interfering(t *testing.T, answer http.HandlerFunc) *Server {
	t.Helper()
	good := mcpserver.Handler(mcpserver.New(mcpserver.Good))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"name":"echo"`)) {
			answer(w, r)
			return
		}
		good.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return &Server{URL: server.URL, Allow: []string{"127.0.0.1"}}
}

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// cutOff starts an answer and closes the connection.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": ping\n\n")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// The server refuses, is busy, has lost the session, closes the connection, or does not speak the
// protocol. A concurrent call on the same connection is not affected.
func TestHTTP_DistinguishesAnswers(t *testing.T) {
	const (
		answered    = "the MCP server answered tools/call with HTTP status "
		lostBecause = "the connection to the MCP server was lost: "
		lostDuring  = "the connection to the MCP server was lost during tools/call"
		foreign     = "on tools/call (HTTP status 200) the MCP server answered with what is not an MCP message: "
	)
	tests := []struct {
		name   string
		answer http.HandlerFunc
		check  func(err error) bool
		words  string
	}{
		{"500 in HTML", status(500, "<html>\x1b[31mdown</html>"), refusedWith(500, true),
			answered + "500: <html> [31mdown</html>"},
		{"503", status(503, "", "Retry-After", "7"), refusedWith(503, true), answered + "503: Service Unavailable"},
		{"429", status(429, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"slow down"}}`),
			refusedWith(429, true), answered + "429: slow down"},
		{"403", status(403, "no"), refusedWith(403, false), answered + "403: no"},
		{"418 in JSON-RPC", status(418,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"a teapot"}}`),
			refusedWith(418, false), answered + "418: a teapot"},
		{"endless error", endlessError, refusedWith(500, true), answered + "500: " + strings.Repeat("e", maxSample) + "…"},
		{"404: the session is gone", status(404, "who are you"), lost(false), lostBecause + answered + "404: who are you"},
		{"400 with a session that is known", status(400, "bad arguments"),
			refusedWith(400, false), answered + "400: bad arguments"},
		{"cut off", cutOff, lost(true),
			lostDuring + " (HTTP status 200): request terminated without response"},
		{"cut off before it began", func(http.ResponseWriter,
			*http.Request) {
			panic(http.ErrAbortHandler)
		}, lost(true), lostDuring + `: Post "URL": EOF`},
		{"a page", status(200, "<html>", "Content-Type", "text/html"), fault,
			foreign + "text/html <html>"},
		{"no JSON", status(200, "garbage", "Content-Type", "application/json"), fault,
			foreign + "garbage"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entry := interfering(t, tt.answer)
			c := connect(t, entry, Options{})
			_, err := c.Call(t.Context(), Request{Tool: "echo", Arguments: json.RawMessage(`{}`)})
			if err == nil || !tt.check(err) ||
				strings.Replace(err.Error(), entry.URL, "URL", 1) != tt.words {
				t.Errorf("got %v (%T)", err, err)
			}
			if _, refused := errors.AsType[*Refused](err); refused && c.Err() != nil &&
				!lost(false)(err) {
				t.Errorf("one refused call ended the session: %v", c.Err())
			}
		})
	}
}

// A session that a server reports as unknown with 400 is lost.
func TestHTTPSession_IsLostIfUnknown(t *testing.T) {
	known := atomic.Bool{}
	known.Store(true)
	good := mcpserver.Handler(mcpserver.New(mcpserver.Good))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known.Load() {
			good.ServeHTTP(w, r)
			return
		}
		status(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	c := connect(t, &Server{URL: server.URL, Allow: []string{"127.0.0.1"}}, Options{})
	known.Store(false)
	_, err := c.Call(t.Context(), Request{Tool: "echo", Arguments: json.RawMessage(`{}`)})
	if err == nil || !lost(false)(err) || err.Error() != "the connection to the MCP server was lost: the MCP server answered tools/call with HTTP status 400: Bad Request: No valid session ID provided" ||
		c.Err() == nil {
		t.Errorf("got %v, the connection ended with %v", err, c.Err())
	}
}

func endlessError(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(500)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat("e", 1<<16)); err != nil {
			return
		}
	}
}

func refusedWith(code int, busy bool) func(error) bool {
	return func(err error) bool {
		r, ok := errors.AsType[*Refused](err)
		return ok && r.Status == code && r.Busy() == busy && r.Header != nil
	}
}

func lost(sent bool) func(error) bool {
	return func(err error) bool {
		l, ok := errors.AsType[*Lost](err)
		return ok && l.Sent == sent
	}
}

func fault(err error) bool {
	_, ok := errors.AsType[*Fault](err)
	return ok
}

// A too large answer fails only its own call and uses no more memory than the limit. The session
// and a concurrent call stay usable.
func TestHTTP_BoundsAnswers(t *testing.T) {
	huge := func(kind, before, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, before)
			for range 100 {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, after)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"stream": huge("text/event-stream", `data: {"jsonrpc":"2.0","id":1,"result":"`, "\"}\n\n"),
		"whole":  huge("application/json", `{"jsonrpc":"2.0","id":1,"result":"`, `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, interfering(t, answer), Options{MaxMessage: 1 << 20})
			started := make(chan struct{}, 10)
			ctx, cancel := context.WithCancelCause(t.Context())
			done := errors.New("done")
			other := make(chan error, 1)
			go func() {
				_, err := c.Call(ctx, Request{Tool: "progress",
					Arguments: json.RawMessage(`{"count":1,"text":"wait"}`),
					Progress:  func(api.Progress) { started <- struct{}{} }})
				other <- err
			}()
			<-started
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.Call(t.Context(), Request{Tool: "echo"})
			runtime.ReadMemStats(&after)
			if !fault(err) || err.Error() != "on tools/call (HTTP status 200) the MCP server sent a message of more than 1048576 bytes" {
				t.Errorf("got %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 40<<20 {
				t.Errorf("it took %d bytes", used)
			}
			cancel(done)
			if err := <-other; !errors.Is(err, done) {
				t.Errorf("the other call ended with %v", err)
			}
			if _, err := c.Call(t.Context(), Request{Tool: "count"}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// Every request has the secret and the headers. If the server repeats the secret, it is hidden in
// answers and errors. A changed secret is used at the next request.
func TestHTTP_SendsAndHidesSecrets(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", "first-secret")
	var got []string
	entry := interfering(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.Header.Get("X-Tenant")+" "+
			r.Header.Get("X-Number"))
		http.Error(w, "do not know "+r.Header.Get("Authorization"), http.StatusForbidden)
	})
	entry.Auth = &outbound.Auth{Type: "bearer", Secret: "env:SWITCHYARD_TEST_SECRET"}
	entry.Headers = json.RawMessage(`{"X-Tenant":"a","X-Number":7}`)
	c := connect(t, entry, Options{})
	_, err := c.Call(t.Context(), Request{Tool: "echo"})
	if err == nil || strings.Contains(err.Error(), "first-secret") || err.Error() != "the MCP server answered tools/call with HTTP status 403: do not know Bearer [secret]" {
		t.Errorf("got %v", err)
	}
	t.Setenv("SWITCHYARD_TEST_SECRET", "second-secret")
	if _, err := c.Call(t.Context(), Request{Tool: "echo"}); err == nil {
		t.Error("a refused call gave an answer")
	}
	if strings.Join(got, "; ") != "Bearer first-secret a 7; Bearer second-secret a 7" {
		t.Errorf("the server saw %q", got)
	}
	repeated, err := c.Call(t.Context(),
		Request{Tool: "meta", Meta: map[string]any{"x/y": "second-secret"}})
	if err != nil || !strings.Contains(textOf(t, repeated), "[secret]") {
		t.Errorf("got %v, %v", repeated, err)
	}
}

// The HTTP requests of a call are in its trace; others are in none.
func TestHTTP_SendsTheTraceOfACall(t *testing.T) {
	var got []string
	entry := interfering(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Traceparent"))
		http.Error(w, "no", http.StatusForbidden)
	})
	c := connect(t, entry, Options{})
	for _, trace := range []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""} {
		if _, err := c.Call(t.Context(), Request{Tool: "echo", Traceparent: trace}); err == nil {
			t.Error("a refused call gave an answer")
		}
	}
	want := []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""}
	if !slices.Equal(got, want) {
		t.Errorf("the server saw %q", got)
	}
}

// The error of connecting describes what the URL serves.
func TestHTTP_ReportsServersOfOtherProtocols(t *testing.T) {
	const answered = "the MCP server answered initialize with HTTP status "
	const foreign = "on initialize (HTTP status 200) the MCP server answered with what is not an MCP message: "
	for name, tt := range map[string]struct {
		answer    http.HandlerFunc
		retryable bool
		words     string
	}{
		"a page": {status(200, "<html>", "Content-Type", "text/html"), false,
			foreign + "text/html <html>"},
		"401": {status(401, ""), false, answered + "401: Unauthorized; check entry.auth and the secret that it names"},
		"404": {status(404, "nothing here"), false, answered + "404: nothing here"},
		"503": {status(503, "starting"), true, answered + "503: starting"},
		"another host": {status(307, "", "Location", "http://169.254.169.254/"), false,
			"the server redirected to another address, and 169.254.169.254 is refused: it is not one of the allowed hosts; to reach it, add it to allow in the toolspec"},
		"garbage": {status(200, "garbage", "Content-Type", "application/json"), false, foreign + "garbage"},
	} {
		server := httptest.NewServer(tt.answer)
		_, err := Connect(t.Context(), &Server{URL: server.URL, Allow: []string{"127.0.0.1"}},
			Options{})
		server.Close()
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Type != api.ErrPreconditionFailed || e.Retryable != tt.retryable ||
			e.Message != "there is no connection to the MCP server "+server.URL+": "+tt.words {
			t.Errorf("%s: got %v, retryable %v", name, err, ok && e.Retryable)
		}
	}
}
