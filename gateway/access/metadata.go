package access

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/gateway/routes"
)

// metadata is a document of RFC 9728.
type metadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ResourceName         string   `json:"resource_name"`
}

// findRoute returns the route of the server whose metadata has the given name. Clients have the
// path of public_url in it, and a proxy may have removed that.
func (s *Settings) findRoute(name string) (routes.Route, bool) {
	if s.publicURL != nil {
		name = strings.TrimPrefix(name, s.publicURL.EscapedPath())
	}
	if name == "" {
		return mainServer, s.serves(mainServer)
	}
	route, ok := routes.Parse(name)
	return route, ok && s.serves(route)
}

// serveMetadata serves the metadata of the gateway and of each of its servers, to everyone. It
// returns false for other requests.
func (a *rules) serveMetadata(w http.ResponseWriter, r *http.Request) bool {
	at := routes.From(r)
	if at.Kind != routes.Metadata {
		return false
	}
	route, ok := a.settings.findRoute(at.Name)
	if len(a.issuers) == 0 || !ok {
		http.NotFound(w, r)
		return true
	}
	routes.Methods{http.MethodGet: func(w http.ResponseWriter, _ *http.Request) {
		a.writeMetadata(w, route)
	}}.ServeHTTP(w, r)
	return true
}

// writeMetadata writes the metadata of what a route leads to.
func (a *rules) writeMetadata(w http.ResponseWriter, route routes.Route) {
	m := metadata{Resource: a.settings.resource(route), BearerMethods: []string{"header"},
		ScopesSupported: a.settings.scopes(route), ResourceName: "Switchyard"}
	for _, i := range a.settings.issuers {
		if !slices.Contains(m.AuthorizationServers, i.Issuer) {
			m.AuthorizationServers = append(m.AuthorizationServers, i.Issuer)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_ = json.NewEncoder(w).Encode(m) // the client is gone
}
