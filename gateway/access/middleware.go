package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/gateway/routes"
)

// bodyWithin bounds the arrival of a request's body, so that slow clients free their places.
const bodyWithin = 30 * time.Second

// restWithin bounds how long the server waits for the rest of a refused request's body, which it
// reads before it answers.
const restWithin = time.Second

// serve is Access.Middleware for one request.
func (a *rules) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if refused := a.hosts.check(r); refused != nil {
		a.refuse(w, r, refused)
		return
	}
	if a.serveMetadata(w, r) {
		return
	}
	route := routes.From(r)
	principal, err := a.authenticate(r, route)
	if err == nil {
		err = a.authorize(principal, route)
		principal.Roles = a.settings.findRoles(principal)
	}
	if err != nil {
		a.refuse(w, r, asRefusal(err))
		return
	}
	done, err := a.limits.enter(principal.ID, r.Method)
	if err != nil {
		a.refuse(w, r, asRefusal(err))
		return
	}
	defer done()
	if err := a.readBody(w, r); err != nil {
		a.refuse(w, r, asRefusal(err))
		return
	}
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, principal)))
}

// authenticate returns who sends a request.
func (a *rules) authenticate(r *http.Request, route routes.Route) (Identity, error) {
	if !a.settings.Authenticates() {
		return localIdentity, nil
	}
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return Identity{}, &refusal{status: http.StatusUnauthorized,
			message: "the request has no header Authorization with a bearer token"}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" ||
		strings.ContainsAny(token, " \t,") {
		return Identity{}, refuseCredential("the header Authorization is not Bearer and one token")
	}
	if strings.HasPrefix(token, keyPrefix) {
		return a.keys.principal(token, a.options.now())
	}
	return a.tokenPrincipal(r.Context(), token, route)
}

// authorize checks that a principal may use what a route leads to.
func (a *rules) authorize(p Identity, route routes.Route) error {
	if !a.settings.serves(route) {
		return &refusal{status: http.StatusNotFound, code: "not_found",
			message: "there is nothing at this address"}
	}
	if p.Method == localIdentity.Method {
		return nil
	}
	need := a.settings.scopes(route)
	for _, scope := range need {
		if !slices.Contains(p.Scopes, scope) {
			return &refusal{status: http.StatusForbidden, code: "insufficient_scope", scope: need,
				message: "this address needs the scope " + strings.Join(need, " ")}
		}
	}
	if s := a.settings.server(route); s != nil && !s.admits(p.Claims) {
		return &refusal{status: http.StatusForbidden, code: "access_denied",
			message: "the virtual server requires claims that this identity does not have"}
	}
	return nil
}

// readBody reads the whole body, within its limits of size and time.
func (a *rules) readBody(w http.ResponseWriter, r *http.Request) error {
	limit := a.settings.limits.Body
	tooLarge := &refusal{status: http.StatusRequestEntityTooLarge, code: "request_too_large",
		message: fmt.Sprintf("the body is larger than %d bytes", limit)}
	if r.ContentLength > limit {
		return tooLarge
	}
	// Writers that have no connection, as in tests, have no deadlines either. The deadline of the
	// server would end the request's context while a call runs.
	control := http.NewResponseController(w)
	if r.Body == nil || r.Body == http.NoBody {
		_ = control.SetReadDeadline(time.Time{})
		return nil
	}
	_ = control.SetReadDeadline(time.Now().Add(a.options.bodyWithin))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{status: http.StatusRequestTimeout, code: "request_timeout",
			message: fmt.Sprintf("the body did not arrive within %v", a.options.bodyWithin)}
	case err != nil:
		return &refusal{status: http.StatusBadRequest, code: "invalid_request",
			message: "the body cannot be read"}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// refuse answers a request that may not pass.
func (a *rules) refuse(w http.ResponseWriter, r *http.Request, f *refusal) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restWithin))
	if f.status == http.StatusUnauthorized || f.scope != nil {
		w.Header().Set("WWW-Authenticate", a.challenge(r, f))
	}
	if f.retry > 0 {
		seconds := int(math.Ceil(f.retry.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(max(seconds, 1)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(f.status)
	answer := map[string]string{"error": f.code, "error_description": f.message}
	if f.code == "" {
		answer["error"] = "unauthorized"
	}
	_ = json.NewEncoder(w).Encode(answer) // the client is gone
}

// challenge is the header that says how to be authorized.
func (a *rules) challenge(r *http.Request, f *refusal) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+strconv.Quote(value))
		}
	}
	add("error", f.code)
	if f.code != "" {
		add("error_description", quotable(f.message))
	}
	need := f.scope
	if need == nil {
		need = a.settings.scopes(routes.From(r))
	}
	add("scope", strings.Join(need, " "))
	if len(a.issuers) > 0 {
		add("resource_metadata", a.settings.metadataURL(routes.From(r)))
	}
	if len(parts) == 0 {
		return "Bearer"
	}
	return "Bearer " + strings.Join(parts, ", ")
}

// quotable returns text with the characters only that RFC 6750 allows in error_description.
func quotable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '\''
		}
		return r
	}, text)
}
