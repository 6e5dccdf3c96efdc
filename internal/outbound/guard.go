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

// Policy defines what may be reached. The zero value allows nothing.
//
// Host names are compared case-insensitively and without a trailing dot; international names are in
// xn-- form. Addresses match in every spelling, including IPv4 within IPv6.
type Policy struct {
	// Public allows every public address, whatever the host.
	Public bool
	// Hosts are host names and addresses that may be reached as long as they lead to public
	// addresses.
	Hosts []string
	// Allow lists host names, addresses and ranges ("10.1.0.0/16") that may be reached although
	// they are loopback, link-local, private or otherwise not public. An allowed host name may have
	// any address.
	Allow []string
	// Inside lists, in the same format, non-public targets that the other fields may allow. It
	// allows nothing alone: a worker's operator opens an internal network to tools whose specs name
	// its hosts, and a public host cannot redirect into it.
	Inside []string
}

// Refusal is the guard's error: no connection was made.
type Refusal struct {
	Host string
	// Reason explains why the host is rejected and how to allow it.
	Reason string
	// Redirected is set if the host was the target of a redirect.
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

// NewGuard returns the guard of a policy. The error lists all entries that are not a host, an
// address or a range; the guard works without them.
func NewGuard(p Policy) (*Guard, error) {
	g := &Guard{public: p.Public}
	var faults [3]error
	g.hosts, faults[0] = parsePlaces(p.Hosts)
	g.allow, faults[1] = parsePlaces(p.Allow)
	g.inside, faults[2] = parsePlaces(p.Inside)
	return g, errors.Join(faults[:]...)
}

func parsePlaces(entries []string) (places, error) {
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
	_, err := parsePlaces([]string{entry})
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

// Transport returns a transport whose connections obey the guard. It ignores the environment's
// proxy, which would connect outside the guard. It makes a connection for each request, because
// net/http resends requests when a reused connection breaks and the spec controls retries; callers
// that reuse connections opt in.
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
		// Resolving a name would already reveal something to its resolver.
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
		Reason: "it is not one of the allowed hosts; to reach it, add it to allow in the toolspec"}
}

// Refuses returns why a host cannot be reached, as far as its name tells: an address, or a name
// that means this machine. It makes no connection.
func (g *Guard) Refuses(host string) error {
	key := hostKey(host)
	addr, err := netip.ParseAddr(key)
	switch {
	case g.allow.names[key]:
		return nil
	case err == nil:
	case key == "localhost" || strings.HasSuffix(key, ".localhost"):
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		return nil
	}
	return g.check(host, netip.AddrPortFrom(addr, 1).String())
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
					"its address %s is %s; to reach it, add the host, the address or "+
						"its range to allow in the toolspec or to SWITCHYARD_HTTP_ALLOW of the worker",
					addr, r.reason)}
		}
	}
	return nil
}
