// Package routes resolves the paths of requests to a gateway. A path is resolved once, before
// anything else. Whoever authenticates, authorizes or serves the request uses the route and never
// the path, so that no spelling of a path is served without the checks of what it names.
package routes

import (
	"context"
	"net/http"
	"regexp"
)

// Kind is what a route leads to.
type Kind string

// The kinds of routes.
const (
	// Server is a virtual server. Its name is empty at ServerPath itself.
	Server Kind = "server"
	// Operator is the server of the tools for approvals.
	Operator Kind = "operator"
	// Metadata is the metadata of RFC 9728. The name is the path of the server that it describes,
	// as clients address it.
	Metadata Kind = "metadata"
	// Console is a page of the console, such as "run/result"; the name of its root is empty.
	Console Kind = "console"
	// Asset is a file that pages use.
	Asset Kind = "asset"
	// Link is a page that decides by a signed link. The name is the link's token.
	Link Kind = "link"
	// Health says that the process runs, Ready that it can serve.
	Health Kind = "health"
	Ready  Kind = "ready"
)

// Paths of the routes that other packages build addresses of.
const (
	ServerPath   = "/mcp"
	OperatorPath = "/operator"
	MetadataPath = "/.well-known/oauth-protected-resource"
	ConsolePath  = "/console/"
	AssetPath    = ConsolePath + "static/"
)

// Route is what a path names.
type Route struct {
	Kind Kind
	Name string
}

// Path returns the path of a Server or of Operator; empty for other routes.
func (r Route) Path() string {
	switch {
	case r.Kind == Operator:
		return OperatorPath
	case r.Kind == Server && r.Name == "":
		return ServerPath
	case r.Kind == Server:
		return ServerPath + "/" + r.Name
	}
	return ""
}

// patterns are the paths of each kind, with the name as the first group. The first that matches
// applies. No path of a gateway needs an escape: a name contains only characters that have no
// second spelling, except where it is compared as a whole.
var patterns = []struct {
	kind Kind
	path *regexp.Regexp
}{
	{Server, regexp.MustCompile(`^/mcp(?:/([A-Za-z0-9_-]{1,64}))?$`)},
	{Operator, regexp.MustCompile(`^/operator()$`)},
	{Metadata, regexp.MustCompile(`^/\.well-known/oauth-protected-resource((?:/.+)?)$`)},
	{Health, regexp.MustCompile(`^/healthz()$`)},
	{Ready, regexp.MustCompile(`^/readyz()$`)},
	{Asset, regexp.MustCompile(`^/console/static/([a-z]+\.[0-9a-f]+\.[a-z]+)$`)},
	{Link, regexp.MustCompile(`^/console/link/([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$`)},
	// Browsers are led to the root without the slash at the end as well: people type it.
	{Console, regexp.MustCompile(`^/console/?()$`)},
	{Console, regexp.MustCompile(`^/console/(inbox|call|question|runs|run|run/result|` +
		`report|lanes|tools|` +
		`login|login/oidc|callback|logout)$`)},
}

// Parse resolves a path as it was sent, with its escapes. It returns false for a path that names
// nothing.
func Parse(path string) (Route, bool) {
	for _, p := range patterns {
		if found := p.path.FindStringSubmatch(path); found != nil {
			return Route{Kind: p.kind, Name: found[1]}, true
		}
	}
	return Route{}, false
}

type routeKey struct{}

// From returns the route of a request that has passed Handlers; the zero Route, which leads
// nowhere, for others.
func From(r *http.Request) Route {
	route, _ := r.Context().Value(routeKey{}).(Route)
	return route
}

// Handlers are what a gateway serves, by kind of route.
type Handlers map[Kind]http.Handler

// ServeHTTP resolves the path of a request and passes the request with its route to the handler of
// that kind. Requests for anything else are answered with 404.
func (h Handlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, ok := Parse(r.URL.EscapedPath())
	next := h[route.Kind]
	switch {
	case r.URL.Path == "/":
		http.Error(w, "nothing is served here: MCP clients use "+ServerPath+", people use "+
			ConsolePath+" if the gateway has a console", http.StatusNotFound)
		return
	case !ok || next == nil:
		http.NotFound(w, r)
		return
	}
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routeKey{}, route)))
}
