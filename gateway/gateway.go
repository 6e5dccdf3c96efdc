// Package gateway serves tools to MCP clients over HTTP and standard streams. Each call of a client
// is a call of a durable session run, so that a replica of the gateway keeps nothing that must not
// be lost: any replica can continue the session of another.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/toolspecs"
)

// Paths of the gateway. Below Path are the virtual servers, by name.
const (
	Path         = routes.ServerPath
	OperatorPath = routes.OperatorPath
)

// Defaults of a Config.
const (
	DefaultDirect    = 2 * time.Second
	DefaultWait      = 50 * time.Second
	defaultMaxListed = 200
)

// Config describes a gateway.
type Config struct {
	// Sessions makes the calls; required.
	Sessions Sessions
	// Catalog returns the tools to offer, which may change over time; required.
	Catalog func() *toolspecs.Catalog
	// Select returns those of the tools that a caller may use on a virtual server; the name is
	// empty for Path itself. Nil offers all tools there, and no virtual servers.
	Select func(server string, caller api.Caller, tools []*toolspecs.Compiled) (
		[]*toolspecs.Compiled, error)
	// Content returns the prompts and resources to offer, which may change over time; nil offers
	// none.
	Content func() *content.Set
	// Caller returns who sent a request; required.
	Caller func(*http.Request) api.Caller
	// Roles returns the roles of the sender of a request; nil for none. Whoever may use
	// OperatorPath decides with them.
	Roles func(*http.Request) []api.UserRole
	// Operates reports whether the sender of the HTTP request of a context may use the tools for
	// approvals; required. These tools ask for each message, so that a request that has reached
	// them without authorization decides nothing.
	Operates func(context.Context) bool
	// Direct is how long a request waits for the result of its call before the client gets a task
	// or progress; default DefaultDirect.
	Direct time.Duration
	// Wait is how long a request waits at most before it returns that the call is pending; default
	// DefaultWait.
	Wait time.Duration
	// MaxListed is the number of tools above which clients get find_tools and call_tool in place
	// of the list; default defaultMaxListed.
	MaxListed int
	// StateKey signs the state of open questions that clients return. All replicas need the same
	// key. Default is a random one, for a single replica.
	StateKey []byte
	// Version is reported to clients.
	Version string
	// Logger gets what goes wrong with requests; default none.
	Logger *slog.Logger
}

// Gateway serves MCP clients. Create it with New.
type Gateway struct {
	config Config
	state  signer
	search searchIndex
	// http are the requests in progress; mcp and operator the endpoints that serve them.
	requests      requests
	mcp, operator *endpoint
	// withHeaders are the tools whose calls have headers for arguments; headers guards it.
	headers     sync.Mutex
	withHeaders []string
	// offered are the prompts and resources of all servers.
	offered atomic.Pointer[content.Set]

	// draining is closed by Drain.
	draining chan struct{}
	drain    sync.Once
}

// New returns a gateway. It returns an error if the configuration misses something.
func New(c Config) (*Gateway, error) {
	if c.Sessions == nil || c.Catalog == nil || c.Caller == nil || c.Operates == nil {
		return nil, errors.New("a gateway needs Sessions, Catalog, Caller and Operates")
	}
	c.Direct = cmp.Or(c.Direct, DefaultDirect)
	c.Wait = max(cmp.Or(c.Wait, DefaultWait), c.Direct)
	c.MaxListed = cmp.Or(c.MaxListed, defaultMaxListed)
	c.Version = cmp.Or(c.Version, "dev")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if len(c.StateKey) == 0 {
		c.StateKey = []byte(rand.Text())
	}
	g := &Gateway{config: c, state: signer{key: c.StateKey}, draining: make(chan struct{})}
	if c.Content != nil {
		g.offered.Store(c.Content())
	}
	g.mcp = newEndpoint(&g.requests, c, g.newServer)
	g.operator = newEndpoint(&g.requests, c, g.newOperatorServer)
	g.warnOfNames()
	g.declareHeaders()
	return g, nil
}

// ServeHTTP serves requests that routes.Handlers has routed to a server or the operator.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch route := routes.From(r); {
	case route.Kind == routes.Operator:
		g.operator.serve(w, r, "")
	case route.Kind == routes.Server && g.hasServer(route.Name, r):
		g.mcp.serve(w, r, route.Name)
	default:
		http.NotFound(w, r)
	}
}

// hasServer reports whether there is a virtual server that the sender of a request may use; the one
// without a name is Path itself.
func (g *Gateway) hasServer(name string, r *http.Request) bool {
	if name == "" {
		return true
	}
	if g.config.Select == nil {
		return false
	}
	_, err := g.config.Select(name, g.config.Caller(r), nil)
	return err == nil
}

// CatalogChanged tells connected clients that the list of tools may have changed.
func (g *Gateway) CatalogChanged() {
	g.warnOfNames()
	g.declareHeaders()
	g.mcp.announceTools()
}

// warnOfNames logs the tools that cannot be offered because the gateway has one of that name.
func (g *Gateway) warnOfNames() {
	for _, name := range builtins {
		if t, ok := g.config.Catalog().Get(name); ok && t.Spec.Status != api.StatusDisabled {
			g.config.Logger.Warn("a tool is not offered: the gateway has one of that name",
				"tool", name)
		}
	}
}

// Drain has requests that wait for a call return that it is pending, so that a server that shuts
// down need not wait for them. The calls go on, and another replica has their results.
func (g *Gateway) Drain() { g.drain.Do(func() { close(g.draining) }) }

// within returns a context that ends after d, or when the gateway drains.
func (g *Gateway) within(ctx context.Context, d time.Duration) (context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	go func() {
		select {
		case <-g.draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
