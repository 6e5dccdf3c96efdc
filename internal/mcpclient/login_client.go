package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
)

// loginClient returns the client for the requests of a login other than to the MCP server's own
// endpoint. The server names these hosts, so any public host may be reached, and non-public ones
// only if the toolspec allows them. What the worker's operator allows applies only to the server's
// own host.
func (l *login) loginClient(origin *url.URL, entry *Server, o Options) (*http.Client, error) {
	own, err := outbound.NewGuard(outbound.Policy{Hosts: []string{origin.Hostname()},
		Allow: entry.Allow, Inside: o.Inside})
	others, same := outbound.NewGuard(outbound.Policy{Public: true, Allow: entry.Allow})
	if err := cmp.Or(err, same); err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.allow: %v", err)
	}
	transport := others.Transport()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		guard := others
		if host, _, err := net.SplitHostPort(address); err == nil && strings.EqualFold(host,
			origin.Hostname()) {
			guard = own
		}
		conn, err := guard.DialContext(ctx, network, address)
		if refusal, ok := errors.AsType[*outbound.Refusal](err); ok {
			// The SDK continues after some failures and then reports a later one.
			l.refusal.CompareAndSwap(nil, refusal)
		}
		return conn, err
	}
	client := outbound.Client(transport, origin, nil)
	client.Timeout = cmp.Or(o.ConnectTimeout, defaultConnectTimeout)
	follow := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if via[0].Method != http.MethodGet {
			return errors.New("the authorization server redirects a request that carries secrets")
		}
		return follow(req, via)
	}
	return client, nil
}
