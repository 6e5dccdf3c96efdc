package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/wire"
)

const (
	sessionHeader  = "Mcp-Session-Id"
	versionHeader  = "Mcp-Protocol-Version"
	stateless      = "2026-07-28" // the first revision without sessions
	sessionTimeout = 10 * time.Minute
)

// endpoint serves one URL in all revisions of the protocol. Sessions of older revisions are in
// memory only as long as they are in use. A request of a session that is not, because it has been
// idle or was begun on another replica, begins it again from what its id contains.
type endpoint struct {
	requests *requests
	config   Config
	// newServer returns a server whose sessions have that id.
	newServer func(session string) *mcp.Server
	// shared serves the revision without sessions. It also stands for servers of sessions that
	// exist already.
	shared             *mcp.Server
	modern, sessionful http.Handler

	mu sync.Mutex
	// servers are those of the sessions in memory, by Mcp-Session-Id, and ended the times at which
	// clients ended sessions, by endedID.
	servers recent[*mcp.Server]
	ended   recent[time.Time]
	swept   time.Time
}

func newEndpoint(requests *requests, c Config, newServer func(string) *mcp.Server) *endpoint {
	e := &endpoint{requests: requests, config: c, newServer: newServer, shared: newServer(""),
		servers: newRecent[*mcp.Server](maxOwnSessions, maxSessions),
		ended:   newRecent[time.Time](maxOwnEnded, maxEnded), swept: time.Now()}
	e.modern = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return e.shared },
		&mcp.StreamableHTTPOptions{Stateless: true, Logger: wire.Quiet(c.Logger),
			PropagateRequestCancellation: true})
	e.sessionful = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if h := requests.of(r.Header); h != nil && h.connect != nil {
			return h.connect
		}
		return e.shared
	}, &mcp.StreamableHTTPOptions{Logger: wire.Quiet(c.Logger), SessionTimeout: sessionTimeout})
	return e
}

// serve serves one HTTP request for a virtual server, if any.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request, server string) {
	h := &httpRequest{ctx: r.Context(), caller: e.config.Caller(r), server: server}
	if e.config.Roles != nil {
		h.roles = e.config.Roles(r)
	}
	defer e.requests.begin(r, h)()
	if !e.accept(w, r, h) {
		return
	}
	n := wire.Negotiate(w, r, h.message)
	if n == nil {
		return
	}
	defer n.End()
	h.responseOnly = !n.TakesRequests()
	e.dispatch(n, r, h)
}

// dispatch serves a request by its revision of the protocol and its session.
func (e *endpoint) dispatch(w http.ResponseWriter, r *http.Request, h *httpRequest) {
	if r.Header.Get(versionHeader) >= stateless {
		e.modern.ServeHTTP(w, r)
		return
	}
	if h.session = r.Header.Get(sessionHeader); h.session == "" {
		e.begin(w, r, h)
		return
	}
	id, ok := parseSessionID(h.session, h.caller.ID)
	if ok {
		var done func()
		if done, ok = e.resume(r, h, id); ok {
			defer done()
		}
	}
	if !ok {
		http.Error(w, "there is no such session; begin one with initialize", http.StatusNotFound)
		return
	}
	e.serveSession(w, r, h, id)
}

// serveSession serves a request of a session in memory.
func (e *endpoint) serveSession(w http.ResponseWriter, r *http.Request, h *httpRequest,
	id sessionID) {
	if r.Method == http.MethodPost && !acceptOlder(w, h.message) {
		return
	}
	e.sessionful.ServeHTTP(w, r)
	if r.Method == http.MethodDelete {
		e.end(h, id)
	}
}

// begin serves a request without a session, which has to begin one.
func (e *endpoint) begin(w http.ResponseWriter, r *http.Request, h *httpRequest) {
	if r.Method != http.MethodPost {
		http.Error(w, "the header "+sessionHeader+" is missing", http.StatusBadRequest)
		return
	}
	params, ok := initializeParams(h.message)
	if !ok {
		wire.Refuse(w, http.StatusBadRequest, h.message.ID, notInitialize(h.message))
		return
	}
	var err error
	if h.session, params, err = mintSessionID(h.caller.ID, params); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// The session keeps its parameters, so it begins with those that its id has.
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": h.message.ID,
		"method": "initialize", "params": params})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	h.message.Params = nil
	h.connect = e.newServer(h.session)
	defer e.keep(h.session, h.caller.ID, h.connect)()
	e.sessionful.ServeHTTP(w, r)
}

// initializeParams returns the parameters of a message if it is an initialize request.
func initializeParams(m wire.Message) (*mcp.InitializeParams, bool) {
	var p mcp.InitializeParams
	return &p, m.Method == "initialize" && m.IsCall() && json.Unmarshal(m.Params, &p) == nil
}

// notInitialize returns why a message cannot begin a session.
func notInitialize(m wire.Message) *jsonrpc.Error {
	var newest struct {
		Meta map[string]any `json:"_meta"`
	}
	switch {
	case json.Unmarshal(m.Params, &newest) == nil && newest.Meta[mcp.MetaKeyProtocolVersion] != nil:
		return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the header " +
			versionHeader + " is missing"}
	case m.Method == "initialize":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "initialize lacks its parameters"}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the header " + sessionHeader +
		" is missing: begin a session with initialize"}
}

// resume makes sure that a session is in memory, and reports false if its client has ended it. A
// session that a message uses stays until done is called. A stream of events does not keep one: a
// client can open any number of them, and opens them again.
func (e *endpoint) resume(r *http.Request, h *httpRequest, id sessionID) (done func(), ok bool) {
	e.mu.Lock()
	if e.ended.entries[endedID(h.caller.ID, id)] != nil {
		e.mu.Unlock()
		return nil, false
	}
	var gone []*mcp.Server
	session := e.servers.entries[h.session]
	if session == nil || !isConnected(session.value) {
		s := e.newServer(h.session)
		if !e.replay(r, h, s, id) {
			e.mu.Unlock()
			return nil, false
		}
		session, gone = e.servers.add(h.session, h.caller.ID, s)
		e.sweep()
	}
	done = e.use(session, r.Method == http.MethodPost)
	e.mu.Unlock()
	disconnect(gone)
	return done, true
}

// replay begins a session with the messages with which its client began it.
func (e *endpoint) replay(r *http.Request, h *httpRequest, s *mcp.Server, id sessionID) bool {
	params, err := json.Marshal(id.Initialize)
	if err != nil {
		return false
	}
	first := &httpRequest{ctx: h.ctx, caller: h.caller, roles: h.roles, server: h.server,
		session: h.session, connect: s}
	number, err := jsonrpc.MakeID("resume")
	if err != nil {
		return false
	}
	for _, m := range []*jsonrpc.Request{{ID: number, Method: "initialize", Params: params},
		{Method: "notifications/initialized", Params: json.RawMessage(`{}`)}} {
		body, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return false
		}
		// The context has no end: the session outlives the request.
		again, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()),
			http.MethodPost, Path, bytes.NewReader(body))
		if err != nil {
			return false
		}
		again.Host = r.Host
		again.Header.Set("Content-Type", "application/json")
		again.Header.Set("Accept", "application/json, text/event-stream")
		if !m.IsCall() {
			again.Header.Set(sessionHeader, h.session)
		}
		end := e.requests.begin(again, first)
		w := &statusWriter{status: http.StatusOK}
		e.sessionful.ServeHTTP(w, again)
		end()
		if w.status >= http.StatusBadRequest {
			return false
		}
	}
	return true
}

// statusWriter notes the status of a response and drops its body.
type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *statusWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *statusWriter) WriteHeader(status int)      { w.status = status }
func (w *statusWriter) Flush()                      {}
