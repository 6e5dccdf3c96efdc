package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// send sends a request as it is and returns its status, Allow and body.
func (l *lab) send(method, path, body string, headers ...string) string {
	l.Helper()
	req, err := http.NewRequestWithContext(l.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		l.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s%s", res.StatusCode, res.Header.Get("Allow"), &text))
}

// What a session cannot serve is answered by the rules of JSON-RPC and of HTTP.
func TestRefusals_FollowTheProtocol(t *testing.T) {
	l := newLab(t, func(c *Config) {
		c.Select = func(name string, _ api.Caller, all []*toolspecs.Compiled) (
			[]*toolspecs.Compiled, error) {
			if name != "" {
				return nil, errors.New("there is no such virtual server")
			}
			return all, nil
		}
	})
	session := l.begin(l.url)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	failed := func(id string, code int, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code,
			message)
	}
	const notAllowed = "405 GET, POST, DELETEthe method is none of GET, POST, DELETE"
	const versions = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the gateway does ` +
		`not support this version of the protocol","data":{"supported":["2026-07-28",` +
		`"2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"banana"}}}`
	for _, c := range []struct {
		method, path, body string
		headers            []string
		want               string
	}{
		{"PUT", Path, ping, nil, notAllowed},
		{"PATCH", Path, ping, nil, notAllowed},
		{"OPTIONS", OperatorPath, "", nil, notAllowed},
		{"POST", Path, ping, []string{versionHeader, "banana"}, "400 " + versions},
		{"POST", Path, ping, []string{versionHeader, "banana", sessionHeader, session},
			"400 " + versions},
		{"POST", Path, `{"jsonrpc":"2.0","id":7,"method":"foo/bar"}`,
			[]string{sessionHeader, session},
			"200 " + failed("7", -32601, `there is no method "foo/bar"`)},
		{"POST", Path, `{"jsonrpc":"2.0","method":"notifications/foo"}`,
			[]string{sessionHeader, session}, "202"},
		{"POST", Path, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`,
			[]string{sessionHeader, session},
			"200 " + failed("7", -32602, "the params are missing")},
		{"POST", Path, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`,
			[]string{sessionHeader, session},
			"400 " + failed("null", -32600, "the id is neither a text nor an integer up to 2^53")},
		{"POST", Path, ping + "{}", []string{sessionHeader, session},
			"400 " + failed("null", -32700, "the message is not valid JSON")},
		{"POST", Path, ping, nil, "400 " + failed("1", -32600,
			"the header Mcp-Session-Id is missing: begin a session with initialize")},
		{"POST", Path, `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{` +
			modernMeta("{}") + `}}`, nil,
			"400 " + failed(`"a"`, -32020, "the header Mcp-Protocol-Version is missing")},
		{"POST", Path, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a.b",` +
			modernMeta("{}") + `}}`, []string{versionHeader, stateless, "Mcp-Method", "tasks/get",
			"Mcp-Name", "a.c"},
			"400 " + failed("1", -32020, "the header Mcp-Name is not the task of the message")},
		{"POST", Path, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a.b",` +
			modernMeta("{}") + `}}`, []string{versionHeader, stateless, "Mcp-Method", "tasks/get"},
			`400 {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"the client has not ` +
				`declared the extension io.modelcontextprotocol/tasks","data":` +
				`{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`},
		{"POST", Path + "/none", ping, []string{sessionHeader, session}, "404 404 page not found"},
	} {
		if got := l.send(c.method, c.path, c.body, c.headers...); got != c.want {
			t.Errorf("%s %s %s:\ngot  %s\nwant %s", c.method, c.path, c.body, got, c.want)
		}
	}
}

// logs collects the log of a gateway, without levels below info.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "stack" {
				return slog.Attr{}
			}
			return a
		}}))
}

// Clients do not decide what is in the log of a gateway.
func TestLog_HasNothingOfWhatClientsDoWrong(t *testing.T) {
	log := &logs{}
	l := newLab(t, func(c *Config) { c.Logger = log.logger() })
	session := l.begin(l.url)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
			`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{`,
	} {
		l.post(l.url+Path, body, sessionHeader, session)
	}
	l.modern(t.Context(), "ping", "", "", "{}")
	l.modern(t.Context(), "foo/bar", "", "", "{}")
	if got := log.String(); got != "" {
		t.Errorf("the log has %s", got)
	}
}

// panicking is a store of approvals that fails.
type panicking struct{ *fakeSessions }

func (panicking) Approvals(context.Context) ([]OpenApproval, error) { panic("out of order") }

func TestOperatorTools_SurvivePanics(t *testing.T) {
	log := &logs{}
	l := newLab(t, func(c *Config) {
		c.Logger, c.Sessions = log.logger(), panicking{c.Sessions.(*fakeSessions)}
	})
	s := l.connect(l.url+OperatorPath, nil)
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_approvals"})
	fault, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || fault.Message != "the request failed inside the gateway" {
		t.Errorf("got %v", err)
	}
	if want := "level=ERROR msg=\"a panic was recovered\" place=gateway " +
		"panic=\"a value of type string\" method=tools/call\n"; log.String() != want {
		t.Errorf("the log has %s", log.String())
	}
	if err := s.Ping(t.Context(), nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A tool with the name of one of the gateway's own is not offered, which the log says.
func TestNames_OfTheGatewayAreNotOffered(t *testing.T) {
	log := &logs{}
	catalog, err := toolspecs.NewCatalog([]toolspecs.Spec{{Name: getResult, Version: "1.0.0",
		Description: "Takes a name.",
		Entry:       toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	newLab(t, func(c *Config) {
		c.Logger, c.Catalog = log.logger(), func() *toolspecs.Catalog { return catalog }
	})
	want := "level=WARN msg=\"a tool is not offered: the gateway has one of that name\" " +
		"tool=get_result\n"
	if got := log.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Headers that repeat arguments have to have their values.
func TestHeaders_OfArgumentsAreComparedWithThem(t *testing.T) {
	l := newLab(t, nil)
	for _, tt := range []struct {
		arguments, header string
		want              int
	}{
		{`{"region":"eu"}`, "eu", http.StatusOK},
		{`{"region":"eu"}`, "=?base64?ZXU=?=", http.StatusOK},
		{`{}`, "", http.StatusOK},
		{`{"region":"eu"}`, "us", http.StatusBadRequest},
		{`{"region":"eu"}`, "", http.StatusBadRequest},
		{`{}`, "eu", http.StatusBadRequest},
	} {
		headers := []string{versionHeader, stateless, "Mcp-Method", "tools/call", "Mcp-Name", "region"}
		if tt.header != "" {
			headers = append(headers, "Mcp-Param-Region", tt.header)
		}
		r := l.post(l.url+Path, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
			`"params":{"name":"region","arguments":%s,%s}}`, tt.arguments, modernMeta("{}")),
			headers...)
		if r.status != tt.want || (r.Error == nil) != (tt.want == http.StatusOK) {
			t.Errorf("%s with %q: %+v", tt.arguments, tt.header, r)
		}
	}
	if err := declareHeader(l.gateway.mcp.shared, "x", json.RawMessage(`{"type":"object",`+
		`"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`)); err == nil {
		t.Error("an object became a header")
	}
}

// A client has the response to any message as it accepts it, in all revisions; if it accepts
// neither JSON nor a stream of events, it is refused.
func TestResponses_AreOfTheTypeThatTheClientAccepts(t *testing.T) {
	l := newLab(t, nil)
	session := l.begin(l.url)
	const asJSON, asStream, none = "200 application/json", "200 text/event-stream", "406 text/plain"
	for accept, want := range map[string]string{
		"application/json":                                asJSON,
		"Application/JSON;q=0.9, text/html":               asJSON,
		"application/json, text/event-stream;q=0":         asJSON,
		"application/*":                                   asJSON,
		"text/event-stream":                               asStream,
		"text/*;q=0.1, application/json;q=0":              asStream,
		"text/html":                                       none,
		"application/json;q=0, text/event-stream;q=0.0":   none,
		"application/jsonlines, text/event-streaming, a/": none,
	} {
		for _, method := range []string{"initialize", "ping", "tools/list", "tools/call", "foo/bar"} {
			params := `"name":"echo"`
			if method == "initialize" {
				params = `"protocolVersion":"2025-11-25","clientInfo":{"name":"test","version":"1"}`
			}
			older := []string{sessionHeader, session}
			if method == "initialize" {
				older = nil
			}
			if got := l.typeOf(method, params, accept, older...); got != want {
				t.Errorf("%s for %s: %s, want %s", method, accept, got, want)
			}
			if method == "initialize" || method == "ping" || method == "foo/bar" {
				continue
			}
			if got := l.typeOf(method, params+","+modernMeta("{}"), accept, versionHeader, stateless,
				"Mcp-Method", method, "Mcp-Name", "echo"); got != want {
				t.Errorf("%s for %s in the newest revision: %s, want %s", method, accept, got, want)
			}
		}
	}
	// Without the header, a client accepts any type.
	if got := l.typeOf("tools/call", `"name":"echo"`, "", sessionHeader, session); got != asStream {
		t.Errorf("without Accept: %s", got)
	}
	listen := []string{versionHeader, stateless, "Mcp-Method", "subscriptions/listen"}
	if got := l.typeOf("subscriptions/listen", `"notifications":{},`+modernMeta("{}"),
		"application/json", listen...); got != none {
		t.Errorf("a stream as JSON: %s", got)
	}
}

// typeOf sends a request and returns the status and the media type of its response, and the message
// if that is not of the media type.
func (l *lab) typeOf(method, params, accept string, headers ...string) string {
	l.Helper()
	req, err := http.NewRequestWithContext(l.Context(), http.MethodPost, l.url+Path,
		strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method,
			params)))
	if err != nil {
		l.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		l.Fatal(err)
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	message := body
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && kind == "text/event-stream" {
			message = data
		}
	}
	if res.StatusCode == http.StatusOK && !json.Valid(message) {
		return string(body)
	}
	return fmt.Sprint(res.StatusCode, " ", kind)
}

// Arguments that are null or an empty list count as none, in all revisions.
func TestCalls_TakeNothingForEmptyArguments(t *testing.T) {
	l := newLab(t, nil)
	session := l.begin(l.url)
	for _, arguments := range []string{`,"arguments":{}`, `,"arguments":null`, `,"arguments":[]`, ""} {
		params := `"name":"echo"` + arguments
		older := l.post(l.url+Path, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{`+
			params+`}}`, sessionHeader, session)
		for _, got := range []reply{older, l.modern(t.Context(), "tools/call", "echo", params, "{}")} {
			if len(got.Result) == 0 || strings.Contains(string(got.Result), `"isError":true`) {
				t.Errorf("%s: %+v", params, got)
			}
		}
	}
}
