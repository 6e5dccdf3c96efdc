package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

// foreignServer serves MCP well until a step, which it answers with raw bytes. A step is a method
// of the protocol, or a request of HTTP.
type foreignServer struct {
	good *mcpserver.Tasks
	step string
	// answer is the response in HTTP; empty to close the connection.
	answer string
	// stall keeps the connection open after the answer.
	stall   bool
	reached atomic.Int32
	// first is closed when the step is reached, stop when the server ends.
	first, stop chan struct{}
}

func (s *foreignServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m struct{ Method string }
	if r.Method != http.MethodPost {
		m.Method = r.Method
	} else if json.Unmarshal(body, &m) != nil {
		panic(http.ErrAbortHandler)
	}
	if m.Method != s.step {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.good.ServeHTTP(w, r)
		return
	}
	if s.reached.Add(1) == 1 {
		close(s.first)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, s.answer)
	if s.stall {
		<-s.stop
	}
	_ = conn.Close()
}

// serveForeign starts a server that misbehaves.
func serveForeign(t *testing.T, s *foreignServer) *Server {
	t.Helper()
	s.stop = make(chan struct{})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(func() { close(s.stop) })
	s.answer = strings.ReplaceAll(s.answer, "{URL}", server.URL)
	return &Server{URL: server.URL, Allow: []string{"127.0.0.1"}}
}

// rawResponse is a response of HTTP/1.1 with a body.
func rawResponse(status int, kind, body string, header ...string) string {
	lines := []string{fmt.Sprintf("HTTP/1.1 %d Foreign", status)}
	if kind != "" {
		lines = append(lines, "Content-Type: "+kind)
	}
	lines = append(lines, header...)
	lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)), "Connection: close", "", body)
	return strings.Join(lines, "\r\n")
}

// A foreignAnswer is what a server sends in place of an answer. status is the one that the error
// has to name; 0 for none. If stall is set, the connection stays open.
type foreignAnswer struct {
	raw    string
	status int
	stall  bool
}

func foreignAnswers() map[string]foreignAnswer {
	answers := map[string]foreignAnswer{
		"cut before it began": {},
		"cut within headers":  {raw: "HTTP/1.1 200 OK\r\nContent-Ty"},
		"cut within the body": {raw: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
			"Content-Length: 100\r\n\r\n{\"jsonrpc\":"},
		"cut within an event": {raw: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
			"id: 1\ndata: {\"jsonrpc\":"},
		"not HTTP":       {raw: "SSH-2.0-OpenSSH_9.2\r\n"},
		"many continues": {raw: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20)},
		"a switch that stays open": {raw: "HTTP/1.1 101 Switching Protocols\r\n" +
			"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", stall: true},
		"no answer": {stall: true},
		"an endless body": {raw: "HTTP/1.1 500 Foreign\r\nContent-Length: 1000000\r\n\r\nwait",
			stall: true},
		"status 1000":     {raw: "HTTP/1.1 1000 Foreign\r\n\r\n"},
		"an empty body":   {rawResponse(200, "application/json", ""), 200, false},
		"no type":         {rawResponse(200, "", "{}"), 200, false},
		"a page":          {rawResponse(200, "text/html", "<html>Welcome</html>"), 200, false},
		"invalid JSON":    {rawResponse(200, "application/json", `{"jsonrpc":"2.0",`), 200, false},
		"null":            {rawResponse(200, "application/json", "null"), 200, false},
		"a list":          {rawResponse(200, "application/json", "[]"), 200, false},
		"an empty object": {rawResponse(200, "application/json", "{}"), 200, false},
		"a null result": {rawResponse(200, "application/json",
			`{"jsonrpc":"2.0","id":1,"result":null}`), 200, false},
		"a wrong id": {rawResponse(200, "application/json",
			`{"jsonrpc":"2.0","id":4711,"result":{}}`), 200, false},
		"an id that is an object": {rawResponse(200, "application/json",
			`{"jsonrpc":"2.0","id":{"a":[1]},"result":{}}`), 200, false},
		"a wrong id in an event": {rawResponse(200, "text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}\n\n"), 200, false},
		"no event":            {rawResponse(200, "text/event-stream", ""), 200, false},
		"an invalid event":    {rawResponse(200, "text/event-stream", "data: {\n\n"), 200, false},
		"a line that is none": {rawResponse(200, "text/event-stream", "hello\n\n"), 200, false},
		"an error that is null": {rawResponse(200, "application/json",
			`{"jsonrpc":"2.0","id":null,"error":null}`), 200, false},
		"a loop": {rawResponse(307, "", "", "Location: {URL}"), 0, false},
		"a redirect to a place that is not allowed": {rawResponse(307, "", "",
			"Location: http://169.254.169.254/"), 0, false},
		"a redirect without a target": {rawResponse(308, "", ""), 0, false},
		"a redirect that changes the method": {rawResponse(302, "", "", "Location: {URL}"), 302,
			false},
	}
	for _, status := range []int{201, 202, 203, 204, 205, 206, 207, 226, 299, 300, 301, 302, 303,
		304, 305, 306, 310, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412,
		413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499, 500,
		501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 520, 599, 600, 999} {
		body := "nope"
		if status == 204 || status == 304 {
			body = ""
		}
		answers[fmt.Sprint("status ", status)] = foreignAnswer{rawResponse(status, "", body), status,
			false}
		if status >= 300 {
			answers[fmt.Sprint("status ", status, " as an event")] = foreignAnswer{
				rawResponse(status, "text/event-stream", "data: nope\n\n"), status, false}
		}
	}
	return answers
}

// A foreignStep makes a connection and requests until the step of the server, and returns its
// error.
type foreignStep struct {
	step string
	// newer is set if the server has no sessions.
	newer bool
	run   func(ctx context.Context, entry *Server, o Options) error
}

func connectOnly(ctx context.Context, entry *Server, o Options) error {
	c, err := Connect(ctx, entry, o)
	if err == nil {
		c.Close()
	}
	return err
}

// connected returns a step that follows a connection.
func connected(request func(ctx context.Context, c *Connection) error) func(context.Context,
	*Server, Options) error {
	return func(ctx context.Context, entry *Server, o Options) error {
		c, err := Connect(ctx, entry, o)
		if err != nil {
			return fmt.Errorf("not connected: %w", err)
		}
		defer c.Close()
		return request(ctx, c)
	}
}

func callJob(text string) func(context.Context, *Connection) error {
	return func(ctx context.Context, c *Connection) error {
		r := job(text)
		r.Ask = func(context.Context, string, string, json.RawMessage) (Reply, error) {
			return Reply{Content: map[string]any{"name": "Ada"}}, nil
		}
		_, err := c.Call(ctx, r)
		return err
	}
}

// foreignSteps are the requests of a client that a server has to answer.
func foreignSteps() map[string]foreignStep {
	listTools := connected(func(ctx context.Context, c *Connection) error {
		_, err := c.Tools(ctx)
		return err
	})
	ping := connected(func(ctx context.Context, c *Connection) error {
		within, x := withExchange(ctx)
		if err := c.ping(within); err != nil {
			return c.failure(ctx, err, x.now())
		}
		return nil
	})
	return map[string]foreignStep{
		"initialize":                {"initialize", false, connectOnly},
		"notifications/initialized": {"notifications/initialized", false, connectOnly},
		"tools/list":                {"tools/list", false, listTools},
		"tools/list, newer":         {"tools/list", true, listTools},
		"tools/call":                {"tools/call", false, connected(callJob("plain"))},
		"tools/call, newer":         {"tools/call", true, connected(callJob("plain"))},
		"ping":                      {"ping", false, ping},
		"ping, newer":               {probeMethod, true, ping},
		"tasks/get":                 {"tasks/get", false, connected(callJob(""))},
		"tasks/get, newer":          {"tasks/get", true, connected(callJob(""))},
		"tasks/result":              {"tasks/result", false, connected(callJob(""))},
		"tasks/update":              {"tasks/update", true, connected(callJob("ask"))},
		"tasks/cancel": {"tasks/cancel", false, connected(func(ctx context.Context,
			c *Connection) error {
			return CancelTask(ctx, c, "x")
		})},
	}
}

// toleratedSteps are the requests that a server need not know.
func toleratedSteps() map[string]foreignStep {
	plain := connected(callJob("plain"))
	return map[string]foreignStep{
		"server/discover": {"server/discover", false, plain},
		"GET":             {"GET", false, plain},
		"DELETE":          {"DELETE", false, plain},
	}
}

// runForeign runs a step with a server that misbehaves at it, and returns the step's error. The
// caller gives up a while after the step, and the client after timeout of connecting. It fails if
// the step does not end then.
func runForeign(t *testing.T, step foreignStep, a foreignAnswer, timeout,
	patience time.Duration) (*foreignServer, error) {
	t.Helper()
	s := &foreignServer{good: &mcpserver.Tasks{Newer: step.newer}, step: step.step, answer: a.raw,
		stall: a.stall, first: make(chan struct{})}
	entry := serveForeign(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		select {
		case <-s.first:
			time.AfterFunc(patience, func() { cancel(context.DeadlineExceeded) })
		case <-ctx.Done():
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- step.run(ctx, entry, Options{ConnectTimeout: timeout, Asks: true}) }()
	select {
	case err := <-ended:
		return s, err
	case <-time.After(timeout + patience + time.Minute):
		t.Fatal("it hangs")
		return nil, nil
	}
}

// tryForeign runs a step. On a loaded machine a short timeout can pass before the step.
func tryForeign(t *testing.T, step foreignStep, name string, a foreignAnswer) (*foreignServer,
	error) {
	t.Helper()
	const short, long = time.Second, 30 * time.Second
	patience := long
	if a.stall || strings.HasPrefix(step.step, "tasks/") && retried.MatchString(name) {
		patience = short
	}
	if !a.stall {
		return runForeign(t, step, a, long, patience)
	}
	s, err := runForeign(t, step, a, short, patience)
	if s.reached.Load() == 0 {
		s, err = runForeign(t, step, a, long, patience)
	}
	return s, err
}

// retried are the statuses after which a request about a task is repeated until the call ends.
var retried = regexp.MustCompile(`^status (429|5\d\d|600|999)|^an endless body`)

// runWaiting runs tests that mostly wait, 24 at a time. t.Parallel would run as many as the machine
// has cores, which takes minutes.
func runWaiting(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, 24)
	for name, test := range tests {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			t.Run(name, test)
		})
	}
}

// runSteps runs a test for every step and every answer.
func runSteps(t *testing.T, steps map[string]foreignStep,
	test func(t *testing.T, step foreignStep, name string, answer foreignAnswer)) {
	t.Helper()
	tests := map[string]func(*testing.T){}
	for stepName, step := range steps {
		for name, answer := range foreignAnswers() {
			tests[strings.ReplaceAll(stepName, "/", ".")+"/"+name] = func(t *testing.T) {
				test(t, step, name, answer)
			}
		}
	}
	runWaiting(t, tests)
}

// Whatever a server answers to a request, the request ends with an error that names the request and
// the status of HTTP.
func TestForeignAnswers_EndAsErrors(t *testing.T) {
	runSteps(t, foreignSteps(), func(t *testing.T, step foreignStep, name string,
		answer foreignAnswer) {
		s, err := tryForeign(t, step, name, answer)
		if s.reached.Load() == 0 {
			t.Fatalf("the server never saw %s: %v", step.step, err)
		}
		notification := step.step == "notifications/initialized"
		taken := strings.Contains(answer.raw, "HTTP/1.1 2")
		if err == nil && notification && taken {
			return // servers answer a notification with any 2xx
		}
		if err == nil {
			t.Fatal("no error")
		}
		about := strings.HasPrefix(step.step, "tasks/")
		if _, ended := errors.AsType[*Ended](err); ended && about &&
			(retried.MatchString(name) || answer.stall) {
			return
		}
		// The guard of addresses names the address, and a timeout of the caller is its own.
		own := errors.Is(err, context.DeadlineExceeded) && answer.stall ||
			strings.Contains(err.Error(), "169.254.169.254 is refused")
		if !own && !strings.Contains(err.Error(), step.step) {
			t.Errorf("the error does not name %s: %v", step.step, err)
		}
		if status := fmt.Sprint("status ", answer.status); answer.status != 0 &&
			!strings.Contains(err.Error(), status) {
			t.Errorf("the error does not name the %s: %v", status, err)
		}
	})
}

// A server need not know a request of the handshake, of the stream of its own and of the end of a
// session. Whatever it answers, calls succeed.
func TestForeignAnswers_ToRequestsThatServersNeedNotKnow(t *testing.T) {
	runSteps(t, toleratedSteps(), func(t *testing.T, step foreignStep, name string,
		answer foreignAnswer) {
		s, err := tryForeign(t, step, name, answer)
		// While connecting, the timeout passes; a stream of the server's own is not
		// awaited. What breaks off or cannot be read within a response breaks the
		// connection off.
		broken := (answer.stall || strings.Contains(name, "cut within") ||
			name == "an invalid event") && step.step != "DELETE"
		if err != nil && !broken {
			t.Errorf("got %v", err)
		}
		if step.step != "GET" && s.reached.Load() == 0 {
			t.Errorf("the server never saw %s", step.step)
		}
	})
}

// A server may print a message on several lines of an event. Whatever it says there ends the call
// alone, as on one line.
func TestForeignEvents_OfSeveralLinesAreOneMessage(t *testing.T) {
	for name, test := range map[string]struct{ lines, words string }{
		"an error":   {"{\"jsonrpc\":\"2.0\",\n\"id\":ID,\n\"error\":{\"code\":-32602,\n\"message\":\"bad\"}}", "bad"},
		"a wrong id": {"{\"jsonrpc\":\"2.0\",\n\"id\":4711,\n\"result\":{}}", "another request"},
		"too much": {"{\"jsonrpc\":\"2.0\",\n\"id\":ID,\n\"result\":{\"content\":[\n{\"type\":\"text\",\"text\":\"" +
			strings.Repeat("x", 2000) + "\"}]}}", "more than"},
		"a result": {"{\"jsonrpc\":\"2.0\",\n\"id\":ID,\r\n\"result\":{\"content\":[\n{\"type\":\"text\",\"text\":\"done\"}]}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, interfering(t, func(w http.ResponseWriter, r *http.Request) {
				var m struct{ ID json.RawMessage }
				body, err := io.ReadAll(r.Body)
				if err != nil || json.Unmarshal(body, &m) != nil {
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for _, line := range strings.Split(test.lines, "\n") {
					_, _ = fmt.Fprintf(w, "data: %s\n", strings.ReplaceAll(line, "ID", string(m.ID)))
				}
				_, _ = io.WriteString(w, "\n")
			}), Options{MaxMessage: 1000})
			a, err := c.Call(t.Context(), Request{Tool: "echo"})
			switch {
			case test.words == "" && (err != nil || textOf(t, a) != "done"):
				t.Errorf("got %+v, %v", a, err)
			case test.words != "" && (err == nil || !strings.Contains(err.Error(), test.words)):
				t.Errorf("got %v, want %q", err, test.words)
			}
			if c.Err() != nil {
				t.Errorf("the call ended the connection: %v", c.Err())
			}
		})
	}
}

// messageServer answers a call with messages of its own in front of the result, as events.
func messageServer(t *testing.T, messages ...string) *Server {
	return interfering(t, func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID json.RawMessage }
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &m) != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, message := range messages {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", message)
		}
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":"+
			"{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n", m.ID)
	})
}

// Whatever a server sends by itself, its call ends and the process goes on. The SDK handles such
// messages in goroutines of its own, where a panic would end the process: v1.8.0 panics on the two
// that are marked.
func TestForeignMessages_EndNothing(t *testing.T) {
	for message, fails := range map[string]bool{
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}`:                            true,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}`:                                     true,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":null}`:                       true,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}`:                         false,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"requestedSchema":[null]}}`: false,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?",` +
			`"requestedSchema":{"type":"object","properties":{"a":null,"b":{"type":"array","items":` +
			`{"anyOf":[null]}},"c":{"type":"string","oneOf":[null]}}}}}`: true,
		`{"jsonrpc":"2.0","method":"notifications/progress"}`:                                     false,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":null}`:                       false,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{}}}`:       false,
		`{"jsonrpc":"2.0","method":"notifications/message","params":null}`:                        false,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":null,"logger":null}}`: false,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:                                    false,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}`:     false,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated"}`:                            false,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":7}`:                false,
		`{"jsonrpc":"2.0","method":"","id":1}`:                                                    false,
		`{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"messages":null}}`:   false,
		`{"jsonrpc":"2.0","id":9,"method":"roots/list","params":{"_meta":null}}`:                  false,
		`{"jsonrpc":"2.0","id":10,"method":"ping","params":[]}`:                                   false,
		`{"jsonrpc":"2.0","id":11,"method":"no/such"}`:                                            false,
		`{"jsonrpc":"2.0","id":4711,"error":null}`:                                                false,
	} {
		t.Run(message, func(t *testing.T) {
			before := recovered()
			c := connect(t, messageServer(t, message), Options{Asks: true})
			a, err := c.Call(t.Context(), Request{Tool: "echo"})
			if err == nil && textOf(t, a) != "done" {
				t.Errorf("got %+v", a)
			}
			if fails {
				eventually(t, "the panic that the SDK has here", func() bool {
					return recovered() > before
				})
			}
		})
	}
}

// recovered returns how many panics the client has recovered from.
func recovered() int64 { return panics.Counts()[panics.MCP] }
