package outbound

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// None of its forms stays in a text.
func TestCredential_ReachesItsPlaceAndIsHidden(t *testing.T) {
	const secret = `us&er:pa"ss wörd/%`
	t.Setenv("SWITCHYARD_TEST_SECRET", secret)
	for place, want := range map[string]string{
		Bearer: "Bearer " + secret,
		Basic:  "Basic dXMmZXI6cGEic3Mgd8O2cmQvJQ==",
		Header: secret,
		Query:  "a=b&x-key=us%26er%3Apa%22ss+w%C3%B6rd%2F%25",
	} {
		c, err := NewCredential(place, "env:SWITCHYARD_TEST_SECRET", "x-key")
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "http://api.example.com/?a=b", nil)
		c.Add(r)
		got := r.Header.Get("Authorization") + r.Header.Get("X-Key")
		if place == Query {
			got = r.URL.RawQuery
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", place, got, want)
		}
		if hidden := c.Hide("<" + got + ">"); strings.Contains(hidden, want) ||
			!strings.Contains(hidden, "[secret]>") {
			t.Errorf("%s: got %q", place, hidden)
		}
		for _, form := range []string{secret, `us&er:pa\"ss wörd/%`,
			"us&er:pa%22ss%20w%C3%B6rd%2F%25", "us%26er%3Apa%22ss+w%C3%B6rd%2F%25"} {
			if got := c.Hide("<" + form + ">"); got != "<[secret]>" {
				t.Errorf("%s: got %q", place, got)
			}
		}
	}
}

// If a text is cut anywhere, no part of a secret in any form stays at its end. A text without a
// secret at its end stays complete.
func TestHide_RemovesPartsOfSecrets(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", `se"cret+se"x`)
	c, err := NewCredential(Bearer, "env:SWITCHYARD_TEST_SECRET", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{`se"cret+se"x`, `se\"cret+se\"x`, "se%22cret%2Bse%22x",
		"se%22cret+se%22x"} {
		for end := range len(form) {
			if got := c.Hider().Part("a " + form[:end]); got != "a " {
				t.Errorf("%q: got %q", form[:end], got)
			}
		}
		if got := c.Hider().Part("a " + form); got != "a [secret]" {
			t.Errorf("%q: got %q", form, got)
		}
	}
	for _, text := range []string{"", "plain", "se-"} {
		if got := c.Hider().Part(text); got != text {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// Without a secret nothing is added or hidden. A short secret is not searched for, and basic
// authentication needs both parts.
func TestCredential_EdgeCases(t *testing.T) {
	var none *Credential
	r := httptest.NewRequest(http.MethodGet, "http://api.example.com/", nil)
	if none.Add(r); len(r.Header) > 0 || none.Hide("text") != "text" ||
		none.Hider().Part("text") != "text" {
		t.Errorf("got %v", r.Header)
	}
	t.Setenv("SWITCHYARD_TEST_SECRET", "cat")
	short, err := NewCredential(Query, "env:SWITCHYARD_TEST_SECRET", "key")
	if err != nil || short.Hide("a cat") != "a cat" {
		t.Errorf("got %v", err)
	}
	if short.Add(r); r.URL.RawQuery != "key=cat" {
		t.Errorf("got %q", r.URL.RawQuery)
	}
	_, err = NewCredential(Basic, "env:SWITCHYARD_TEST_SECRET", "")
	if !errors.Is(err, &api.Error{Type: api.ErrPreconditionFailed}) || strings.Contains(err.Error(),
		"cat") {
		t.Errorf("got %v", err)
	}
	if _, err := NewCredential(Bearer, "env:SWITCHYARD_TEST_UNSET", ""); err == nil {
		t.Error("a secret that is not set was used")
	}
}
