package outbound

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// The places where a secret goes.
const (
	// Bearer is the header Authorization, as a token.
	Bearer = "bearer"
	// Basic is the header Authorization; the secret is user:password.
	Basic = "basic"
	// Header is a header of any name.
	Header = "header"
	// Query is a query parameter.
	Query = "query"
)

// Credential puts one secret into requests, and takes it out of texts that come back. nil does
// neither.
type Credential struct {
	place, name, value string
	// hider takes it out of texts.
	hider *redaction.Hider
}

// NewCredential reads the secret that ref names, for a place: Bearer, Basic, Header or Query; name
// is the header's or parameter's. It fails as Secret does, and with precondition_failed where a
// Basic secret has no colon.
func NewCredential(place, ref, name string) (*Credential, error) {
	value, err := Secret(ref)
	if err != nil {
		return nil, err
	}
	_, password, ok := strings.Cut(value, ":")
	if place == Basic && !ok {
		return nil, api.Errorf(api.ErrPreconditionFailed,
			"the secret %s is not of the form user:password", ref)
	}
	hider := newHider(value)
	if place == Basic {
		hider = hider.With(redaction.HiddenSecret, password,
			base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return &Credential{place: place, name: name, value: value, hider: hider}, nil
}

// Add sets the secret in a request and replaces an existing value.
func (c *Credential) Add(req *http.Request) {
	switch {
	case c == nil:
	case c.place == Bearer:
		req.Header.Set("Authorization", "Bearer "+c.value)
	case c.place == Basic:
		user, password, _ := strings.Cut(c.value, ":")
		req.SetBasicAuth(user, password)
	case c.place == Header:
		req.Header.Set(c.name, c.value)
	case c.place == Query:
		pair := url.QueryEscape(c.name) + "=" + url.QueryEscape(c.value)
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+pair, "&")
	}
}

// Values returns the secret as a value to hide; nothing without one.
func (c *Credential) Values() []string {
	if c == nil {
		return nil
	}
	return []string{c.value}
}

// Hider returns what takes the secret out of texts, in every form that it takes in headers, URLs
// and JSON. Secrets of fewer than six characters are left.
func (c *Credential) Hider() *redaction.Hider {
	if c == nil {
		return nil
	}
	return c.hider
}

// Hide returns a text with [secret] in place of the secret.
func (c *Credential) Hide(text string) string { return c.Hider().Text(text) }

// NewHidingCredential returns a Credential that only hides secrets, which its caller puts into
// requests itself.
func NewHidingCredential(secrets ...string) *Credential {
	return &Credential{hider: newHider(secrets...)}
}

func newHider(secrets ...string) *redaction.Hider {
	var h *redaction.Hider
	return h.With(redaction.HiddenSecret, secrets...)
}
