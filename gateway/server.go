package gateway

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/wire"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/value/display"
)

// anyObject is the schema of arguments that are any object.
var anyObject = json.RawMessage(`{"type":"object"}`)

// tasksExtension is the extension by which clients declare that they follow tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Keys of _meta. idempotencyKey and sessionName are set by clients, callKey and errorKey by the
// gateway. Workers send idempotencyKey to MCP servers as well.
const (
	idempotencyKey = "io.github.switchyard/idempotency-key"
	sessionName    = "io.github.switchyard/session"
	callKey        = "io.github.switchyard/call"
	errorKey       = "io.github.switchyard/error"
)

const instructions = "Calls are durable: a call that takes long answers that it is pending, with " +
	"a call_id. Pass it to get_result and do not make the call again."

// newServer returns the server of the tools for one session, or for all clients without one.
func (g *Gateway) newServer(session string) *mcp.Server {
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	//lint:ignore SA1019 clients use log messages as long as the protocol has them
	caps.Logging = &mcp.LoggingCapabilities{}
	caps.AddExtension(tasksExtension, nil)
	options := &mcp.ServerOptions{Instructions: instructions,
		Logger: wire.Quiet(g.config.Logger), Capabilities: caps, GetSessionID: constant(session)}
	if g.config.Content != nil {
		g.addContentHandlers(options)
	}
	s := mcp.NewServer(g.implementation(), options)
	s.AddReceivingMiddleware(g.guard, g.answer)
	addTaskMethods(s)
	g.offered.Load().Replace(s, nil)
	return s
}

// addContentHandlers has the SDK complete arguments and keep subscriptions.
func (g *Gateway) addContentHandlers(o *mcp.ServerOptions) {
	o.CompletionHandler = func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult,
		error) {
		return g.config.Content().Complete(req.Params)
	}
	o.SubscribeHandler = func(_ context.Context, req *mcp.SubscribeRequest) error {
		return g.config.Content().CheckSubscription(req.Params.URI)
	}
	o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
}

// ContentChanged offers the present prompts and resources to clients, those that are connected
// included.
func (g *Gateway) ContentChanged() {
	now := g.config.Content()
	before := g.offered.Swap(now)
	for _, s := range g.mcp.all() {
		now.Replace(s, before)
	}
}

// orNew returns the parameters of a message, or empty ones for a message without.
func orNew[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// answer is the middleware that answers the methods of tools and tasks.
func (g *Gateway) answer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch p := req.GetParams().(type) {
		case *mcp.ListToolsParams:
			p = orNew(p)
			return g.request(ctx, req, p).listTools(p)
		case *mcp.CallToolParamsRaw:
			if p == nil {
				return nil, invalid("the params are missing")
			}
			return g.request(ctx, req, p).call(p)
		case *mcpclient.TaskParams:
			if p == nil {
				return nil, invalid("the params are missing")
			}
			return g.request(ctx, req, p).task(method, p)
		}
		return next(ctx, method, req)
	}
}

func (g *Gateway) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "switchyard", Title: "Switchyard", Version: g.config.Version}
}

func constant(text string) func() string { return func() string { return text } }

// request is one message of a client that expects a result.
type request struct {
	*Gateway

	ctx context.Context
	// http is the HTTP request of the message; over standard streams, an empty one.
	http    *httpRequest
	session *mcp.ServerSession
	client  *mcp.InitializeParams
	caller  api.Caller
	meta    map[string]any
	// run is the session of the caller.
	run Session
	// progress is the token for progress; nil if the client wants none.
	progress any
	// told is the last progress that the client was told.
	told toldProgress
}

// request returns what a handler knows about a message.
func (g *Gateway) request(ctx context.Context, req mcp.Request, p mcp.Params) *request {
	r := &request{Gateway: g, ctx: ctx, meta: p.GetMeta(), http: g.httpRequest(ctx, req)}
	r.session, _ = req.GetSession().(*mcp.ServerSession)
	if r.client = r.session.InitializeParams(); r.client == nil {
		r.client = &mcp.InitializeParams{}
	}
	if r.http.header == nil { // standard streams
		r.caller = g.config.Caller(nil)
	} else {
		r.caller = r.http.caller
	}
	r.run = Session{Caller: r.caller, Client: clientName(r.client), key: r.sessionKey()}
	if t, ok := p.(interface{ GetProgressToken() any }); ok {
		r.progress = t.GetProgressToken()
	}
	return r
}

// httpRequest returns the HTTP request of a message; one without headers for standard streams.
func (g *Gateway) httpRequest(ctx context.Context, req mcp.Request) *httpRequest {
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		if h := g.requests.of(extra.Header); h != nil {
			return h
		}
	}
	return &httpRequest{ctx: ctx}
}

// sessionKey returns the key of the session: what the client names in _meta, else its
// Mcp-Session-Id, else the name of the client's program.
func (r *request) sessionKey() string {
	if name, ok := r.meta[sessionName].(string); ok && name != "" {
		return keyFromName("named", name)
	}
	if id, ok := parseSessionID(r.http.session, r.caller.ID); ok {
		return id.Key
	}
	return keyFromName("client", cmp.Or(r.program(), "unknown"))
}

// program returns the name of the client's program; empty if it gives none.
func (r *request) program() string {
	if r.client.ClientInfo == nil {
		return ""
	}
	return r.client.ClientInfo.Name
}

// isUnnamed reports whether the session of the message is one that all programs of the caller share
// that name neither themselves nor a session. Equal calls of such programs are unlikely to be
// repetitions, so only a key makes them one.
func (r *request) isUnnamed() bool {
	name, _ := r.meta[sessionName].(string)
	_, ok := parseSessionID(r.http.session, r.caller.ID)
	return name == "" && !ok && r.program() == ""
}

func clientName(p *mcp.InitializeParams) string {
	if p.ClientInfo == nil {
		return ""
	}
	return display.Shorten(p.ClientInfo.Name+" "+p.ClientInfo.Version, 100)
}

// modern reports whether the message is of the revision without sessions. The SDK has checked that
// it supports the version of the message.
func (r *request) modern() bool { return r.meta[mcp.MetaKeyProtocolVersion] != nil }

// hungUp reports whether the HTTP connection of the message has ended, rather than its client
// having cancelled it.
func (r *request) hungUp() bool { return r.http.header != nil && r.http.ctx.Err() != nil }

// follows reports whether the client follows tasks.
func (r *request) follows() bool {
	c := r.client.Capabilities
	return r.modern() && c != nil && c.Extensions[tasksExtension] != nil
}

// asks reports whether the client can ask its user.
func (r *request) asks() bool {
	c := r.client.Capabilities
	if r.http.responseOnly && !r.modern() {
		return false
	}
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil ||
		c.Elicitation.URL == nil)
}

// trace returns the W3C traceparent of the message; empty for none, or one that is malformed.
func (r *request) trace() string {
	text, ok := r.meta["traceparent"].(string)
	if !ok {
		text = r.http.header.Get("Traceparent")
	}
	if _, valid := traceparent.Parse(text); !valid {
		return ""
	}
	return text
}

// message describes the message for traces.
func (r *request) message() *api.MCPMessage {
	m := &api.MCPMessage{Protocol: display.Shorten(r.client.ProtocolVersion, maxVersion),
		Transport: api.TransportHTTP}
	if r.http.header == nil {
		m.Transport = api.TransportStdio
	}
	if id, ok := parseSessionID(r.http.session, r.caller.ID); ok {
		m.Session = id.Key
	}
	return m
}

// invalid returns the protocol error for parameters that no call can have.
func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// unavailable returns the protocol error for a session that cannot be reached.
func (r *request) unavailable(err error) error {
	r.config.Logger.Error("a session cannot be reached", "session", r.run.RunID(), "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "the orchestrator cannot be reached; try again later"}
}
