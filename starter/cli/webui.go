package cli

import (
	"cmp"
	"net"
	"net/url"
	"os"
	"strings"
)

// uiVariable names the environment variable with the Web UI's address.
const uiVariable = "SWITCHYARD_UI"

// LocalUI is the Web UI address of a development server on its default port.
const LocalUI = "http://127.0.0.1:8233"

// RunURL returns a run's Web UI address. It is empty if the Web UI's address is unknown.
func (c *Connection) RunURL(id, runID string) string {
	base := c.UI
	if !c.Local {
		base = cmp.Or(c.UI, os.Getenv(uiVariable), DerivedUI(c.ResolvedAddress))
	}
	if base == "" {
		return ""
	}
	parts := []string{strings.TrimRight(base, "/"), "namespaces",
		url.PathEscape(c.ResolvedNamespace), "workflows", url.PathEscape(id)}
	if runID != "" {
		parts = append(parts, url.PathEscape(runID), "history")
	}
	return strings.Join(parts, "/")
}

// DerivedUI returns the Web UI address of a local server on its default port.
func DerivedUI(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "7233" {
		return ""
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return LocalUI
	}
	return ""
}
