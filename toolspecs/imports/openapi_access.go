package imports

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
)

// baseURL returns the address that the path follows.
func (c *call) baseURL() (string, error) {
	own := len(listAt(c.op.op, "servers"))+len(listAt(c.op.item, "servers")) > 0
	if base := c.doc.options.BaseURL; base != "" {
		if own {
			c.notes.add("", "the document names a separate server for this operation; the given base URL replaces it")
		}
		return base, nil
	}
	for _, holder := range []*jsontext.Object{c.op.op, c.op.item, c.doc.root} {
		for _, value := range listAt(holder, "servers") {
			server, ok := value.(*jsontext.Object)
			if !ok {
				continue
			}
			return c.server(server)
		}
	}
	if c.doc.address != nil { // the server is "/" then (OpenAPI 3.1.1, 4.8.1)
		return c.resolve(&url.URL{Path: "/"})
	}
	return "", errors.New("the document names no server; pass --base-url")
}

// server returns a server's address with the defaults of its variables.
func (c *call) server(server *jsontext.Object) (string, error) {
	address := textAt(server, "url")
	variables := objectAt(server, "variables")
	for _, name := range variables.Names() {
		variable, _ := variables.Members[name].(*jsontext.Object)
		address = strings.ReplaceAll(address, "{"+name+"}", textAt(variable, keyDefault))
	}
	if strings.ContainsAny(address, "{}") {
		return "", fmt.Errorf("the server %s has a variable without a default; pass --base-url",
			address)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", fmt.Errorf("the server %q is not a valid URL; pass --base-url", address)
	case u.Host == "" && c.doc.address == nil:
		return "", fmt.Errorf(
			"the server %q is relative to the document's address; pass --base-url", address)
	}
	return c.resolve(u)
}

// resolve returns a server's address, which may be relative to that of the document.
func (c *call) resolve(server *url.URL) (string, error) {
	if c.doc.address != nil {
		server = c.doc.address.ResolveReference(server)
	}
	if err := outbound.CheckURL(server); err != nil {
		return "", fmt.Errorf("the server cannot be asked: %w", err)
	}
	if server.RawQuery != "" || server.ForceQuery || server.Fragment != "" {
		return "", fmt.Errorf("the server %s has a query or a fragment, which a path cannot follow; "+
			"pass --base-url without it", server)
	}
	return server.String(), nil
}

// sets reports whether a secret goes where a parameter of that name would.
func sets(auth *outbound.Auth, in, name string) bool {
	switch {
	case auth == nil:
		return false
	case auth.Type == outbound.Query || auth.Type == outbound.Header:
		return auth.Type == in && strings.EqualFold(auth.Name, name)
	}
	return in == inHeader && strings.EqualFold(name, "Authorization")
}

// preference orders the ways to show a secret: those that need nothing but one secret first.
var preference = []string{outbound.Bearer, outbound.Header, outbound.Query, outbound.Basic}

// findAuth returns how the operation's requests show who they come from; nil where they need not.
func (c *call) findAuth() (*outbound.Auth, error) {
	if c.doc.options.Auth != nil {
		return c.doc.options.Auth, nil
	}
	ways := listAt(c.op.op, "security")
	if !c.op.op.Has("security") {
		ways = listAt(c.doc.root, "security")
	}
	var found []*outbound.Auth
	var reasons []string
	for _, value := range ways {
		way, _ := value.(*jsontext.Object)
		if len(way.Names()) == 0 {
			return nil, nil // it may be called by anyone
		}
		auth, err := c.way(way)
		if err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		found = append(found, auth)
	}
	if len(found) == 0 {
		if len(reasons) > 0 {
			return nil, errors.New(strings.Join(reasons, "; "))
		}
		return nil, nil
	}
	slices.SortStableFunc(found, func(a, b *outbound.Auth) int {
		return cmp.Compare(slices.Index(preference, a.Type), slices.Index(preference, b.Type))
	})
	return found[0], nil
}

// way returns one of the alternatives that an operation can be called by.
func (c *call) way(way *jsontext.Object) (*outbound.Auth, error) {
	if len(way.Keys) > 1 {
		return nil, fmt.Errorf("it needs several secrets at once (%s), but a toolspec names one",
			strings.Join(way.Keys, ", "))
	}
	name := way.Keys[0]
	schemes := objectAt(objectAt(c.doc.root, "components"), "securitySchemes")
	if !schemes.Has(name) {
		return nil, fmt.Errorf("the document does not declare the security scheme %s", name)
	}
	scheme, err := follow(c.doc.root, schemes.Members[name])
	if err != nil {
		return nil, fmt.Errorf("the security scheme %s cannot be read: %w", name, err)
	}
	auth := &outbound.Auth{Secret: "env:" + secretName(c.doc.title, name), Type: schemeTypes[schemeKind(scheme)]}
	switch auth.Type {
	case "":
		return nil, fmt.Errorf("the security scheme %s (%s) is not supported", name, schemeKind(scheme))
	case outbound.Header, outbound.Query:
		auth.Name = textAt(scheme, "name")
	}
	if textAt(scheme, "in") == inCookie {
		c.notes.add("", "the secret %s is the whole cookie: %s=…", auth.Secret, auth.Name)
		auth.Name = "Cookie"
	}
	return auth, nil
}

// maxTitleWords bounds how much of an API's title is part of the name of its secret.
const maxTitleWords = 3

// secretName returns the environment variable for the secret of a security scheme, with the API's
// title, so that the secrets of two APIs differ.
func secretName(title, scheme string) string {
	words := strings.Fields(noName.ReplaceAllString(title, " "))
	prefix, own := envName(strings.Join(words[:min(len(words), maxTitleWords)], "_")),
		envName(scheme)
	if len(words) == 0 || own == prefix || strings.HasPrefix(own, prefix+"_") {
		return own
	}
	return prefix + "_" + own
}

// schemeTypes are the kinds of security scheme that a toolspec can do, and where the secret goes.
var schemeTypes = map[string]string{
	"http bearer": outbound.Bearer, "oauth2": outbound.Bearer, "openIdConnect": outbound.Bearer,
	"http basic":    outbound.Basic,
	"apiKey header": outbound.Header, "apiKey cookie": outbound.Header,
	"apiKey query": outbound.Query,
}

// schemeKind describes a security scheme, such as http bearer or apiKey header.
func schemeKind(scheme *jsontext.Object) string {
	kind, more := textAt(scheme, keyType), ""
	switch kind {
	case "http":
		more = strings.ToLower(textAt(scheme, "scheme"))
	case "apiKey":
		more = textAt(scheme, "in")
	}
	return strings.TrimSpace(kind + " " + more)
}
