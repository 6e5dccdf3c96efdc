package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

const legacyCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,` +
	`"arguments":{"a":1}}}`

// text returns the text of a result of tools/call.
func text(t *testing.T, result json.RawMessage) string {
	t.Helper()
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		t.Fatalf("%s: %v", result, err)
	}
	return r.Content[0].Text
}

func TestGateway_AnswersCallsInEveryRevision(t *testing.T) {
	l := newLab(t, nil)
	session := l.begin(l.url)
	old := l.post(l.url+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, session,
		versionHeader, "2025-11-25")
	if got := text(t, old.Result); got != `{"a":1}` {
		t.Errorf("2025-11-25: %s", got)
	}
	newest := l.callModern("echo", "{}")
	if got := text(t, newest.Result); got != `{}` || !strings.Contains(string(newest.Result),
		`"resultType":"complete"`) {
		t.Errorf("2026-07-28: %s", newest.Result)
	}
}

func TestGateway_ListsToolsInOneOrder(t *testing.T) {
	l := newLab(t, nil)
	res, err := l.connect(l.url+Path, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	if want := strings.Fields("ask echo fail mine once region slow theirs get_result"); !slices.Equal(names,
		want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestSession_EndsWithItsRunWhenTheClientDeletesIt(t *testing.T) {
	l := newLab(t, nil)
	session := l.begin(l.url)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, l.url+Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(sessionHeader, session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if run := <-l.ended; !strings.HasPrefix(run, "session/ann/") {
		t.Errorf("the run %s ended", run)
	}
	r := l.post(l.url+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, session)
	if r.status != http.StatusNotFound {
		t.Errorf("after its end: %+v", r)
	}
}

// The call that a request repeats may have other clients: only the request's own submission is
// left.
func TestClosedStream_LeavesItsOwnSubmission(t *testing.T) {
	l := newLab(t, nil)
	l.attached = "first"
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		l.modern(ctx, "tools/call", "once", `"name":"once","arguments":{}`, "{}")
		close(done)
	}()
	submitted := <-l.submitted
	cancel()
	<-done
	if got := <-l.left; got != submitted || strings.HasSuffix(got, ".first") {
		t.Errorf("the session heard of %s, want %s", got, submitted)
	}
}

func TestDrain_ReturnsPendingAtOnce(t *testing.T) {
	l := newLab(t, nil)
	session := l.begin(l.url)
	got := make(chan reply)
	go func() {
		got <- l.post(l.url+Path, fmt.Sprintf(legacyCall, "slow"), sessionHeader, session)
	}()
	<-l.submitted
	l.gateway.Drain()
	if r := <-got; !strings.HasPrefix(text(t, r.Result), "The call is pending") {
		t.Errorf("got %+v", r)
	}
}

func TestFailure_IsAnErrorOfTheToolWithItsType(t *testing.T) {
	l := newLab(t, nil)
	r := l.callModern("fail", "{}")
	var got struct {
		IsError bool
		Meta    map[string]struct{ Type string } `json:"_meta"`
	}
	if err := json.Unmarshal(r.Result, &got); err != nil || !got.IsError ||
		got.Meta[errorKey].Type != string(api.ErrTimeout) {
		t.Errorf("%s: %v", r.Result, err)
	}
	if r := l.callModern("missing", "{}"); r.Error == nil || r.Error.Message !=
		`unknown tool "missing"` {
		t.Errorf("unknown tool: %+v", r)
	}
}

func TestLargeCatalog_IsSearchedAndCalledByName(t *testing.T) {
	l := newLab(t, func(c *Config) { c.MaxListed = 3 })
	s := l.connect(l.url+Path, nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 3 || list.Tools[0].Name != callTool {
		t.Fatalf("%+v, %v", list, err)
	}
	found, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: findTools,
		Arguments: map[string]any{"query": "does echo", "limit": 1}})
	if err != nil || !strings.Contains(found.Content[0].(*mcp.TextContent).Text, `"echo"`) {
		t.Errorf("%+v, %v", found, err)
	}
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: callTool,
		Arguments: map[string]any{"name": "echo", "arguments": map[string]any{"b": 2}}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != `{"b":2}` {
		t.Errorf("%+v, %v", res, err)
	}
}

// Clients of an older revision and of the newest one hear that the tools have changed.
func TestReload_IsAnnouncedToConnectedClients(t *testing.T) {
	l := newLab(t, nil)
	changed := make(chan string, 10)
	for _, version := range []string{"2025-11-25", ""} {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
				changed <- version
			}})
		options := &mcp.ClientSessionOptions{ProtocolVersion: version}
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: l.url + Path}, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if _, err := s.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		l.gateway.CatalogChanged()
		if got := <-changed; got != version {
			t.Errorf("%q heard of the change, want %q", got, version)
		}
		_ = s.Close()
	}
}
