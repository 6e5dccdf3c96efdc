package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"go.temporal.io/server/common/dynamicconfig"
)

// httpHosts is the setting of the server that names the hosts of its HTTP API.
const httpHosts = "frontend.httpAllowedHosts"

// localhost is the name of this machine for programs on it.
const localhost = "localhost"

// machineNames returns the names under which browsers can know this machine, in lower case.
func machineNames(given []string) []string {
	names := []string{localhost}
	if name, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(name))
	}
	for _, name := range given {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// knownHost reports whether a Host header names this machine by an IP address or by one of names. A
// web page that makes its own name resolve to this machine (DNS rebinding) has another name.
func knownHost(header string, names []string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil { // there is no port
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.Contains(names, host) || strings.HasSuffix(host, "."+localhost)
}

// onlyKnownHosts passes requests to next if their Host header names this machine, and rejects
// others.
func onlyKnownHosts(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knownHost(r.Host, names) {
			http.Error(w, fmt.Sprintf("the host %q is not known: open the Web UI as localhost or by "+
				"an IP address, or start devserver with --ui-host and this name", r.Host),
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitHTTPHosts makes the server's HTTP API accept only the address that it listens on, loopback
// for all addresses, unless the setting is given. The server itself is its only client here. It
// matches several patterns without anchors between them, so that names that contain one would be
// accepted: there is one pattern.
func limitHTTPHosts(tuning dynamicconfig.StaticClient, ip netip.Addr) {
	key := dynamicconfig.MakeKey(httpHosts)
	if _, given := tuning[key]; given {
		return
	}
	address := reachable(netip.AddrPortFrom(ip, 0)).String()
	tuning[key] = []string{strings.TrimSuffix(address, "0") + "*"}
}

// checkUIHosts adds the names of this machine to --ui-host.
func checkUIHosts(v *flagValues) error {
	for _, name := range v.uiHosts {
		if strings.ContainsAny(name, "/:*?# ") || name == "" {
			return fmt.Errorf("--ui-host %q is not the name of a host: give one such as "+
				"devbox.example.com, without scheme and port", name)
		}
	}
	v.uiHosts = machineNames(v.uiHosts)
	limitHTTPHosts(v.tuning, v.ip)
	return nil
}
