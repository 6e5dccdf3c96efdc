package toolspecs

import (
	"net/url"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/outbound"
)

// oauth checks what a login needs.
func (c *checker) oauth(e Entry) {
	a := e.Auth
	if e.Type != api.KindMCP {
		c.Add("$.entry.auth.type", "give a token that you have: type: bearer", "oauth is for MCP servers with url")
		return
	}
	if a.Grant == outbound.GrantClientCredentials {
		c.clientCredentials(a)
	} else if a.Secret != "" && a.ClientID == "" {
		c.Add("$.entry.auth", "write client_id: and what the authorization server knows the client by", "the client's secret needs its client_id")
	}
	c.loginURLs(a)
	for i, scope := range a.Scopes {
		if !isScope(scope) {
			c.Add(jsonpath.Index("$.entry.auth.scopes", i), "list each by itself", "a scope is one word without quotation marks and backslashes")
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

func (c *checker) loginURLs(a *outbound.Auth) {
	if a.RedirectURL != "" {
		c.loginURL("$.entry.auth.redirect_url", a.RedirectURL)
	}
	if a.ClientMetadataURL == "" {
		return
	}
	u := c.loginURL("$.entry.auth.client_metadata_url", a.ClientMetadataURL)
	if u != nil && (u.Scheme != "https" || u.Path == "" || u.Path == "/") {
		c.Add("$.entry.auth.client_metadata_url", "write it as in https://example.com/client.json", "the client's document has an https address with a path")
	}
}

func (c *checker) loginURL(path, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		c.Add(path, "", "this cannot be read as a URL")
		return nil
	}
	if err := outbound.CheckURL(u); err != nil {
		c.Add(path, "", "%v", err)
		return nil
	}
	return u
}

func (c *checker) clientCredentials(a *outbound.Auth) {
	if a.ClientID == "" || a.Secret == "" {
		c.Add("$.entry.auth", "write client_id: and secret: env:NAME", "grant: client_credentials needs client_id and secret")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"client_metadata_url", a.ClientMetadataURL != ""}, {"redirect_url", a.RedirectURL != ""}, {"scopes", a.Scopes != nil}} {
		if f.set {
			c.AddKey("$.entry.auth."+f.name, "remove it", "%s is for grant: authorization_code", f.name)
		}
	}
}

// onlyOAuth reports what only oauth has.
func (c *checker) onlyOAuth(a *outbound.Auth) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"client_id", a.ClientID != ""}, {"client_metadata_url", a.ClientMetadataURL != ""}, {"redirect_url", a.RedirectURL != ""},
		{"scopes", a.Scopes != nil}, {"grant", a.Grant != ""}} {
		if f.set {
			c.AddKey("$.entry.auth."+f.name, "remove it, or say type: oauth", "%s is for the type oauth", f.name)
		}
	}
}
