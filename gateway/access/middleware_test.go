package access

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/httpserver"

	"github.com/switchyard/switchyard/gateway/routes"
)

// An unauthorized client learns where to get a token, and one whose token has too few scopes which
// ones to ask for.
func TestChallenges_LeadToTheMetadata(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, `
servers:
  default: {tools: ["*"]}
  billing: {tools: ["*"], scopes: [billing], claims: {groups: [finance]}}
`), Options{Listen: ":8090", now: c.now})
	token := func(scope, group string) string {
		return "Bearer " + a.token(map[string]any{"scope": scope, "groups": []string{group},
			"aud": "https://tools.example.org"})
	}
	const well = "https://tools.example.org/.well-known/oauth-protected-resource"
	for _, tt := range []struct {
		path, authorization string
		status              int
		challenge           string
	}{
		{"/mcp", "", 401, `Bearer scope="tools", resource_metadata="` + well + `/mcp"`},
		{"/mcp/billing", "", 401, `Bearer scope="tools billing", resource_metadata="` + well +
			`/mcp/billing"`},
		{"/mcp/nowhere", "", 401, `Bearer scope="tools", resource_metadata="` + well + `/mcp"`},
		{"/mcp/nowhere", token("tools", "dev"), 404, ""},
		{"/nowhere", "", 404, ""},
		{"/mcp", "Bearer x", 401, `Bearer error="invalid_token", error_description="` + tokenKinds +
			`", scope="tools", resource_metadata="` + well + `/mcp"`},
		{"/operator", token("tools", "dev"), 403, `Bearer error="insufficient_scope", ` +
			`error_description="this address needs the scope tools operator", ` +
			`scope="tools operator", resource_metadata="` + well + `/operator"`},
		{"/mcp", token("", "dev"), 403, `Bearer error="insufficient_scope", ` +
			`error_description="this address needs the scope tools", scope="tools", ` +
			`resource_metadata="` + well + `/mcp"`},
		{"/mcp/billing", token("tools billing", "dev"), 403, ""},
		{"/mcp/billing", token("tools billing", "finance"), 200, ""},
		{"/operator", token("tools operator", "dev"), 200, ""},
	} {
		w := posted(h, tt.path, tt.authorization)
		if got := w.Header().Get("WWW-Authenticate"); w.Code != tt.status || got != tt.challenge {
			t.Errorf("%s: %d %s\nwant %d %s", tt.path, w.Code, got, tt.status, tt.challenge)
		}
	}
}

// The metadata of RFC 9728 is served to everyone, also at the addresses with the path of a
// resource.
func TestMetadata_DescribesEachAddress(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, `
servers: {default: {tools: ["*"]}, billing: {tools: ["*"], scopes: [billing]}}
`), Options{Listen: ":8090", now: c.now})
	for path, want := range map[string]string{
		"":              document("/mcp", a, `"tools"`),
		"/mcp":          document("/mcp", a, `"tools"`),
		"/mcp/billing":  document("/mcp/billing", a, `"tools","billing"`),
		"/operator":     document("/operator", a, `"tools","operator"`),
		"/mcp/nowhere":  "404 page not found\n",
		"/other":        "404 page not found\n",
		"/mcp/billing/": "404 page not found\n",
	} {
		r := httptest.NewRequest(http.MethodGet, routes.MetadataPath+path, nil)
		r.Host = "tools.example.org"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Body.String(); got != want {
			t.Errorf("%s: %s want %s", path, got, want)
		}
	}
}

func document(path string, a *authority, scopes string) string {
	return `{"resource":"https://tools.example.org` + path + `","authorization_servers":["` +
		a.server.URL + `"],"scopes_supported":[` + scopes +
		`],"bearer_methods_supported":["header"],"resource_name":"Switchyard"}` + "\n"
}

// Without authentication the gateway serves its own machine only, under the names of the loopback
// interface, and no web pages of others.
func TestLoopback_ServesNoOtherHostsAndPages(t *testing.T) {
	const refused = "the gateway does not listen on %s without authentication: set access.issuers or access.api_keys in gateway.yaml, or listen on 127.0.0.1"
	for _, listen := range []string{":8090", "0.0.0.0:8090", "192.0.2.1:80", "[::]:8090", "x:1"} {
		if _, err := New(NewSettings(), Options{Listen: listen}); err == nil ||
			err.Error() != fmt.Sprintf(refused, listen) {
			t.Errorf("%s: %v", listen, err)
		}
	}
	h := serving(t, NewSettings(), Options{Listen: "127.0.0.1:8090"})
	for _, tt := range []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:8090", "", 200}, {"localhost:8090", "", 200}, {"LOCALHOST", "", 200},
		{"[::1]:8090", "", 200}, {"evil.example:8090", "", 403}, {"", "", 403},
		{"127.0.0.1:8090", "http://evil.example", 403}, {"127.0.0.1:8090", "null", 403},
		{"127.0.0.1:8090", "http://127.0.0.1:8090", 200}, // its own pages
		{"127.0.0.1:8090", "http://127.0.0.1:8091", 403},
		{"127.0.0.1:8090", "http://localhost:8090", 403},
		{"127.0.0.1:8090", "https://127.0.0.1:8090", 403},
		{"evil.example", "http://evil.example", 403},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.status {
			t.Errorf("host %q, origin %q: %d %s", tt.host, tt.origin, w.Code, w.Body)
		}
	}
}

// Pages of the gateway's own address may send requests, and no others.
func TestOrigins_AreThoseOfTheGateway(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, ""), Options{Listen: ":8090", now: c.now})
	for _, tt := range []struct {
		host, origin string
		status       int
	}{
		{"tools.example.org", "https://tools.example.org", http.StatusUnauthorized},
		{"tools.example.org", "https://inspector.example.org", http.StatusForbidden},
		{"tools.example.org", "", http.StatusForbidden},
		{"evil.example", "https://tools.example.org", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Host = tt.host
		r.Header.Set("Origin", tt.origin)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.status {
			t.Errorf("%s at %s: %d", tt.origin, tt.host, w.Code)
		}
	}
}

// Each principal has its own limits. Streams of events are not counted as in flight.
func TestLimits_ApplyToEachPrincipal(t *testing.T) {
	c := newClock()
	l := newLimiter(limits{Requests: 2, Burst: 3, InFlight: 2}, c.now)
	enter := func(principal, method string) (func(), string) {
		done, err := l.enter(principal, method)
		if err != nil {
			return nil, fmt.Sprintf("%v, again in %v", err, asRefusal(err).retry)
		}
		return done, ""
	}
	first, _ := enter("ada", http.MethodPost)
	_, _ = enter("ada", http.MethodPost)
	_, why := enter("ada", http.MethodPost)
	if want := "too_many_in_flight: more than 2 requests are in flight, again in 1s"; why != want {
		t.Errorf("got %q", why)
	}
	_, why = enter("ada", http.MethodPost)
	if want := "rate_limited: more than 2 requests per second, again in 500ms"; why != want {
		t.Errorf("got %q", why)
	}
	if _, why := enter("bob", http.MethodPost); why != "" {
		t.Errorf("another principal: %s", why)
	}
	first()
	c.pass(time.Second)
	if _, why := enter("ada", http.MethodPost); why != "" {
		t.Errorf("after the end of a request: %s", why)
	}
	if _, why := enter("ada", http.MethodGet); why != "" {
		t.Errorf("a stream: %s", why)
	}
}

// Principals without a request in flight are forgotten when there are many.
func TestLimits_RememberABoundedNumberOfPrincipals(t *testing.T) {
	l := newLimiter(limits{Requests: 1, Burst: 1, InFlight: 1}, time.Now)
	if _, err := l.enter("busy", http.MethodPost); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxPrincipals {
		done, err := l.enter(fmt.Sprint(i), http.MethodPost)
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
	if got := len(l.by); got > maxPrincipals || l.by["busy"] == nil {
		t.Errorf("%d principals are remembered", got)
	}
}

// A body that is too large is refused, whether its size is declared or not.
func TestBodies_AreLimited(t *testing.T) {
	s := loadSettings(t, "limits: {body: 1KiB}\n")
	h := serving(t, s, Options{Listen: "127.0.0.1:8090"})
	for _, declared := range []bool{true, false} {
		for size, want := range map[int]int{1024: 200, 1025: 413} {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp",
				strings.NewReader(strings.Repeat("x", size)))
			if !declared {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%d bytes, declared: %v: %d %s", size, declared, w.Code, w.Body)
			}
		}
	}
}

// A client that sends its body slowly is cut off, while others are served. A call that takes longer
// than the body may is not.
func TestBodies_OfSlowClientsAreCutOff(t *testing.T) {
	a, err := New(NewSettings(), Options{Listen: "127.0.0.1:0", bodyWithin: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	h := routed(a.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		longer, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		select {
		case <-longer.Done():
		case <-r.Context().Done():
			t.Error("the request ended before its call")
		}
	})))
	server := httptest.NewUnstartedServer(h)
	server.Config = httpserver.New(h, httpserver.Limits{Body: 1 << 20})
	server.Start()
	defer server.Close()
	slow, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	response, err := http.Post(server.URL+"/mcp", "application/json", strings.NewReader("{}"))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("another client: %v %v", response, err)
	} else {
		_ = response.Body.Close()
	}
	cut, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil || cut.StatusCode != http.StatusRequestTimeout {
		t.Errorf("the slow client: %v %v", cut, err)
	} else {
		_ = cut.Body.Close()
	}
}
