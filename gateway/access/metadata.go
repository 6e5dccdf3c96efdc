package access

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// wellKnown is the path of the metadata of RFC 9728. That of a resource with a path is below it.
const wellKnown = "/.well-known/oauth-protected-resource"

// metadata is a document of RFC 9728.
type metadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ResourceName         string   `json:"resource_name"`
}

// describedPath returns the path of the resource whose metadata is at a path, and whether it is a
// path of metadata.
func (s *Settings) describedPath(at string) (path string, ok bool) {
	path, ok = strings.CutPrefix(at, wellKnown)
	if !ok || path != "" && path[0] != '/' {
		return "", false
	}
	if s.publicURL != nil {
		path = strings.TrimPrefix(path, s.publicURL.Path)
	}
	return cmp.Or(strings.TrimSuffix(path, "/"), endpointPath), true
}

// serveMetadata serves the metadata of the gateway and of each of its addresses, to everyone. It
// returns false for other requests.
func (a *rules) serveMetadata(w http.ResponseWriter, r *http.Request) bool {
	path, ok := a.settings.describedPath(r.URL.Path)
	if !ok {
		return false
	}
	if len(a.issuers) == 0 || !a.settings.serves(path) {
		http.NotFound(w, r)
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return true
	}
	m := metadata{Resource: a.settings.resource(path), BearerMethods: []string{"header"},
		ScopesSupported: a.settings.scopesOf(path), ResourceName: "Switchyard"}
	for _, i := range a.settings.issuers {
		if !slices.Contains(m.AuthorizationServers, i.Issuer) {
			m.AuthorizationServers = append(m.AuthorizationServers, i.Issuer)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_ = json.NewEncoder(w).Encode(m) // the client is gone
	return true
}
