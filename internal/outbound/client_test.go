package outbound

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// A proxy of the environment would connect without the guard. net/http reads the environment once
// per process, so a test cannot set it.
func TestTransport_IgnoresProxies(t *testing.T) {
	g, err := NewGuard(Policy{Public: true})
	if err != nil {
		t.Fatal(err)
	}
	if g.Transport().Proxy != nil {
		t.Error("requests may go through a proxy")
	}
}

// On a reused connection, net/http sends a request again when the connection breaks.
func TestTransport_ReusesNoConnection(t *testing.T) {
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := clientOf(t, Policy{Allow: []string{"127.0.0.1"}}, s.URL)
	for range 3 {
		if _, err := get(t, c, s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("%d connections for 3 requests", n)
	}
}

// newPlace returns a server that answers with its request and redirects to ?to=.
func newPlace(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+"|"+r.Header.Get("X-Custom")+"|"+
			r.Header.Get("Accept")+"|"+r.URL.RawQuery)
	}))
	t.Cleanup(s.Close)
	return s
}

func clientOf(t *testing.T, p Policy, origin string) *http.Client {
	t.Helper()
	g, err := NewGuard(p)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	return Client(g.Transport(), u, func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer hidden")
		r.URL.RawQuery += "&key=hidden"
		return nil
	})
}

func get(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Custom", "mine")
	req.Header.Set("Accept", "text/plain")
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// Headers for the origin reach it, also after a redirect within it, and no other place. Headers of
// the request stay there too, and no error contains the secret.
func TestClient_KeepsSecretsAtTheirOrigin(t *testing.T) {
	origin, other := newPlace(t), newPlace(t)
	c := clientOf(t, Policy{Allow: []string{"127.0.0.1"}}, origin.URL)
	for address, want := range map[string]string{
		origin.URL + "/?a=b":                   "Bearer hidden|mine|text/plain|a=b&key=hidden",
		origin.URL + "/?to=/elsewhere":         "Bearer hidden|mine|text/plain|&key=hidden",
		origin.URL + "/?to=" + other.URL + "/": "||text/plain|",
		other.URL + "/":                        "|mine|text/plain|",
		other.URL + "/?to=" + origin.URL +
			"/": "Bearer hidden||text/plain|&key=hidden",
		strings.Replace(origin.URL, "http", "HTTP", 1) +
			"/": "Bearer hidden|mine|text/plain|&key=hidden",
	} {
		if got, err := get(t, c, address); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", address, got, err, want)
		}
	}
	origin.Close()
	if _, err := get(t, c, origin.URL); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

// An error of the function that adds the secret ends the request and is returned unchanged.
func TestClient_WithoutItsSecretSendsNothing(t *testing.T) {
	origin := newPlace(t)
	g, err := NewGuard(Policy{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(origin.URL)
	if err != nil {
		t.Fatal(err)
	}
	missing := api.Errorf(api.ErrPreconditionFailed, "no secret")
	c := Client(g.Transport(), u, func(*http.Request) error { return missing })
	_, err = c.Post(origin.URL, "text/plain", strings.NewReader("body"))
	if got := Failure(t.Context(), t.Context(), err); !errors.Is(got, missing) {
		t.Errorf("got %v", got)
	}
}

// After a redirect, a request has been sent.
func TestRefusals_ArePolicyViolationsBeforeSending(t *testing.T) {
	origin, other := newPlace(t), newPlace(t)
	_, port, err := net.SplitHostPort(other.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	inside := Policy{Allow: []string{"127.0.0.1"}}
	_, err = get(t, clientOf(t, inside, origin.URL), origin.URL+"/?to=http://[::1]:"+port)
	if e := api.AsError(Failure(t.Context(), t.Context(), err)); e.Type != api.ErrExecution ||
		e.Retryable || e.Message != "the server redirected to another address, and ::1 is refused: it is not one of the allowed hosts; to reach it, add it to allow in the toolspec" {
		t.Errorf("after a redirect: %v", e)
	}
	_, err = get(t, clientOf(t, Policy{Hosts: []string{"127.0.0.1"}}, origin.URL), origin.URL)
	if e := api.AsError(Failure(t.Context(), t.Context(), err)); e.Type != api.ErrPolicyViolation ||
		e.Message != "127.0.0.1 is refused: its address 127.0.0.1 is loopback; to reach it, add the host, the address or its range to allow in the toolspec or to SWITCHYARD_HTTP_ALLOW of the worker" {
		t.Errorf("at once: %v", e)
	}
	// Unusual spellings lead to the addresses that they mean, or nowhere; some depend on the
	// system's resolver.
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]",
		"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"0.0.0.0", "127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "017700000001",
		"１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "0"} {
		c := clientOf(t, Policy{Public: true, Hosts: []string{strings.Trim(host, "[]")}},
			origin.URL)
		if got, err := get(t, c, "http://"+host+":"+port); err == nil {
			t.Errorf("%s was reached: %s", host, got)
		}
	}
}

// An explicit default port is the same place.
func TestSamePlace_ComparesSchemeHostAndPort(t *testing.T) {
	for pair, want := range map[string]bool{
		"https://a.example/x https://A.example:443/y": true,
		"http://a.example:80 http://a.example":        true, "http://[::1]:80 http://[::1]/": true,
		"https://a.example http://a.example":         false,
		"https://a.example:443 http://a.example:443": false,
		"https://a.example https://a.example:80":     false,
		"https://a.example https://b.a.example":      false,
		"https://a.example https://a.example.":       false,
	} {
		first, second, _ := strings.Cut(pair, " ")
		a, err := url.Parse(first)
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(second)
		if err != nil {
			t.Fatal(err)
		}
		if samePlace(a, b) != want || samePlace(b, a) != want {
			t.Errorf("%s: got %t", pair, !want)
		}
	}
}

// An answer 101 ends the request: its body is the raw connection, whose reads do not end with a
// context.
func TestClient_RejectsSwitchedProtocols(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "other")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	defer server.Close()
	origin, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response, err := Client(http.DefaultTransport, origin, nil).Get(server.URL)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, errSwitched) {
		t.Errorf("got %v", err)
	}
}
