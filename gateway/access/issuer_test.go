package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/switchyard/switchyard/gateway/routes"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// authority is an authorization server with keys.
type authority struct {
	t      *testing.T
	clock  *clock
	server *httptest.Server

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	down    bool
	fetches int
	// blocked, if set, holds back the keys until it is closed.
	blocked chan struct{}
}

func newAuthority(t *testing.T, c *clock) *authority {
	t.Helper()
	a := &authority{t: t, clock: c}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration",
		func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": a.server.URL,
				"jwks_uri": a.server.URL + "/keys"})
		})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		blocked := a.blocked
		a.mu.Unlock()
		if blocked != nil {
			<-blocked
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.fetches++
		if a.down {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var set jose.JSONWebKeySet
		for _, k := range a.keys {
			set.Keys = append(set.Keys, k.Public())
		}
		_ = json.NewEncoder(w).Encode(set)
	})
	a.server = httptest.NewServer(mux)
	t.Cleanup(a.server.Close)
	a.rotate("one")
	return a
}

// newKey returns a key that is named id.
func newKey(t *testing.T, id string) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: "ES256", Use: "sig"}
}

// rotate replaces the keys.
func (a *authority) rotate(id string) {
	a.t.Helper()
	key := newKey(a.t, id)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = []jose.JSONWebKey{key}
}

func (a *authority) setDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// block has the authority hold back its keys until answer is called.
func (a *authority) block() (answer func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	blocked := make(chan struct{})
	a.blocked = blocked
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.blocked = nil
		close(blocked)
	}
}

func (a *authority) fetched() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fetches
}

// claims are those of a valid token, changed by edit.
func (a *authority) claims(edit map[string]any) map[string]any {
	c := map[string]any{"iss": a.server.URL, "sub": "ada", "aud": "https://tools.example.org/mcp",
		"exp": a.clock.now().Add(time.Hour).Unix(), "iat": a.clock.now().Unix(),
		"scope": "tools", "groups": []string{"dev"}, "secret": "s"}
	for name, value := range edit {
		c[name] = value
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

// token returns a token of the authority's key.
func (a *authority) token(edit map[string]any) string {
	a.t.Helper()
	return signed(a.t, a.keys[0], jose.ES256, a.claims(edit))
}

func signed(t *testing.T, key any, algorithm jose.SignatureAlgorithm, claims any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// load reads the file at path.
func load(path string) (*Settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return decodeSettings(path, data)
}

// loadSettings reads a gateway.yaml.
func loadSettings(t *testing.T, text string) *Settings {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// trusting returns settings that trust an authority.
func trusting(t *testing.T, a *authority, more string) *Settings {
	t.Helper()
	return loadSettings(t, `
public_url: https://tools.example.org
access:
  issuers: [{issuer: "`+a.server.URL+`", clock_skew: 30s}]
  scopes: [tools]
  claims: [groups]
`+more)
}

// serving returns the middleware in front of a handler that writes who sent the request.
func serving(t *testing.T, s *Settings, o Options) http.Handler {
	t.Helper()
	a, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return routed(a.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(CallerFromContext(r.Context()))
	})))
}

// routed routes the requests of MCP clients to a handler.
func routed(h http.Handler) http.Handler {
	return routes.Handlers{routes.Server: h, routes.Operator: h, routes.Metadata: h}
}

// posted returns the answer to a request with a header Authorization.
func posted(h http.Handler, path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.Host = "tools.example.org"
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
