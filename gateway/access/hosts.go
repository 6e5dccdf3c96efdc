package access

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// loopbackNames are the names under which a gateway on the loopback interface is addressed.
var loopbackNames = []string{"localhost", "127.0.0.1", "::1"}

// hosts are the names that requests may come by, and the web pages of the gateway. A web page can
// make a browser send requests to a server on the user's machine; the header Host then has the
// page's name, or the header Origin its address.
type hosts struct {
	// names are lower-case; none allows every name.
	names []string
	// origin is that of public_url; empty for none.
	origin string
}

func newHosts(s *Settings, listen string) hosts {
	var h hosts
	if s.publicURL != nil {
		h.names = append(h.names, strings.ToLower(s.publicURL.Hostname()))
		h.origin = originFromURL(s.publicURL)
	}
	h.names = append(h.names, s.hosts...)
	if len(h.names) > 0 || loopback(listen) {
		h.names = append(h.names, loopbackNames...)
	}
	return h
}

// originFromURL returns the origin of an address as browsers write it.
func originFromURL(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// check refuses requests that are addressed to another name, or that another web page sends.
func (h hosts) check(r *http.Request) *refusal {
	if refused := h.checkHost(r); refused != nil {
		return refused
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !h.admits(strings.ToLower(origins[0]), r.Host) {
		return &refusal{status: http.StatusForbidden, code: "invalid_origin",
			message: "web pages of other origins may not send requests"}
	}
	return nil
}

// checkHost refuses requests that are addressed to another name.
func (h hosts) checkHost(r *http.Request) *refusal {
	name := strings.ToLower(hostname(r.Host))
	if len(h.names) > 0 && !slices.Contains(h.names, name) {
		return &refusal{status: http.StatusForbidden, code: "invalid_host",
			message: "the gateway does not serve the host that the request names; see access.hosts"}
	}
	return nil
}

// admits reports whether web pages of an origin may send requests to a host: those of the gateway.
func (h hosts) admits(origin, host string) bool {
	own := origin == "http://"+strings.ToLower(host)
	return own && slices.Contains(loopbackNames, strings.ToLower(hostname(host))) ||
		h.origin != "" && origin == h.origin
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
