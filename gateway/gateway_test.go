package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

// A session of an older revision goes on at a replica that has never seen it, and only for the
// caller who began it.
func TestSession_ContinuesAtAnotherReplica(t *testing.T) {
	l := newLab(t, nil)
	_, other := l.replica(nil)
	session := l.begin(l.url)
	for range 2 {
		r := l.post(other+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, session)
		if r.status != http.StatusOK || text(t, r.Result) != `{"a":1}` {
			t.Errorf("got %+v", r)
		}
	}
	for _, c := range []struct{ session, as string }{{session, "bob"}, {"invented", "ann"}} {
		r := l.post(other+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, c.session, "As",
			c.as)
		if r.status != http.StatusNotFound {
			t.Errorf("%v: got %+v", c, r)
		}
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

// A client without tasks learns after Wait that its call is pending, and gets the result from
// get_result in any session of the same caller, and of no other.
func TestSlowCall_IsPendingAndGetResultReturnsIt(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Wait = c.Direct })
	session := l.begin(l.url)
	r := l.post(l.url+Path, fmt.Sprintf(legacyCall, "slow"), sessionHeader, session)
	var pending struct {
		Meta map[string]struct {
			Call string `json:"call_id"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(r.Result, &pending); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	handle := pending.Meta[callKey].Call
	want := fmt.Sprintf("The call is pending: it runs. Do not make it again. Its result is returned "+
		"by the tool get_result with {\"call_id\": %q}.", handle)
	if got := text(t, r.Result); got != want {
		t.Errorf("got %s", got)
	}
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":`+
		`"get_result","arguments":{"call_id":%q}}}`, handle)
	l.finish(<-l.submitted, api.CallOutcome{Tool: "slow",
		Result: &api.Result{Output: []byte(`"done"`)}})
	later := l.begin(l.url)
	if got := text(t, l.post(l.url+Path, ask, sessionHeader, later).Result); got != "done" {
		t.Errorf("the result is %s", got)
	}
	bob := l.begin(l.url, "As", "bob")
	got := text(t, l.post(l.url+Path, ask, sessionHeader, bob, "As", "bob").Result)
	if want := "ERROR validation_error: there is no call " + handle; !strings.HasPrefix(got, want) {
		t.Errorf("another caller got %s", got)
	}
}

func TestSlowCall_IsATaskForClientsThatFollowTasks(t *testing.T) {
	l := newLab(t, nil)
	const follows = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	var task struct {
		ResultType, TaskID, Status string
		CreatedAt, LastUpdatedAt   time.Time
		Result                     json.RawMessage
	}
	read := func(r reply) {
		t.Helper()
		task.Result = nil
		if err := json.Unmarshal(r.Result, &task); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
	}
	read(l.callModern("slow", follows))
	if task.ResultType != resultTask || task.Status != taskWorking {
		t.Fatalf("got %+v", task)
	}
	about := fmt.Sprintf(`"taskId":%q`, task.TaskID)
	created, told := task.CreatedAt, task.LastUpdatedAt
	l.finish(<-l.submitted, api.CallOutcome{Tool: "slow",
		Result: &api.Result{Output: []byte(`"done"`)}})
	read(l.modern(t.Context(), methodTaskGet, "", about, follows))
	if !task.CreatedAt.Equal(created) || !task.LastUpdatedAt.After(told) {
		t.Errorf("created at %s and told at %s, then %+v", created, told, task)
	}
	if task.Status != taskCompleted || text(t, task.Result) != "done" {
		t.Errorf("got %+v", task)
	}
	read(l.callModern("slow", follows))
	about = fmt.Sprintf(`"taskId":%q`, task.TaskID)
	l.modern(t.Context(), methodTaskCancel, "", about, follows)
	read(l.modern(t.Context(), methodTaskGet, "", about, follows))
	if task.Status != taskCancelled {
		t.Errorf("after cancel: %+v", task)
	}
	r := l.modern(t.Context(), methodTaskGet, "", `"taskId":"other.task"`, follows)
	if r.Error == nil || r.Error.Message != "task not found" {
		t.Errorf("unknown task: %+v", r)
	}
}

// A client that closes its stream cancels a call that may be repeated, and leaves a once call to
// its repetition.
func TestClosedStream_CancelsCallsThatAreNotOnce(t *testing.T) {
	l := newLab(t, nil)
	for _, tool := range []string{"once", "slow"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			l.modern(ctx, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool), "{}")
			close(done)
		}()
		call := <-l.submitted
		cancel()
		<-done
		told := map[string]chan string{"once": l.left, "slow": l.cancelled}[tool]
		if got := <-told; got != call {
			t.Errorf("%s: the session heard of %s, want %s", tool, got, call)
		}
	}
	if len(l.cancelled) != 0 {
		t.Error("the once call was cancelled")
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

// What a client sends wrong is an error of its own request, and the gateway serves others.
func TestMalformedRequests_AreErrorsOfTheProtocol(t *testing.T) {
	l := newLab(t, nil)
	session := l.begin(l.url)
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":null}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"?"}}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"foo/bar"}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, http.StatusBadRequest},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, http.StatusBadRequest},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"} {}`, http.StatusBadRequest},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, http.StatusBadRequest},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":null}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"tasks/get"}`, http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"a.b.c.d"}}`,
			http.StatusOK},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[]}`, http.StatusOK},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{}}`, http.StatusBadRequest},
		{`{`, http.StatusBadRequest},
		{``, http.StatusBadRequest},
		{strings.Repeat(" ", 5<<20), http.StatusRequestEntityTooLarge},
	} {
		if r := l.post(l.url+Path, c.body, sessionHeader, session); r.status != c.want ||
			r.status == http.StatusOK && (r.Result == nil) == (r.Error == nil) {
			t.Errorf("%.80s: %+v", c.body, r)
		}
		if r := l.post(l.url+Path, c.body); r.status == http.StatusOK {
			t.Errorf("without a session: %.80s: %+v", c.body, r)
		}
	}
	if r := l.post(l.url+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, session); text(t,
		r.Result) != `{"a":1}` {
		t.Errorf("afterwards: %+v", r)
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
