package toolspecs

import (
	"cmp"
	"net/url"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/outbound"
)

// AuthOAuth is the type of Auth whose secret a login gives.
const AuthOAuth = "oauth"

// The ways in which a client gets its token.
const (
	// GrantAuthorizationCode has a person log in with a browser.
	GrantAuthorizationCode = "authorization_code"
	// GrantClientCredentials has the client log in with its own secret.
	GrantClientCredentials = "client_credentials"
)

// DefaultRedirectURL is where a browser is sent after a login. Nothing is there: the person copies the address that the
// browser ends at.
const DefaultRedirectURL = "http://127.0.0.1:8976/callback"

// OAuth reports whether calls get their token by a login.
func (a *Auth) OAuth() bool { return a != nil && a.Type == AuthOAuth }

// oauth checks what a login needs.
func (c *checker) oauth(e Entry) {
	a := e.Auth
	if e.Type != api.KindMCP {
		c.add("$.entry.auth.type", "give a token that you have: type: bearer", "oauth is for MCP servers with url")
		return
	}
	if a.Grant == GrantClientCredentials {
		c.clientCredentials(a)
	} else if a.Secret != "" && a.ClientID == "" {
		c.add("$.entry.auth", "write client_id: and what the authorization server knows the client by", "the client's secret needs its client_id")
	}
	c.loginURLs(a)
	for i, scope := range a.Scopes {
		if !isScope(scope) {
			c.add(jsonpath.Index("$.entry.auth.scopes", i), "list each by itself", "a scope is one word without quotation marks and backslashes")
		}
	}
}

// isScope reports whether text is one scope as RFC 6749 has them.
func isScope(text string) bool {
	for _, r := range text {
		if r <= ' ' || r >= 0x7f || r == '"' || r == '\\' {
			return false
		}
	}
	return text != ""
}

func (c *checker) loginURLs(a *Auth) {
	if a.RedirectURL != "" {
		c.loginURL("$.entry.auth.redirect_url", a.RedirectURL)
	}
	if a.ClientMetadataURL == "" {
		return
	}
	u := c.loginURL("$.entry.auth.client_metadata_url", a.ClientMetadataURL)
	if u != nil && (u.Scheme != "https" || u.Path == "" || u.Path == "/") {
		c.add("$.entry.auth.client_metadata_url", "write it as in https://example.com/client.json", "the client's document has an https address with a path")
	}
}

func (c *checker) loginURL(path, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		c.add(path, "", "this cannot be read as a URL")
		return nil
	}
	if err := outbound.CheckURL(u); err != nil {
		c.add(path, "", "%v", err)
		return nil
	}
	return u
}

func (c *checker) clientCredentials(a *Auth) {
	if a.ClientID == "" || a.Secret == "" {
		c.add("$.entry.auth", "write client_id: and secret: env:NAME", "grant: client_credentials needs client_id and secret")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"client_metadata_url", a.ClientMetadataURL != ""}, {"redirect_url", a.RedirectURL != ""}, {"scopes", a.Scopes != nil}} {
		if f.set {
			c.addKey("$.entry.auth."+f.name, "remove it", "%s is for grant: authorization_code", f.name)
		}
	}
}

// onlyOAuth reports what only oauth has.
func (c *checker) onlyOAuth(a *Auth) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"client_id", a.ClientID != ""}, {"client_metadata_url", a.ClientMetadataURL != ""}, {"redirect_url", a.RedirectURL != ""},
		{"scopes", a.Scopes != nil}, {"grant", a.Grant != ""}} {
		if f.set {
			c.addKey("$.entry.auth."+f.name, "remove it, or say type: oauth", "%s is for the type oauth", f.name)
		}
	}
}

// Redirect returns where the browser is sent after a login.
func (a *Auth) Redirect() string { return cmp.Or(a.RedirectURL, DefaultRedirectURL) }
