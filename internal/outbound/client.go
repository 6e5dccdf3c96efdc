package outbound

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxRedirects bounds the redirects that are followed for one request.
const maxRedirects = 5

// Client returns a client over a guard's transport. It follows at most 5 redirects, only to http
// and https. To another scheme, host or port it sends only headers that do not identify the caller.
// add, which may be nil, receives a copy of each request to the origin's scheme, host and port just
// before it is sent. What it adds, such as a secret, is not sent elsewhere and appears in no error
// text. An error of add ends the request.
func Client(t http.RoundTripper, origin *url.URL, add func(*http.Request) error) *http.Client {
	return &http.Client{Transport: &carrier{base: t, origin: origin, add: add},
		CheckRedirect: checkRedirect}
}

type carrier struct {
	base   http.RoundTripper
	origin *url.URL
	add    func(*http.Request) error
}

// RoundTrip implements http.RoundTripper.
func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.add != nil && samePlace(req.URL, c.origin) {
		own := req.Clone(req.Context())
		if err := c.add(own); err != nil {
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, err
		}
		req = own
	}
	resp, err := c.base.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close() // the raw connection: its reads do not end with the request's context
		return nil, errSwitched
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok && req.Response != nil {
		return nil, &Refusal{Host: refusal.Host, Reason: refusal.Reason, Redirected: true}
	}
	return resp, err
}

var errSwitched = errors.New("the server switched protocols (101) without being asked to")

func samePlace(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) &&
		effectivePort(a) == effectivePort(b)
}

func effectivePort(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// keptHeaders do not identify the caller and are sent after a redirect to another origin.
var keptHeaders = []string{"User-Agent", "Accept", "Accept-Language", "Content-Type"}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("the server redirected more than %d times", maxRedirects)
	}
	if !samePlace(req.URL, via[0].URL) {
		maps.DeleteFunc(req.Header,
			func(name string, _ []string) bool { return !slices.Contains(keptHeaders, name) })
	}
	if CheckURL(req.URL) != nil {
		return errors.New("the server redirected to a URL that is not plain http or https")
	}
	return nil
}

// CheckURL returns why a URL must not be requested. The error's text contains nothing of the URL.
func CheckURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the URL must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("the URL holds a user name or password")
	}
	return nil
}

// ownHeaders are headers that the request decides, not its caller.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade",
	"Te", "Trailer", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Expect"}

// CanSet reports whether a caller may set the header: it is not one that the request or a
// connection decides.
func CanSet(header string) bool {
	return !slices.Contains(ownHeaders, http.CanonicalHeaderKey(header))
}

// FitsHeader reports whether a header can hold the text: it has no line end and no other control
// character.
func FitsHeader(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' ||
			r == 0x7f
	})
}

// Safe reports whether requests of the method change nothing on the server.
func Safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// FollowsExecution reports whether a server may have executed a request before it redirected it
// with that status; 307 and 308 only move the request.
func FollowsExecution(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return true
	}
	return false
}
