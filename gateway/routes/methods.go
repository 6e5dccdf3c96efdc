package routes

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Methods are the handlers of one route by method. HEAD is served as GET.
type Methods map[string]http.HandlerFunc

// ServeHTTP passes a request to the handler of its method, and answers others with 405.
func (m Methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if serve := m[method]; serve != nil {
		serve(w, r)
		return
	}
	allowed := slices.Sorted(maps.Keys(m))
	if m[http.MethodGet] != nil {
		allowed = append(allowed, http.MethodHead)
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

// Pages are the handlers of routes by name.
type Pages map[string]Methods

// ServeHTTP passes a request to the handler of its route's name, and answers others with 404.
func (p Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, ok := p[From(r).Name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	page.ServeHTTP(w, r)
}
