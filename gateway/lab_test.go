package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/toolspecs"
)

// fakeSessions keeps sessions in memory. A call runs until the test ends it, except those of the
// tool "echo", which return their arguments at once.
type fakeSessions struct {
	mu        sync.Mutex
	calls     map[string]*api.SessionCallStatus // by run and call id
	submitted chan string                       // handles of calls that run
	cancelled chan string
	left      chan string
	ended     chan string
	decisions []api.Decision
	replies   []api.Reply
	approvals []OpenApproval
	progress  map[string]*api.Progress
	// named is the name of the questions of the tool "ask".
	named string
	// keys are those of the submitted calls, and attached is the id of the call that they repeat.
	keys     []string
	attached string
	// stays keeps approved calls running, partial has their texts show only a part of them.
	stays, partial bool
}

func newFake() *fakeSessions {
	return &fakeSessions{calls: map[string]*api.SessionCallStatus{},
		submitted: make(chan string, 100), cancelled: make(chan string, 100),
		left:  make(chan string, 100),
		ended: make(chan string, 100)}
}

func (f *fakeSessions) Submit(_ context.Context, s Session, c api.SessionCall) (
	api.SessionCallStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := &api.SessionCallStatus{ID: c.ID, RunID: "execution", State: api.SessionCallRunning,
		Attached: f.attached != ""}
	f.keys = append(f.keys, c.Key)
	switch c.Tool {
	case "echo", "region":
		st.State = api.SessionCallEnded
		st.Outcome = &api.CallOutcome{ID: c.ID, Tool: c.Tool,
			Result: &api.Result{Output: json.RawMessage(c.Arguments)}}
	case "fail":
		st.State = api.SessionCallEnded
		st.Outcome = &api.CallOutcome{ID: c.ID, Tool: c.Tool,
			Error: api.Errorf(api.ErrTimeout, "took too long")}
	case "ask":
		st.State = api.SessionCallAwaitsAnswer
		st.Question = &api.Question{ID: c.ID, Call: c.ID, Tool: c.Tool, Name: f.named,
			Text: "Which colour?"}
	case "mine", "theirs":
		st.State = api.SessionCallAwaitsApproval
		st.Approval = &api.Approval{Call: c.ID, Tool: c.Tool,
			ApprovalNeed: api.ApprovalNeed{Text: "pay", Digest: "digest-" + c.ID,
				ByCaller: c.Tool == "mine", Partial: f.partial}}
	}
	f.calls[s.RunID()+"."+c.ID] = st
	if f.attached != "" {
		st.ID = f.attached
		f.calls[s.RunID()+"."+st.ID] = st
	}
	if st.State != api.SessionCallEnded {
		f.submitted <- s.RunID() + "." + c.ID
	}
	return *st, nil
}

func (f *fakeSessions) Status(_ context.Context, s Session, call, _ string) (
	api.SessionCallStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if st := f.calls[s.RunID()+"."+call]; st != nil {
		return *st, nil
	}
	return api.SessionCallStatus{ID: call, State: api.SessionCallUnknown}, nil
}

func (f *fakeSessions) Progress(_ context.Context, s Session, call string) (*api.Progress, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.progress[s.RunID()+"."+call], nil
}

func (f *fakeSessions) Cancel(_ context.Context, s Session, c api.CancelCall) error {
	f.finish(s.RunID()+"."+c.ID, api.CallOutcome{Error: api.Errorf(api.ErrCancelled, "cancelled")})
	f.cancelled <- s.RunID() + "." + c.ID
	return nil
}

func (f *fakeSessions) Leave(_ context.Context, s Session, l api.LeaveCall) error {
	f.left <- s.RunID() + "." + l.ID
	return nil
}

func (f *fakeSessions) End(_ context.Context, s Session, _ api.EndSession) error {
	f.ended <- s.RunID()
	return nil
}

func (f *fakeSessions) Approvals(context.Context) ([]OpenApproval, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.approvals, nil
}

func (f *fakeSessions) Decide(_ context.Context, run string, d api.Decision) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.approvals {
		if e := people.RefuseDecision(a.Approval.ApprovalNeed, d, a.Caller); e != nil {
			return e
		}
	}
	if f.calls[run+"."+d.Call].State == api.SessionCallEnded {
		return &api.ReplyError{Type: api.DecisionClosed, Message: "nothing is left to decide"}
	}
	f.decisions = append(f.decisions, d)
	if f.stays {
		st := f.calls[run+"."+d.Call]
		st.State, st.Approval = api.SessionCallRunning, nil
		return nil
	}
	f.end(run+"."+d.Call, api.CallOutcome{Result: &api.Result{Output: []byte(`"paid"`)}})
	return nil
}

func (f *fakeSessions) Answer(_ context.Context, run string, r api.Reply) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[run+"."+r.Question].State == api.SessionCallEnded {
		return &api.ReplyError{Type: api.ReplyClosed, Message: "the question is closed"}
	}
	f.replies = append(f.replies, r)
	f.end(run+"."+r.Question, api.CallOutcome{Result: &api.Result{Output: r.Value}})
	return nil
}

// finish ends a call.
func (f *fakeSessions) finish(handle string, o api.CallOutcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(handle, o)
}

func (f *fakeSessions) end(handle string, o api.CallOutcome) {
	st := f.calls[handle]
	st.State, st.Outcome, st.Question, st.Approval = api.SessionCallEnded, &o, nil, nil
}

// lab is a gateway with sessions in memory, served over HTTP.
type lab struct {
	*testing.T
	*fakeSessions
	gateway *Gateway
	url     string
	// caller is who sends requests.
	caller string
	mu     sync.Mutex
}

func newLab(t *testing.T, change func(*Config)) *lab {
	l := &lab{T: t, fakeSessions: newFake(), caller: "ann"}
	l.gateway, l.url = l.replica(change)
	return l
}

// replica starts another gateway on the same sessions.
func (l *lab) replica(change func(*Config)) (*Gateway, string) {
	l.Helper()
	catalog := catalogOf(l.T)
	c := Config{Sessions: l.fakeSessions, Catalog: func() *toolspecs.Catalog { return catalog },
		Caller: func(r *http.Request) api.Caller {
			l.mu.Lock()
			defer l.mu.Unlock()
			name := l.caller
			if r != nil && r.Header.Get("As") != "" {
				name = r.Header.Get("As")
			}
			return api.Caller{Type: api.CallerSession, ID: name, Auth: api.AuthKey}
		},
		Operates: func(context.Context) bool { return true },
		Direct:   50 * time.Millisecond, Wait: 10 * time.Second, StateKey: []byte("key")}
	if change != nil {
		change(&c)
	}
	g, err := New(c)
	if err != nil {
		l.Fatal(err)
	}
	server := httptest.NewServer(routes.Handlers{routes.Server: g, routes.Operator: g})
	l.Cleanup(server.Close)
	l.Cleanup(g.Drain)
	return g, server.URL
}

// catalogOf returns the tools of the tests.
func catalogOf(t *testing.T) *toolspecs.Catalog {
	t.Helper()
	var specs []toolspecs.Spec
	for _, name := range []string{"slow", "echo", "fail", "ask", "mine", "theirs", "once",
		"region"} {
		s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Does " + name + ".",
			Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: name}}}
		s.Execution.Effect = api.EffectRead
		switch name {
		case "once":
			s.Execution.Effect = api.EffectOnce
		case "region":
			s.InputSchema = json.RawMessage(`{"type":"object","properties":{"region":{` +
				`"type":"string","x-mcp-header":"Region"}}}`)
		case "echo":
			s.OutputSchema = json.RawMessage(`{"type":"object"}`)
		case "mine", "theirs":
			s.Approval = &toolspecs.Approval{ByCaller: name == "mine"}
		}
		specs = append(specs, s)
	}
	c, err := toolspecs.NewCatalog(specs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reply is the response to a raw request.
type reply struct {
	status  int
	session string
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// post sends one message as it is. headers are pairs.
func (l *lab) post(url, body string, headers ...string) reply {
	l.Helper()
	return l.postIn(l.Context(), url, body, headers...)
}

func (l *lab) postIn(ctx context.Context, url, body string, headers ...string) reply {
	l.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
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
		return reply{}
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}
	}
	r := reply{status: res.StatusCode, session: res.Header.Get(sessionHeader)}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			data = []byte(rest)
		}
	}
	_ = json.Unmarshal(data, &r) // errors of HTTP are plain text
	return r
}

// modernMeta is the _meta of the revision without sessions, with capabilities.
func modernMeta(capabilities string) string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":%s}`, capabilities)
}

// modern sends a request of the revision without sessions.
func (l *lab) modern(ctx context.Context, method, name, params, capabilities string) reply {
	l.Helper()
	if params != "" {
		params += ","
	}
	headers := []string{versionHeader, stateless, "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return l.postIn(ctx, l.url+Path, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params,
		modernMeta(capabilities)), headers...)
}

// callModern calls a tool without arguments in the revision without sessions.
func (l *lab) callModern(tool, capabilities string) reply {
	l.Helper()
	return l.modern(l.Context(), "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool),
		capabilities)
}

// begin begins a session of an older revision and returns its id.
func (l *lab) begin(url string, headers ...string) string {
	l.Helper()
	r := l.post(url+Path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+
		`"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test",`+
		`"version":"1"}}}`, headers...)
	if r.session == "" {
		l.Fatalf("no session was begun: %+v", r)
	}
	return r.session
}

// connect returns a session of the SDK's client, in an older revision.
func (l *lab) connect(url string, options *mcp.ClientOptions) *mcp.ClientSession {
	l.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	s, err := c.Connect(l.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = s.Close() })
	return s
}
