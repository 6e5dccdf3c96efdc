package login

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/routes"
)

// provided is an OpenID provider at which ada is logged in.
type provided struct {
	t      *testing.T
	server *httptest.Server
	key    jose.JSONWebKey

	mu sync.Mutex
	// codes are the requests for which codes were issued.
	codes map[string]url.Values
	// edit changes the claims of ID tokens; signer signs them, if set.
	edit   map[string]any
	signer *jose.JSONWebKey
}

func newProvider(t *testing.T) *provided {
	t.Helper()
	p := &provided{t: t, key: newKey(t), codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration",
		func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.server.URL,
				"jwks_uri": p.server.URL + "/keys", "token_endpoint": p.server.URL + "/token",
				"authorization_endpoint":                p.server.URL + "/authorize",
				"id_token_signing_alg_values_supported": []string{"ES256"}})
		})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p.key.Public()}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.server = httptest.NewServer(mux)
	t.Cleanup(p.server.Close)
	return p
}

func newKey(t *testing.T) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: "one", Algorithm: "ES256", Use: "sig"}
}

func (p *provided) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	code := rand.Text()
	p.codes[code] = q
	if q.Get("client_id") != "console" || q.Get("code_challenge_method") != "S256" ||
		q.Get("scope") != "openid groups" {
		p.t.Errorf("the login asks for %v", q)
	}
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

func (p *provided) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	code := r.PostFormValue("code")
	asked, known := p.codes[code]
	delete(p.codes, code) // a code is used once
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	claims := map[string]any{"iss": p.server.URL, "sub": "ada", "aud": "console",
		"nonce": asked.Get("nonce"), "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"finance"}}
	for name, value := range p.edit {
		claims[name] = value
	}
	key := p.key
	if p.signer != nil {
		key = *p.signer
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "secret-access-token",
		"token_type": "Bearer", "id_token": signed(p.t, key, claims)})
}

func signed(t *testing.T, key jose.JSONWebKey, claims any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Error(err)
		return ""
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Error(err)
	}
	return text
}

// replica is a console behind a login, whose pages write who sends a request.
type replica struct {
	t      *testing.T
	server *httptest.Server
	login  *Login
	// audit is what was logged.
	audit *lockedBuffer

	mu  sync.Mutex
	now time.Time
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (r *replica) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// settings writes a gateway.yaml and returns its path. ada of finance approves, and the key boss
// sees.
func settings(t *testing.T, p *provided) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	text := "public_url: https://tools.example.org\nlimits: {requests_per_second: 10000}\n"
	if p != nil {
		text += fmt.Sprintf("access:\n  issuers: [{issuer: %q}]\n", p.server.URL) + `  claims: [groups]
  roles:
    viewer: ["key:boss"]
    approver: [{claims: {groups: [finance]}}]
  api_keys: keys.yaml
console:
  ended_sessions: ended.yaml
  session: 1h
  login:
    client_id: console
    client_secret: env:CONSOLE_SECRET
    scopes: [groups]
` + fmt.Sprintf("    issuer: %q\n", p.server.URL)
		t.Setenv("CONSOLE_SECRET", "planted-client-secret")
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "keys.yaml"), []byte("keys: []\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a replica with a gateway.yaml.
func serve(t *testing.T, path string, change func(*Config)) *replica {
	t.Helper()
	r := &replica{t: t, audit: &lockedBuffer{}, now: time.Now()}
	guard, err := access.Open(path, access.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Close)
	c := Config{Access: guard, Key: []byte("shared"),
		Audit: slog.New(slog.NewTextHandler(r.audit, nil)), now: func() time.Time {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.now
		}}
	if change != nil {
		change(&c)
	}
	if r.login, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.login.Close)
	pages := guard.Screen(r.login.Middleware(http.HandlerFunc(
		func(w http.ResponseWriter, req *http.Request) {
			_ = json.NewEncoder(w).Encode(PrincipalFromContext(req.Context()))
		})))
	r.server = httptest.NewServer(routes.Handlers{routes.Console: pages})
	t.Cleanup(r.server.Close)
	// The provider sends browsers to public_url, which is this server.
	r.login.provider.Address = r.server.URL
	return r
}

// browser is a client with cookies. It follows redirects unless it is told not to.
type browser struct {
	*http.Client
	t *testing.T
}

func newBrowser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{Client: &http.Client{Jar: jar}, t: t}
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   string
	// at is the address of the last request.
	at *url.URL
}

func (b browser) do(r *http.Request) answer {
	b.t.Helper()
	res, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, body: string(body),
		at: res.Request.URL}
}

func (b browser) get(address string) answer {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

// post sends a form; headers are pairs.
func (b browser) post(address string, form url.Values, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, address, bytes.NewBufferString(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

// still returns the browser without following redirects.
func (b browser) still() browser {
	c := *b.Client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return browser{Client: &c, t: b.t}
}

// who returns the principal that the console has seen.
func (a answer) who(t *testing.T) (p Principal) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("status %d at %s: %s", a.status, a.at, a.body)
	}
	return p
}
