package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// connectTimeout bounds one attempt to connect.
const connectTimeout = 10 * time.Second

// refusedRanges are the addresses that lead inside: to this machine, its networks, the cloud's metadata, or to another
// address wrapped into this one. The first match names the reason.
var refusedRanges = ranges(
	"0.0.0.0/8", "this host",
	"10.0.0.0/8", "a private network",
	"100.64.0.0/10", "a carrier's private network",
	"127.0.0.0/8", "loopback",
	"168.63.129.16/32", "a cloud's metadata",
	"169.254.0.0/16", "link-local, where clouds serve metadata",
	"172.16.0.0/12", "a private network",
	"192.0.0.0/24", "reserved for protocols",
	"192.0.2.0/24", "reserved for documentation",
	"192.88.99.0/24", "a 6to4 relay",
	"192.168.0.0/16", "a private network",
	"198.18.0.0/15", "reserved for benchmarks",
	"198.51.100.0/24", "reserved for documentation",
	"203.0.113.0/24", "reserved for documentation",
	"224.0.0.0/4", "multicast",
	"240.0.0.0/4", "reserved or broadcast",
	"::1/128", "loopback",
	"::/96", "unspecified or an IPv4 address in IPv6",
	"::ffff:0:0:0/96", "an IPv4 address in IPv6",
	"64:ff9b::/96", "an IPv4 address in IPv6 (NAT64)",
	"64:ff9b:1::/48", "an IPv4 address in IPv6 (NAT64)",
	"100::/64", "a black hole",
	"2001::/32", "an IPv4 address in IPv6 (Teredo)",
	"2001:2::/48", "reserved for benchmarks",
	"2001:db8::/32", "reserved for documentation",
	"2002::/16", "an IPv4 address in IPv6 (6to4)",
	"3fff::/20", "reserved for documentation",
	"5f00::/16", "reserved for segment routing",
	"fc00::/7", "a private network",
	"fe80::/10", "link-local",
	"fec0::/10", "a private network",
	"ff00::/8", "multicast",
)

type refusedRange struct {
	prefix netip.Prefix
	reason string
}

func ranges(pairs ...string) []refusedRange {
	var out []refusedRange
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, refusedRange{netip.MustParsePrefix(pairs[i]), pairs[i+1]})
	}
	return out
}

// refusal is the guard's error: no connection was made.
type refusal struct {
	host, reason string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s is refused: %s; an operator can allow it, by host or address range", r.host, r.reason)
}

// guard decides which hosts and addresses may be connected to.
type guard struct {
	hosts    map[string]bool
	prefixes []netip.Prefix
	only     bool
}

func newGuard(c HTTPConfig) (*guard, error) {
	g := &guard{hosts: map[string]bool{}, only: c.OnlyAllowed}
	var faults []error
	for _, entry := range c.Allow {
		if err := g.allow(strings.TrimSpace(entry)); err != nil {
			faults = append(faults, err)
		}
	}
	return g, errors.Join(faults...)
}

func (g *guard) allow(entry string) error {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		g.prefixes = append(g.prefixes, prefix.Masked())
		return nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		addr = addr.Unmap().WithZone("")
		g.prefixes = append(g.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	if entry == "" || strings.ContainsAny(entry, "/:*@ ") {
		return fmt.Errorf("%q cannot be allowed; write a host name such as api.example.com, an address, or a range such as 10.1.0.0/16", entry)
	}
	g.hosts[hostKey(entry)] = true
	return nil
}

func hostKey(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// dial connects to host:port. The check is of the very address that is connected to, whatever the name meant a moment
// before. An allowed host name may lead anywhere.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: connectTimeout}
	if !g.hosts[hostKey(host)] {
		d.Control = func(_, connectTo string, _ syscall.RawConn) error { return g.check(host, connectTo) }
	}
	return d.DialContext(ctx, network, address)
}

// check reports whether the address ip:port may be connected to on behalf of host.
func (g *guard) check(host, address string) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusal{host, "its address cannot be read"}
	}
	// A zone would keep every range from matching.
	addr := target.Addr().Unmap().WithZone("")
	for _, p := range g.prefixes {
		if p.Contains(addr) {
			return nil
		}
	}
	if g.only {
		return &refusal{host, "it is not one of the allowed hosts"}
	}
	for _, r := range refusedRanges {
		if r.prefix.Contains(addr) {
			return &refusal{host, fmt.Sprintf("its address %s is %s", addr, r.reason)}
		}
	}
	return nil
}
