package access

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const tokenKinds = "the token is neither an API key nor a signed token"

// Only tokens of the issuer's keys, for this gateway, at this time, are accepted.
func TestTokens_AreRefusedUnlessValid(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, ""), Options{Listen: ":8090", now: c.now})
	forged := newKey(t, "one")
	foreign := newKey(t, "other")
	der, err := x509.MarshalPKIXPublicKey(&a.keys[0].Key.(*ecdsa.PrivateKey).PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	good := a.token(nil)
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	other := strings.Split(a.token(map[string]any{"sub": "eve"}), ".")
	const invalid = "the token is not valid: its signature, algorithm, key or issuer is wrong"
	for name, tt := range map[string]struct {
		authorization, want string
	}{
		"valid":             {"Bearer " + good, ""},
		"lower-case scheme": {"bearer " + good, ""},
		"missing":           {"", "the request has no header Authorization with a bearer token"},
		"another scheme":    {"Basic YTpi", "the header Authorization is not Bearer and one token"},
		"two tokens":        {"Bearer " + good + " x", "the header Authorization is not Bearer and one token"},
		"no token":          {"Bearer abc", tokenKinds},
		"huge":              {"Bearer " + good + strings.Repeat("A", maxToken), tokenKinds},
		"unsigned":          {"Bearer " + none, invalid},
		"signed with the public key": {"Bearer " + signed(t, der, jose.HS256, a.claims(nil)),
			invalid},
		"another key of the same id": {"Bearer " + signed(t, forged, jose.ES256, a.claims(nil)),
			invalid},
		"an unknown key":  {"Bearer " + signed(t, foreign, jose.ES256, a.claims(nil)), invalid},
		"another payload": {"Bearer " + parts[0] + "." + other[1] + "." + parts[2], invalid},
		"another issuer": {"Bearer " + a.token(map[string]any{"iss": "https://evil.example"}),
			"the token's issuer is not trusted"},
		"another audience": {"Bearer " + a.token(map[string]any{"aud": "https://other.example/mcp"}),
			"the token is for another audience"},
		"no audience": {"Bearer " + a.token(map[string]any{"aud": nil}),
			"the token is for another audience"},
		"several audiences": {"Bearer " + a.token(map[string]any{"aud": []string{"x",
			"https://tools.example.org"}}), ""},
		"expired": {"Bearer " + a.token(map[string]any{"exp": c.now().Add(-31 * time.Second).Unix()}),
			"the token is expired"},
		"expired within the skew": {"Bearer " + a.token(map[string]any{
			"exp": c.now().Add(-29 * time.Second).Unix()}), ""},
		"without an end": {"Bearer " + a.token(map[string]any{"exp": nil}), "the token is expired"},
		"of the future": {"Bearer " + a.token(map[string]any{
			"nbf": c.now().Add(time.Minute).Unix()}), "the token is not valid yet"},
		"issued in the future": {"Bearer " + a.token(map[string]any{
			"iat": c.now().Add(time.Minute).Unix()}), "the token is not valid yet"},
		"of no one": {"Bearer " + a.token(map[string]any{"sub": nil}),
			"the claim sub of the token does not identify its owner"},
		"with a line end": {"Bearer " + a.token(map[string]any{"sub": "a\nb"}),
			"the claim sub of the token does not identify its owner"},
		"as a key": {"Bearer " + a.token(map[string]any{"sub": "key:ci"}),
			"the claim sub of the token is a reserved name"},
	} {
		w := posted(h, "/mcp", tt.authorization)
		var answer map[string]string
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
		if status := w.Code; status != http.StatusOK && status != http.StatusUnauthorized ||
			answer["error_description"] != tt.want {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// The caller has the principal, how it was authenticated, and the claims of access.claims only.
func TestTokens_GiveTheCallerItsClaims(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, ""), Options{Listen: ":8090", now: c.now})
	const want = `{"type":"session","id":"ada","auth":"jwt","claims":{"groups":["dev"]}}` + "\n"
	if got := posted(h, "/mcp", "Bearer "+a.token(nil)).Body.String(); got != want {
		t.Errorf("got %s want %s", got, want)
	}
	long := posted(h, "/mcp", "Bearer "+a.token(map[string]any{
		"groups": []string{strings.Repeat("g", maxClaims)}}))
	const tooLarge = `{"error":"claims_too_large","error_description":"the claims that access.claims selects have more than 8192 bytes"}` + "\n"
	if got := long.Body.String(); long.Code != http.StatusForbidden || got != tooLarge {
		t.Errorf("got %d %s", long.Code, got)
	}
}

// New keys are found when a token has one. Withdrawn keys are refused after ten minutes.
func TestKeys_Rotate(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, ""), Options{Listen: ":8090", now: c.now})
	status := func(token string) int { return posted(h, "/mcp", "Bearer "+token).Code }
	exp := map[string]any{"exp": c.now().Add(48 * time.Hour).Unix()}
	old := a.token(exp)
	if got := status(old); got != http.StatusOK {
		t.Fatalf("the first key: %d", got)
	}
	a.rotate("two")
	if got := status(old); got != http.StatusOK {
		t.Errorf("the withdrawn key at once: %d", got)
	}
	c.pass(11 * time.Second)
	if got := status(a.token(exp)); got != http.StatusOK {
		t.Errorf("the new key: %d", got)
	}
	if got := status(old); got != http.StatusUnauthorized {
		t.Errorf("the withdrawn key: %d", got)
	}
	second := a.token(exp)
	a.rotate("three")
	c.pass(keysFresh + time.Second)
	if got := status(second); got != http.StatusOK {
		t.Errorf("the second key, while the keys are fetched again: %d", got)
	}
	if got := status(a.token(exp)); got != http.StatusOK {
		t.Errorf("the third key: %d", got)
	}
	if got := status(second); got != http.StatusUnauthorized {
		t.Errorf("the second key afterwards: %d", got)
	}
}

// Tokens of known keys are verified while the issuer does not answer, however old the keys are and
// whatever forged tokens ask for. The issuer gets one request at a time, and the next one a pause
// after its end.
func TestKeys_OfASlowIssuerBlockNoKnownToken(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, ""), Options{Listen: ":8090", now: c.now})
	token := "Bearer " + a.token(map[string]any{"exp": c.now().Add(20 * time.Hour).Unix()})
	forged := "Bearer " + signed(t, newKey(t, "none"), jose.ES256, a.claims(nil))
	posted(h, "/mcp", token)
	answer := a.block()
	c.pass(keysFresh + time.Minute)
	const forgers = 5
	refused := make(chan int, forgers)
	for range forgers {
		go func() { refused <- posted(h, "/mcp", forged).Code }()
	}
	for range 20 {
		if w := posted(h, "/mcp", token); w.Code != http.StatusOK {
			t.Errorf("a known key: %d %s", w.Code, w.Body)
		}
		c.pass(keysAgain + time.Second)
	}
	answer()
	for range forgers {
		if status := <-refused; status != http.StatusUnauthorized {
			t.Errorf("a forged token: %d", status)
		}
	}
	posted(h, "/mcp", forged)
	if got := a.fetched(); got != 2 {
		t.Errorf("the keys were fetched %d times, want 2", got)
	}
	c.pass(keysAgain + time.Second)
	posted(h, "/mcp", forged)
	if got := a.fetched(); got != 3 {
		t.Errorf("after the pause the keys were fetched %d times, want 3", got)
	}
}

// Forged tokens make the gateway ask the issuer once in ten seconds at most.
func TestKeys_AreNotFetchedForEachForgedToken(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	h := serving(t, trusting(t, a, ""), Options{Listen: ":8090", now: c.now})
	forged := "Bearer " + signed(t, newKey(t, "none"), jose.ES256, a.claims(nil))
	for range 100 {
		posted(h, "/mcp", forged)
		c.pass(100 * time.Millisecond)
	}
	c.pass(10 * time.Second)
	posted(h, "/mcp", forged)
	if got := a.fetched(); got != 2 {
		t.Errorf("the keys were fetched %d times, want 2", got)
	}
}

// While the issuer is down, tokens of known keys are accepted for a day. Without keys the answer is
// that of an outage, so that clients keep their tokens.
func TestKeys_SurviveAnOutageOfTheIssuer(t *testing.T) {
	c := newClock()
	a := newAuthority(t, c)
	o := Options{Listen: ":8090", now: c.now}
	h := serving(t, trusting(t, a, ""), o)
	token := "Bearer " + a.token(map[string]any{"exp": c.now().Add(72 * time.Hour).Unix()})
	posted(h, "/mcp", token)
	a.setDown(true)
	c.pass(keysFresh + time.Minute)
	if w := posted(h, "/mcp", token); w.Code != http.StatusOK {
		t.Errorf("known keys: %d %s", w.Code, w.Body)
	}
	late := posted(serving(t, trusting(t, a, ""), o), "/mcp", token)
	want := `{"error":"temporarily_unavailable","error_description":"the keys of ` + a.server.URL +
		` cannot be fetched: ` + a.server.URL + `/keys answers 502 Bad Gateway"}` + "\n"
	if late.Code != http.StatusServiceUnavailable || late.Body.String() != want ||
		late.Header().Get("Retry-After") != "5" {
		t.Errorf("no keys: %d %s", late.Code, late.Body)
	}
	c.pass(keysStale)
	if w := posted(h, "/mcp", token); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a day later: %d", w.Code)
	}
}
