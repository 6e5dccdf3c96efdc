package outbound

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard"
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

// hiddenText stands where a secret was.
const hiddenText = "[secret]"

// leastHidden is the length from which on a secret is looked for in texts. Shorter ones are in many texts by chance, and
// hiding them there would tell what they are.
const leastHidden = 6

// Credential puts one secret into requests, and takes it out of texts that come back. nil does neither.
type Credential struct {
	place, name, value string
	// forms are what hide replaces.
	forms []string
	hide  *strings.Replacer
}

// NewCredential reads the secret that ref names, for a place: Bearer, Basic, Header or Query; name is the header's or
// parameter's. It fails as Secret does, and with precondition_failed where a Basic secret has no colon.
func NewCredential(place, ref, name string) (*Credential, error) {
	value, err := Secret(ref)
	if err != nil {
		return nil, err
	}
	_, password, ok := strings.Cut(value, ":")
	if place == Basic && !ok {
		return nil, switchyard.Errorf(switchyard.ErrPreconditionFailed, "the secret %s is not of the form user:password", ref)
	}
	hidden := []string{value}
	if place == Basic {
		hidden = append(hidden, password, base64.StdEncoding.EncodeToString([]byte(value)))
	}
	forms := formsOf(hidden)
	return &Credential{place: place, name: name, value: value, forms: forms, hide: replacerOf(forms)}, nil
}

// formsOf returns secrets in every form that they take in headers, URLs and JSON, the longest first.
func formsOf(secrets []string) []string {
	var forms []string
	for _, s := range secrets {
		if len(s) < leastHidden {
			continue
		}
		// Encoding a string cannot fail; what is no UTF-8 is also hidden as it is.
		text, _ := switchyard.EncodeJSON(s)
		forms = append(forms, s, string(text[1:len(text)-1]), url.QueryEscape(s), url.PathEscape(s))
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(forms)
}

// replacerOf returns what hides the forms. Of two that begin at the same place the first is replaced.
func replacerOf(forms []string) *strings.Replacer {
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, hiddenText)
	}
	return strings.NewReplacer(pairs...)
}

// Add puts the secret into a request, in place of what is there already.
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

// Hide returns a text with [secret] in place of the secret, in every form that it takes in headers, URLs and JSON.
// Secrets of fewer than six characters are left.
func (c *Credential) Hide(text string) string {
	if c == nil {
		return text
	}
	return c.hide.Replace(text)
}

// HideInPart is Hide for the first part of a text: it also takes away the beginning of a secret at the part's end.
func (c *Credential) HideInPart(part string) string {
	part = c.Hide(part)
	if c == nil {
		return part
	}
	begun := 0
	for _, form := range c.forms {
		for n := min(len(form)-1, len(part)); n > begun; n-- {
			if strings.HasSuffix(part, form[:n]) {
				begun = n
			}
		}
	}
	return part[:len(part)-begun]
}

// Hiding returns a Credential that only hides secrets, which its caller puts into requests itself.
func Hiding(secrets ...string) *Credential {
	forms := formsOf(secrets)
	return &Credential{forms: forms, hide: replacerOf(forms)}
}
