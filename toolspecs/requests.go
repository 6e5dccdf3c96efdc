package toolspecs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/secretname"
)

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	// restHeaders are set by Switchyard: the call's idempotency key and the accepted encodings.
	restHeaders = []string{"Idempotency-Key", "Accept-Encoding"}
)

const hintAuth = "write auth: {type: bearer, secret: env:NAME}, or another type; " +
	outbound.HintSecret

// requestChecker checks entries of kinds that send requests.
type requestChecker struct {
	*checker
	// logsIn is set for kinds that can log in with OAuth.
	logsIn bool
}

// request has the fields that kinds that send requests have in common.
type request struct {
	headers json.RawMessage
	auth    *outbound.Auth
	allow   []string
}

// outbound makes the checks that are common to kinds that send requests. declared has the arguments
// that templates may use.
func (c requestChecker) outbound(r request, declared []string) {
	c.auth(r.auth)
	c.headers(r, declared)
	for i, entry := range r.allow {
		if err := outbound.CheckAllow(entry); err != nil {
			c.Add(jsonpath.Index("$.entry.allow", i), "", "%v", err)
		}
	}
}

// address checks a URL. Faults do not quote it, because it may contain a secret.
func (c requestChecker) address(path, text string) {
	if outbound.IsReference(text) {
		return
	}
	u, err := url.Parse(text)
	switch {
	case placeholder.MatchString(text):
		c.Add(path, "", "the address contains a placeholder, but arguments cannot choose the server")
		return
	case err != nil:
		c.Add(path, "write it as in https://api.example.com/v1", "this is not a valid URL")
		return
	}
	if err := outbound.CheckURL(u); err != nil {
		hint := "write it as in https://api.example.com/v1"
		if u.User != nil {
			hint = hintAuth
		}
		c.Add(path, hint, "%v", err)
	}
	if strings.ContainsFunc(u.Host, func(r rune) bool { return r > '~' }) {
		c.Add(path, "write it in its xn-- form", "the host has characters that are not ASCII")
	}
}

func (c requestChecker) auth(a *outbound.Auth) {
	if a == nil {
		return
	}
	if err := outbound.CheckSecret(a.Secret); err != nil && a.Secret != "" {
		c.Add("$.entry.auth.secret", outbound.HintSecret, "%v", err)
	}
	if a.Type == outbound.Header || a.Type == outbound.Query {
		c.authName(a)
	} else if a.Name != "" {
		c.AddKey("$.entry.auth.name", "remove it", "name is for the types header and query")
	}
	if a.Type == outbound.OAuth {
		c.oauth(a)
		return
	}
	if a.Secret == "" {
		c.Add("$.entry.auth", "write secret: env:NAME or secret: file:/path",
			"auth of the type %s needs a secret", a.Type)
	}
	c.onlyOAuth(a)
}

func (c requestChecker) authName(a *outbound.Auth) {
	if a.Name == "" {
		c.Add("$.entry.auth", "write name: and the name of the header or query parameter",
			"auth of the type %s needs a name", a.Type)
	} else if fault := headerFault(a.Name); fault != "" && a.Type == outbound.Header {
		c.Add("$.entry.auth.name", "name another", "%s", fault)
	}
}

// headerFault returns why a header must not be set; empty if it may be.
func headerFault(name string) string {
	key := http.CanonicalHeaderKey(name)
	switch {
	case !headerName.MatchString(name):
		return "this cannot name a header"
	case !outbound.CanSet(name) || slices.Contains(restHeaders, key):
		return "the header " + key + " is set by the request itself"
	}
	return ""
}

func (c requestChecker) headers(r request, declared []string) {
	seen := map[string]bool{}
	for _, h := range c.templates("$.entry.headers", r.headers, declared) {
		key := http.CanonicalHeaderKey(h.name)
		fault := headerFault(h.name)
		switch {
		case fault != "":
			c.AddKey(h.path, "remove it", "%s", fault)
		case seen[key]:
			c.AddKey(h.path, "keep one of them", "the header %s is given twice", key)
		case authHeader(r.auth) == key:
			c.AddKey(h.path, "remove it", "auth already sets the header %s", key)
		case h.secret():
			c.writtenSecret(h.path, "the header "+key)
		case !outbound.FitsHeader(h.text):
			c.Add(h.path, "", "a header value cannot contain control characters")
		}
		seen[key] = true
	}
}

// authHeader returns the header that auth sets; empty for none.
func authHeader(a *outbound.Auth) string {
	switch {
	case a == nil || a.Type == outbound.Query:
		return ""
	case a.Type == outbound.Header:
		return http.CanonicalHeaderKey(a.Name)
	}
	return "Authorization"
}

// template is one member of a mapping from names to templates.
type template struct{ path, name, text string }

// looksSecret reports whether a literal value of that name looks like a secret. Fields called key
// are as often plain keys of records.
func looksSecret(name string) bool {
	return secretname.Matches(name) && !strings.EqualFold(name, "key")
}

// secret reports whether the template looks like a literal secret: its name is that of a secret and
// its text has no placeholder.
func (t template) secret() bool {
	return looksSecret(t.name) && t.text != "" && t.text != "true" &&
		t.text != "false" && !placeholder.MatchString(t.text)
}

func (c requestChecker) writtenSecret(path, place string) {
	c.Add(path, hintAuth, "%s contains a secret; a toolspec refers to secrets by name", place)
}

// templates checks a mapping from names to strings, numbers and booleans, whose strings may have
// placeholders. It returns the valid entries.
func (c requestChecker) templates(path string, raw json.RawMessage, declared []string) []template {
	if raw == nil {
		return nil
	}
	tree, err := jsontext.ParseOrdered(raw)
	members, ok := tree.(*jsontext.Object)
	if err != nil || !ok {
		c.Add(path, "write name: value", "this must be a mapping")
		return nil
	}
	var list []template
	for _, name := range members.Keys {
		t := template{path: jsonpath.Key(path, name), name: name}
		switch v := members.Members[name].(type) {
		case string:
			t.text = v
		case json.Number, bool:
			t.text = fmt.Sprint(v)
		default:
			c.Add(t.path, "write text, a number or a boolean; {{args.name}} stands for an argument of any type",
				"this must be text, a number or a boolean")
			continue
		}
		if !t.secret() {
			c.placeholders(t.path, t.text, declared, false)
		}
		list = append(list, t)
	}
	return list
}

// CheckReach returns why a worker refuses to connect to the server of a tool, as far as its address
// tells. inside lists the non-public hosts that the worker lets tools reach. It returns nil for
// tools without an address, and for addresses from the worker's environment.
func (s Spec) CheckReach(inside []string) error {
	entry := s.Entry.Common()
	address := entry.Address
	u, err := url.Parse(address)
	if err != nil || address == "" || outbound.IsReference(address) || u.Hostname() == "" {
		return nil
	}
	guard, err := outbound.NewGuard(outbound.Policy{Hosts: []string{u.Hostname()},
		Allow: entry.Allow, Inside: inside})
	if err != nil {
		return nil
	}
	return guard.Refuses(u.Hostname())
}

// oauth checks the fields of an OAuth login.
func (c requestChecker) oauth(a *outbound.Auth) {
	if !c.logsIn {
		c.Add("$.entry.auth.type", "give a token that you have: type: bearer",
			"oauth is for MCP servers with url")
		return
	}
	if a.Grant == outbound.GrantClientCredentials {
		c.clientCredentials(a)
	} else if a.Secret != "" && a.ClientID == "" {
		c.Add("$.entry.auth", "write client_id: and the client's ID at the authorization server",
			"the client's secret needs its client_id")
	}
	c.issuer(a)
	c.loginURLs(a)
	for i, scope := range a.Scopes {
		if !isScope(scope) {
			c.Add(jsonpath.Index("$.entry.auth.scopes", i), "list each scope separately",
				"a scope is one word without quotation marks and backslashes")
		}
	}
}

// issuer checks the authorization server that the client's secret is for.
func (c requestChecker) issuer(a *outbound.Auth) {
	switch {
	case a.Issuer == "" && a.Secret != "":
		c.Add("$.entry.auth",
			"write issuer: and the address of the authorization server that knows the client",
			"the client's secret needs the issuer that it is for")
	case a.Issuer != "" && a.ClientID == "":
		c.AddKey("$.entry.auth.issuer", "remove it, or write client_id:",
			"issuer is for a client_id that the authorization server knows")
	case a.Issuer != "":
		c.loginURL("$.entry.auth.issuer", a.Issuer)
	}
}

// isScope reports whether text is one scope as defined by RFC 6749.
func isScope(text string) bool {
	for _, r := range text {
		if r <= ' ' || r >= 0x7f || r == '"' || r == '\\' {
			return false
		}
	}
	return text != ""
}

func (c requestChecker) loginURLs(a *outbound.Auth) {
	if a.RedirectURL != "" {
		c.loginURL("$.entry.auth.redirect_url", a.RedirectURL)
	}
	if a.ClientMetadataURL == "" {
		return
	}
	u := c.loginURL("$.entry.auth.client_metadata_url", a.ClientMetadataURL)
	if u != nil && (u.Scheme != "https" || u.Path == "" || u.Path == "/") {
		c.Add("$.entry.auth.client_metadata_url", "write it as in https://example.com/client.json",
			"client_metadata_url must be https and have a path")
	}
}

func (c requestChecker) loginURL(path, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		c.Add(path, "", "this is not a valid URL")
		return nil
	}
	if err := outbound.CheckURL(u); err != nil {
		c.Add(path, "", "%v", err)
		return nil
	}
	return u
}

func (c requestChecker) clientCredentials(a *outbound.Auth) {
	if a.ClientID == "" || a.Secret == "" {
		c.Add("$.entry.auth", "write client_id: and secret: env:NAME",
			"grant: client_credentials needs client_id and secret")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"client_metadata_url", a.ClientMetadataURL != ""}, {"redirect_url", a.RedirectURL != ""},
		{"scopes", a.Scopes != nil}} {
		if f.set {
			c.AddKey("$.entry.auth."+f.name, "remove it", "%s is for grant: authorization_code",
				f.name)
		}
	}
}

// onlyOAuth reports fields that only OAuth uses.
func (c requestChecker) onlyOAuth(a *outbound.Auth) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"client_id", a.ClientID != ""}, {"issuer", a.Issuer != ""},
		{"client_metadata_url", a.ClientMetadataURL != ""}, {"redirect_url", a.RedirectURL != ""},
		{"scopes", a.Scopes != nil}, {"grant", a.Grant != ""}} {
		if f.set {
			c.AddKey("$.entry.auth."+f.name, "remove it, or say type: oauth",
				"%s is for the type oauth", f.name)
		}
	}
}
