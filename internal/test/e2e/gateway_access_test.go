package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/switchyard/switchyard/gateway/access"
)

// issuer is an authorization server.
type issuer struct {
	*httptest.Server
	t   *testing.T
	key jose.JSONWebKey
}

func signingKey(t *testing.T) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: "one", Algorithm: string(jose.ES256), Use: "sig"}
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, key: signingKey(t)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration",
		func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL,
				"jwks_uri": i.URL + "/keys"})
		})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{
			Keys: []jose.JSONWebKey{i.key.Public()}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// token returns a token for the gateway, signed by key, with changed claims.
func (i *issuer) token(key jose.JSONWebKey, change map[string]any) string {
	i.t.Helper()
	payload := i.claims(change)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

func (i *issuer) claims(change map[string]any) []byte {
	i.t.Helper()
	now := time.Now()
	claims := map[string]any{"iss": i.URL, "sub": "ada", "aud": "gateway-tests",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, change)
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	return payload
}

// Tokens and keys that are expired, withdrawn, forged or for someone else are refused by a running
// gateway, and a session serves its own caller only.
func TestGateway_RefusesExpiredAndForeignTokens(t *testing.T) {
	i := newIssuer(t)
	g := newGatewayLab(t, fmt.Sprintf("  issuers: [{issuer: %q, audience: [gateway-tests]}]\n"+
		"public_url: https://tools.example.org\n", i.URL))
	g.serve()
	withdrawn := g.apiKey("withdrawn")
	expired, err := access.AddKey(g.keys, access.Key{Name: "expired",
		Expires: time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)},
		time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	r := g.replica()
	c := g.older(r.Endpoint, i.token(i.key, nil), "tokens")
	stop := g.watched(g.older(r.Endpoint, g.apiKey("ben"), "watching"))
	if a := must(t)(g.client(r.Endpoint, withdrawn, "keys").call(g.ctx, "note",
		arguments("text", "a"), nil)); a.text() != `{"text":"a"}` {
		t.Errorf("a key: %s", a.body)
	}
	if err := access.RevokeKey(g.keys, "withdrawn"); err != nil {
		t.Fatal(err)
	}
	g.await("for the withdrawal", func() bool {
		return must(t)(g.client(r.Endpoint, withdrawn, "keys").post(g.ctx,
			[]byte(ping))).status == http.StatusUnauthorized
	})
	encode := base64.RawURLEncoding.EncodeToString
	past := time.Now().Add(-time.Hour).Unix()
	for name, token := range map[string]string{
		"no token":              "",
		"another word":          "secret",
		"an expired key":        expired,
		"an expired token":      i.token(i.key, map[string]any{"exp": past}),
		"of another audience":   i.token(i.key, map[string]any{"aud": "mail"}),
		"of another issuer":     i.token(i.key, map[string]any{"iss": "https://x"}),
		"signed by another key": i.token(signingKey(t), nil),
		"unsigned":              encode([]byte(`{"alg":"none"}`)) + "." + encode(i.claims(nil)) + ".",
		"of another caller":     i.token(i.key, map[string]any{"sub": "eve"}),
	} {
		other, want := *c, http.StatusUnauthorized
		if name == "of another caller" {
			want = http.StatusNotFound // it is valid, and the session is not this caller's
		}
		other.key = token
		if a := must(t)(other.call(g.ctx, "note", arguments("text", "x"),
			nil)); a.status != want {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, want)
		}
	}
	if a := must(t)(c.call(g.ctx, "note", arguments("text", "b"),
		nil)); a.text() != `{"text":"b"}` {
		t.Errorf("afterwards: %s", a.body)
	}
	stop()
	if got := g.texts(); got["x"] != 0 || got["a"] != 1 || got["b"] != 1 {
		t.Errorf("the journal has %v", got)
	}
	if n := len(g.callsOf("note")); n != 2 {
		t.Errorf("%d calls have records, want 2", n)
	}
}
