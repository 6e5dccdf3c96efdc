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

// LocalUI is where the Web UI of a development server is, beside the server's own default port.
const LocalUI = "http://127.0.0.1:8233"

// RunURL is where the Web UI shows a run; empty where the UI's address is not known.
func (c *Connection) RunURL(id, runID string) string {
	base := c.Ui
	if !c.Local {
		base = cmp.Or(c.Ui, os.Getenv(uiVariable), DerivedUI(c.ResolvedAddress))
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

// DerivedUI is the Web UI's address beside a server on its default port on this machine.
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
