package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/process"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// Defaults of Options.
const (
	defaultConnectTimeout = 30 * time.Second
	defaultMaxMessage     = 16 << 20
)

// Server describes how to reach an MCP server. Exactly one of Argv, a program that uses standard
// input and output, and URL, a streamable-HTTP endpoint, is set. The other fields are those of a
// toolspec's entry.
type Server struct {
	Argv []string
	// Dir is the program's working folder, Env the names of the environment variables that it sees,
	// and Secrets maps further variables to references of secrets.
	Dir string
	Env []string
	// SetEnv maps further variables to values that are not secret.
	SetEnv  map[string]string
	Secrets map[string]string
	URL     string
	// Headers is a JSON object of headers that every request has.
	Headers json.RawMessage
	Auth    *outbound.Auth
	// Allow lists hosts, addresses and ranges that may be reached besides the host of URL.
	Allow []string
}

// Options configure a connection.
type Options struct {
	// Dir is the folder that a relative entry.dir is under; empty means the process's own.
	Dir string
	// Log gets what servers write to their standard error, bounded, at the level debug; nil drops
	// it.
	Log *slog.Logger
	// Inside is what need not be public to be reached, as in outbound.Policy.
	Inside []string
	// ConnectTimeout bounds starting a server and agreeing with it on the protocol; default 30s.
	ConnectTimeout time.Duration
	// MaxMessage bounds one message of the server, in bytes; default 16 MiB. A larger one ends the
	// connection.
	MaxMessage int
	// Asks allows the server to ask a person during a call (elicitation, forms only).
	Asks bool
	// Login lets a person log in if entry.auth requires it. It passes on an address to open in a
	// browser and returns the address to which the browser was redirected. The time it takes does
	// not count for ConnectTimeout. Its errors are returned by Connect or Call. nil rejects logins.
	Login func(ctx context.Context, address string) (final string, err error)
	// Logins are where tokens are kept; nil keeps them with the connection.
	Logins *Logins

	// Task, if set, resumes the session in which a server created a task, if it has one.
	Task *api.RemoteTask

	// pause stops the clock of Connect until resume is called.
	pause func() (resume func())
}

// version is the client version sent to servers.
const version = "1.0.0"

// Connect connects to the server of a toolspec of the kind mcp. The error is an *api.Error
// with a type for calls that did not run: executor_not_found if the program is missing,
// policy_violation if the address is not allowed, else precondition_failed, retryable if another
// attempt may succeed. If ctx ends first, the error wraps its cause.
func Connect(ctx context.Context, entry *Server, o Options) (conn *Connection, err error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.MaxMessage = cmp.Or(o.MaxMessage, defaultMaxMessage)
	timeout := cmp.Or(o.ConnectTimeout, defaultConnectTimeout)
	c := &Connection{name: serverName(entry), limit: o.MaxMessage, log: o.Log,
		progress: map[string]func(api.Progress){}, openQuestions: map[*Request]context.Context{},
		opened: make(chan struct{})}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.tools.changed.Store(true)
	defer close(c.opened)
	defer panics.MCP.Contain(ctx, c.log, func(failed error) {
		c.breakOff(failed)
		conn, err = nil, c.unreachable(failed.Error(), false)
	})
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	clock := time.AfterFunc(timeout, cancel)
	defer clock.Stop()
	o.pause = func() func() {
		running := clock.Stop()
		return func() {
			if running {
				clock.Reset(timeout)
			}
		}
	}
	transport, err := c.transport(entry, o)
	if err != nil {
		return nil, err
	}
	within, x := withExchange(within)
	session, err := c.client(o).Connect(within, transport, nil)
	if err == nil {
		err = c.Err() // it may have broken meanwhile
		c.session = session
	}
	if err == nil {
		c.prepare(within)
		return c, nil
	}
	s := x.now()
	failure := c.connectError(ctx, err, s)
	if ctx.Err() == nil && within.Err() != nil && c.Err() == nil {
		failure = c.unreachable(fmt.Sprintf("the server was not ready within %s, during %s%s", timeout,
			at(s.method, s.status), c.written()), true)
	}
	c.breakOff(failure)
	return nil, failure
}

// prepare prepares a connection that has its session.
func (c *Connection) prepare(ctx context.Context) {
	if c.login != nil {
		c.login.connected.Store(true)
	}
	server := c.session.InitializeResult()
	c.pingless = server.ProtocolVersion > lastWithPing
	c.takesTasks = server.ProtocolVersion == lastWithPing && takesTasks(server)
	go c.watch()
	requestLogs(ctx, c.session)
}

// lastWithPing is the last version of the protocol that has pings.
const lastWithPing = "2025-11-25"

func (c *Connection) client(o Options) *mcp.Client {
	options := &mcp.ClientOptions{
		// Neither roots nor sampling are offered.
		Capabilities:                &mcp.ClientCapabilities{},
		ProgressNotificationHandler: c.onProgress,
		// Questions in place of results are taken to the call that they are about; see rounds.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context,
			*mcp.ToolListChangedRequest) {
			c.tools.changed.Store(true)
		},
	}
	//lint:ignore SA1019 servers send log messages as long as the protocol has them
	options.LoggingMessageHandler = c.reports.onLog
	if o.Asks {
		options.ElicitationHandler = c.onElicit
		options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}}
	}
	options.Capabilities.AddExtension(tasksExtension, nil)
	client := mcp.NewClient(&mcp.Implementation{Name: "switchyard", Version: version}, options)
	client.AddReceivingMiddleware(c.containPanics, acceptTitles)
	// It fails only for methods of the protocol.
	_ = mcp.AddSendingCustomMethod[*mcp.PingParams, *mcp.CallToolResult](client, probeMethod)
	registerTasks(client)
	return client
}

func (c *Connection) transport(entry *Server, o Options) (mcp.Transport, error) {
	if entry.URL != "" {
		return c.overHTTP(entry, o)
	}
	if len(entry.Argv) == 0 || entry.Argv[0] == "" {
		return nil, api.Errorf(api.ErrExecutorNotFound,
			"the MCP server has neither entry.argv nor entry.url")
	}
	dir, err := process.Folder(o.Dir, entry.Dir)
	if err != nil {
		return nil, err
	}
	env, hidden, err := process.Environment(entry.Env, entry.SetEnv, entry.Secrets)
	if err != nil {
		return nil, err
	}
	var hider *redaction.Hider
	hider = hider.With(redaction.HiddenSecret, hidden...)
	c.serverProcess, err = startProcess(entry.Argv, dir, env, hider, o.MaxMessage,
		o.Log.With("server", c.name))
	if err != nil {
		return nil, api.AsError(err)
	}
	return c.serverProcess, nil
}

func parseOrigin(address string) (*url.URL, error) {
	origin, err := url.Parse(address)
	if err == nil {
		err = outbound.CheckURL(origin)
	}
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.url cannot be used: %v", err)
	}
	return origin, nil
}

func (c *Connection) overHTTP(entry *Server, o Options) (mcp.Transport, error) {
	address, err := outbound.Address(entry.URL)
	if err != nil {
		return nil, err
	}
	origin, err := parseOrigin(address)
	if err != nil {
		return nil, err
	}
	own, err := newAdditions(entry)
	if err != nil {
		return nil, err
	}
	guard, err := outbound.NewGuard(outbound.Policy{Hosts: []string{origin.Hostname()},
		Allow: entry.Allow, Inside: o.Inside})
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.allow: %v", err)
	}
	base := guard.Transport()
	// Sessions belong to their connections. Calls are POSTs without a key, which net/http does not
	// resend automatically.
	base.DisableKeepAlives = false
	t := &mcp.StreamableClientTransport{
		Endpoint:   address,
		MaxRetries: maxRetries,
		// This bounds one line. Carrying structured content as text may double its length.
		MaxEventSize: 4 * o.MaxMessage,
	}
	hide, add := own.hide, own.add
	if entry.Auth.OAuth() {
		if c.login, err = newLogin(origin, entry, o); err != nil {
			return nil, err
		}
		t.OAuthHandler, hide = c.login, c.login.hide
		if c.login.account != nil {
			add = func(req *http.Request) error {
				return errors.Join(own.add(req), c.login.addToken(req))
			}
		}
	}
	plain := outbound.Client(base, origin, add)
	// Around the client's own round tripper, wire sees every error of a request.
	t.HTTPClient = &http.Client{Transport: &wire{base: plain.Transport, get: plain.Do,
		limit: o.MaxMessage, log: o.Log, hide: hide, broken: c.breakOff, ended: c.Done(),
		resumed: resumedSession(o.Task)},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.Method != http.MethodPost {
				return http.ErrUseLastResponse // a POST would become a GET
			}
			return plain.CheckRedirect(req, via)
		}}
	return t, nil
}

// containPanics is the middleware that ends a request or notification of a server that panics, in
// the SDK or in our handlers. In v1.8.0 the SDK panics where elicitation/create or
// notifications/elicitation/complete has no params.
func (c *Connection) containPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		defer panics.MCP.Contain(ctx, c.log, func(error) {
			result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
				Message: "the request failed inside the client"}
		})
		return next(ctx, method, r)
	}
}

// maxRetries bounds how often the SDK resumes a stream without progress. It is generous because a
// stream that a server closes now and then must not end a session; wire detects a server that is
// down.
const maxRetries = 1000

// additions adds an entry's headers and secret to requests to its server only, and removes the
// secret from the server's responses.
type additions struct {
	headers map[string]any
	auth    *outbound.Auth
	// last is the secret of the last request.
	last atomic.Pointer[outbound.Credential]
}

func newAdditions(entry *Server) (*additions, error) {
	a := &additions{}
	if !entry.Auth.OAuth() {
		a.auth = entry.Auth
	}
	if len(entry.Headers) == 0 {
		return a, nil
	}
	headers, err := jsonvalue.Decode(entry.Headers)
	members, ok := headers.(map[string]any)
	if err != nil || !ok {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.headers is not a mapping")
	}
	a.headers = members
	return a, nil
}

// add reads the secret for each request, so that it can be rotated while the worker runs.
func (a *additions) add(req *http.Request) error {
	for name, value := range a.headers {
		req.Header.Set(name, jsonvalue.Text(value))
	}
	if a.auth == nil {
		return nil
	}
	credential, err := outbound.NewCredential(a.auth.Type, a.auth.Secret, a.auth.Name)
	if err != nil {
		return err
	}
	a.last.Store(credential)
	credential.Add(req)
	return nil
}

// hide removes the secret from what a server sent.
func (a *additions) hide(message []byte) []byte {
	credential := a.last.Load()
	if credential == nil {
		return message
	}
	return []byte(credential.Hide(string(message)))
}

// serverName names a server in errors and logs: a program by its name alone and a URL without its
// query, because the rest may be secret.
func serverName(entry *Server) string {
	if entry.URL == "" {
		return slices.Concat(entry.Argv, []string{""})[0]
	}
	u, err := url.Parse(entry.URL)
	if err != nil {
		return "entry.url"
	}
	u.RawQuery, u.User, u.Fragment = "", nil, ""
	return u.String()
}
