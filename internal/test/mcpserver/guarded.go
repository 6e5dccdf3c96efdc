package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Guarded is an MCP server that requires a token, and the authorization server that issues it.
// Every login succeeds.
type Guarded struct {
	*httptest.Server
	// Host, if set, replaces the authorization server's host in the MCP server's metadata.
	Host string
	// AuthorizationServer, if set, is the authorization server that the MCP server names.
	AuthorizationServer string
	// Tokens, if set, is the server that accepts the tokens that this one issues.
	Tokens *Guarded
	// MetadataDocuments says that the authorization server supports client metadata documents.
	MetadataDocuments bool
	// Lifetime is the declared lifetime of access tokens in seconds; zero declares none.
	Lifetime int
	// OnToken, if set, runs before the authorization server answers a request for a token.
	OnToken func(*http.Request)
	// Refuse, if set, is the authorization server's answer to token requests. {code} is replaced by
	// the code.
	Refuse string
	// ClientID and ClientSecret belong to a client that is already registered.
	ClientID, ClientSecret string

	mu sync.Mutex
	// challenges are the PKCE challenges of codes; access and refresh are the valid tokens.
	challenges      map[string]string
	access, refresh map[string]bool
	// given has all issued secrets, scopes the requested scopes of each login, and refreshed counts
	// refreshes.
	given     []string
	scopes    []string
	refreshed int
}

// NewGuarded starts the server; its caller closes it.
func NewGuarded(mode string) *Guarded {
	g := &Guarded{challenges: map[string]string{}, access: map[string]bool{},
		refresh: map[string]bool{}}
	mcp := Handler(New(mode))
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		good := g.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		g.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate",
				`Bearer scope="read", resource_metadata="`+g.URL+
					`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		mcp.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter,
		_ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"resource": g.URL + "/mcp",
			"authorization_servers": []string{cmp.Or(g.AuthorizationServer, g.issuer())}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter,
		_ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"issuer": g.issuer(),
			"authorization_endpoint": g.issuer() + "/authorize",
			"token_endpoint":         g.issuer() + "/token", "registration_endpoint": g.issuer() +
				"/register",
			"client_id_metadata_document_supported": g.MetadataDocuments,
			"response_types_supported": []string{
				"code"}, "code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var client map[string]any
		_ = json.NewDecoder(r.Body).Decode(&client)
		client["client_id"], client["client_secret"] = "registered", g.secret()
		reply(w, http.StatusCreated, client)
	})
	mux.HandleFunc("/authorize", g.authorize)
	mux.HandleFunc("/token", g.token)
	g.Server = httptest.NewServer(mux)
	return g
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func (g *Guarded) issuer() string {
	if g.Host == "" {
		return g.URL
	}
	u, _ := url.Parse(g.URL)
	u.Host = g.Host + ":" + u.Port()
	return u.String()
}

// secret issues a secret.
func (g *Guarded) secret() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := "secret-" + rand.Text()
	g.given = append(g.given, text)
	return text
}

func (g *Guarded) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	code := g.secret()
	g.mu.Lock()
	g.challenges[code] = asked.Get("code_challenge")
	g.scopes = append(g.scopes, asked.Get("scope"))
	g.mu.Unlock()
	to := url.Values{"code": {code}, "state": {asked.Get("state")}}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+to.Encode(), http.StatusFound)
}

func (g *Guarded) token(w http.ResponseWriter, r *http.Request) {
	code := r.FormValue("code")
	if g.OnToken != nil {
		g.OnToken(r)
	}
	if g.Refuse != "" {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant",
			"error_description": strings.ReplaceAll(g.Refuse, "{code}", code)})
		return
	}
	if !g.grants(r, code) {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	access, refresh := g.secret(), g.secret()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh[refresh] = true
	if g.Tokens == nil {
		g.access[access] = true
	} else {
		g.Tokens.accept(access)
	}
	answer := map[string]any{"access_token": access, "token_type": "Bearer",
		"refresh_token": refresh}
	if g.Lifetime > 0 {
		answer["expires_in"] = g.Lifetime
	}
	reply(w, http.StatusOK, answer)
}

// accept makes the MCP server accept an access token.
func (g *Guarded) accept(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.access[token] = true
}

// grants reports whether a request may have a token. Codes and refresh tokens are valid once.
func (g *Guarded) grants(r *http.Request, code string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.knows(r)
	switch r.FormValue("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		good := known && g.challenges[code] == base64.RawURLEncoding.EncodeToString(sum[:])
		delete(g.challenges, code)
		return good
	case "refresh_token":
		old := r.FormValue("refresh_token")
		good := known && g.refresh[old]
		delete(g.refresh, old)
		g.refreshed++
		return good
	}
	return known && r.FormValue("grant_type") == "client_credentials"
}

// knows reports whether a request is from a registered client. Its caller has the lock.
func (g *Guarded) knows(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	if plain, err := url.QueryUnescape(id); basic && err == nil {
		id = plain // as RFC 6749 has clients encode it
	}
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	return id == g.ClientID && secret == g.ClientSecret || id == "registered" &&
		slices.Contains(g.given, secret)
}

// Revoke invalidates every access token; with all, the refresh tokens too.
func (g *Guarded) Revoke(all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.access)
	if all {
		clear(g.refresh)
	}
}

// Refreshes returns how often a refresh token was used.
func (g *Guarded) Refreshes() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refreshed
}

// Secrets returns all issued secrets.
func (g *Guarded) Secrets() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.given)
}

// Browse opens an address as a browser does and returns the last address of its redirects.
func Browse(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := browser.Do(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	return resp.Header.Get("Location"), nil
}

// LoginScopes returns the scopes of each login.
func (g *Guarded) LoginScopes() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.scopes)
}
