package outbound

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// All spellings are refused. Addresses next to the ranges are accepted.
func TestGuard_RefusesInternalAddresses(t *testing.T) {
	g, err := NewGuard(Policy{Public: true})
	if err != nil {
		t.Fatal(err)
	}
	refused := `0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 100.100.100.200 127.0.0.1 127.255.255.255
		168.63.129.16 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1
		192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.0 255.255.255.255
		:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1
		2001::1 2001:0:7f00:1:: 2001:db8::1 2001:2::1 2002:7f00:1:: 2002:808:808:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1
		fe80::1 fe80::1%eth0 fe80::1%1 febf::1 fec0::1 ff02::1 ::1%lo`
	for address := range strings.FieldsSeq(refused) {
		if err := g.check("host", net.JoinHostPort(address, "80")); err == nil {
			t.Errorf("%s is not refused", address)
		} else if _, ok := errors.AsType[*Refusal](err); !ok {
			t.Errorf("%s: %T", address, err)
		}
	}
	public := `1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255
		169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0
		198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 8.8.8.8 ::ffff:8.8.8.8
		2001:1::1 2001:db7::1 2001:db9::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 3ffe::1 64:ff9a::1 fbff::1`
	for address := range strings.FieldsSeq(public) {
		if err := g.check("host", net.JoinHostPort(address, "443")); err != nil {
			t.Errorf("%s is refused: %v", address, err)
		}
	}
	if err := g.check("host", "nonsense"); err == nil {
		t.Error("an address that cannot be read is not refused")
	}
}

// The list can also close everything else.
func TestGuard_AllowListOpensExactlyItsEntries(t *testing.T) {
	public := func(allow ...string) Policy { return Policy{Public: true, Allow: allow} }
	cases := []struct {
		policy        Policy
		host, address string
		allowed       bool
	}{
		{public("10.1.0.0/16"), "host", "10.1.2.3:80", true},
		{public("10.1.2.3/16"), "host", "10.1.9.9:80", true},
		{public("10.1.0.0/16"), "host", "10.2.0.1:80", false},
		{public(" 127.0.0.1 "), "host", "127.0.0.1:80", true},
		{public("127.0.0.1"), "host", "[::ffff:127.0.0.1]:80", true},
		{public("127.0.0.1"), "host", "127.0.0.2:80", false},
		{public("[::1]"), "host", "[::1]:80", true},
		{public("fe80::/10"), "host", "[fe80::1%eth0]:80", true},
		{public("10.0.0.0/8"), "host", "8.8.8.8:80", true},
		{Policy{Allow: []string{"10.0.0.0/8"}}, "host", "10.1.1.1:80", true},
		{Policy{Allow: []string{"10.0.0.0/8"}}, "host", "8.8.8.8:80", false},
		{Policy{}, "host", "8.8.8.8:80", false},
		{Policy{Hosts: []string{"api.example.com"}}, "API.example.com.", "8.8.8.8:443", true},
		{Policy{Hosts: []string{"api.example.com"}}, "api.example.com", "10.0.0.1:443", false},
		{Policy{Hosts: []string{"api.example.com"}}, "www.example.com", "8.8.8.8:443", false},
		{Policy{Hosts: []string{"8.8.8.8"}}, "8.8.8.8", "8.8.8.8:443", true},
		{Policy{Hosts: []string{"127.0.0.1"}}, "127.0.0.1", "127.0.0.1:443", false},
		{Policy{Hosts: []string{"inner"}, Inside: []string{"10.0.0.0/8"}}, "inner", "10.0.0.1:80",
			true},
		{Policy{Hosts: []string{"inner"}, Inside: []string{"INNER"}}, "inner", "10.0.0.1:80", true},
		{Policy{Hosts: []string{"inner"}, Inside: []string{"10.0.0.0/8"}}, "other", "10.0.0.1:80",
			false},
		{Policy{Inside: []string{"10.0.0.0/8"}}, "10.0.0.1", "10.0.0.1:80", false},
	}
	for _, c := range cases {
		g, err := NewGuard(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.check(c.host, c.address); (err == nil) != c.allowed {
			t.Errorf("%+v: %s, %s: %v", c.policy, c.host, c.address, err)
		}
	}
	_, err := NewGuard(Policy{Allow: []string{"ok.example", "http://x", ""},
		Hosts: []string{"10.0.0.0/99"}, Inside: []string{"*.example"}})
	if err == nil || strings.Count(err.Error(), "cannot be allowed") != 4 {
		t.Errorf("got %v; want four faults", err)
	}
}
