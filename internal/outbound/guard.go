package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// connectTimeout bounds one attempt to connect.
const connectTimeout = 10 * time.Second

// maxResponseHeader bounds the headers of a response, in bytes.
const maxResponseHeader = 64 << 10

// Policy says what may be reached. The zero value lets nothing be reached.
//
// Host names are compared without regard to case and to a dot at the end; international names are
// written in their xn-- form. An address is one in every spelling, IPv4 within IPv6 included.
type Policy struct {
	// Public lets every public address be reached, whatever the host.
	Public bool
	// Hosts are host names and addresses that may be reached as long as they lead to public
	// addresses.
	Hosts []string
	// Allow lists host names, addresses and ranges ("10.1.0.0/16") that may be reached although
	// they are loopback, link-local, private or otherwise not public. An allowed host name may have
	// any address.
	Allow []string
	// Inside lists, in the same words, what need not be public for the other fields to let it be
	// reached. By itself it lets nothing be reached: a worker's operator opens an inner network to
	// the tools whose specs name its hosts, and a public host cannot redirect into it.
	Inside []string
}

// Refusal is the guard's error: no connection was made.
type Refusal struct {
	// Reason says why the host is refused and what can be done where it is meant to be reached.
	Host, Reason string
	// Redirected says that a request was answered by a redirect to this host.
	Redirected bool
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s is refused: %s", r.Host, r.Reason)
}

// Guard decides which hosts and addresses may be connected to. It may be used by many goroutines.
type Guard struct {
	public               bool
	hosts, allow, inside places
	// resolver is the system's where it is nil.
	resolver *net.Resolver
}

// places are host names and ranges of addresses.
type places struct {
	names  map[string]bool
	ranges []netip.Prefix
}

// NewGuard returns the guard of a policy. The error lists every entry of it that is neither host,
// address nor range; the guard is usable all the same, without them.
func NewGuard(p Policy) (*Guard, error) {
	g := &Guard{public: p.Public}
	var faults [3]error
	g.hosts, faults[0] = placesOf(p.Hosts)
	g.allow, faults[1] = placesOf(p.Allow)
	g.inside, faults[2] = placesOf(p.Inside)
	return g, errors.Join(faults[:]...)
}

func placesOf(entries []string) (places, error) {
	p := places{names: map[string]bool{}}
	var faults []error
	for _, entry := range entries {
		if err := p.add(strings.TrimSpace(entry)); err != nil {
			faults = append(faults, err)
		}
	}
	return p, errors.Join(faults...)
}

// CheckAllow reports an entry of Policy.Allow that is neither host name, address nor range.
func CheckAllow(entry string) error {
	_, err := placesOf([]string{entry})
	return err
}

func (p *places) add(entry string) error {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		p.ranges = append(p.ranges, prefix.Masked())
		return nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		addr = plain(addr)
		p.ranges = append(p.ranges, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	if entry == "" || strings.ContainsAny(entry, "/:*@ ") {
		return fmt.Errorf("%q cannot be allowed; write a host name such as api.example.com, an address, or a range such as 10.1.0.0/16",
			entry)
	}
	p.names[hostKey(entry)] = true
	return nil
}

func (p *places) holds(addr netip.Addr) bool {
	for _, r := range p.ranges {
		if r.Contains(addr) {
			return true
		}
	}
	return false
}

// has reports whether the host or its address is one of the places.
func (p *places) has(host string, addr netip.Addr) bool {
	return p.names[hostKey(host)] || p.holds(addr)
}

func hostKey(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// plain returns the address that ranges are compared with. A zone would keep every range from
// matching.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// Transport returns a transport whose connections keep to the guard: no proxy of the environment,
// which would connect where the guard does not see. It makes a connection for each request, because
// net/http sends a request again by itself when a connection that was used before breaks, and
// retries are the spec's; callers that keep connections say so.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            g.DialContext,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// DialContext connects to host:port, or fails with a Refusal. The check is of the very address that
// is connected to, whatever the name meant a moment before.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !g.possible(host) {
		// Even the question of what address a name has would tell its resolver something.
		return nil, notAllowed(host)
	}
	d := net.Dialer{Timeout: connectTimeout, Resolver: g.resolver}
	if !g.allow.names[hostKey(host)] {
		d.Control = func(_, connectTo string, _ syscall.RawConn) error {
			return g.check(host,
				connectTo)
		}
	}
	return d.DialContext(ctx, network, address)
}

// possible reports whether a host may be reached by some address.
func (g *Guard) possible(host string) bool {
	key := hostKey(host)
	return g.public || g.hosts.names[key] || g.allow.names[key] || len(g.hosts.ranges)+
		len(g.allow.ranges) > 0
}

func notAllowed(host string) error {
	return &Refusal{Host: host,
		Reason: "it is not one of the allowed hosts; where it is meant to be reached, name it under allow in the toolspec"}
}

// check reports whether the address ip:port may be connected to on behalf of host.
func (g *Guard) check(host, address string) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refusal{Host: host, Reason: "its address cannot be read"}
	}
	addr := plain(target.Addr())
	if g.allow.holds(addr) {
		return nil
	}
	if !g.public && !g.hosts.has(host, addr) {
		return notAllowed(host)
	}
	if g.inside.has(host, addr) {
		return nil
	}
	for _, r := range refusedRanges {
		if r.prefix.Contains(addr) {
			return &Refusal{Host: host,
				Reason: fmt.Sprintf(
					"its address %s is %s; where it is meant to be reached, name the host, the address or "+
						"its range under allow in the toolspec, or in the worker's SWITCHYARD_HTTP_ALLOW",
					addr, r.reason)}
		}
	}
	return nil
}
