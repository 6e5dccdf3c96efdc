package outbound

import "net/netip"

// refusedRanges are the addresses that lead inside: to this machine, its networks, the cloud's
// metadata, or to another address wrapped into this one. The first match names the reason.
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
	"100::/64", "a discard-only address",
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
