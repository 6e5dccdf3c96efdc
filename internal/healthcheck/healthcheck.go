// Package healthcheck lets a program ask another process of itself whether it serves. Health checks
// of containers use it, because their images need no HTTP client then.
package healthcheck

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// timeout bounds a check. maxAnswer is the number of bytes of an answer that an error quotes.
const (
	timeout   = 3 * time.Second
	maxAnswer = 200
)

// Ask returns nil if GET http://address/path answers 200 within 3 s. address is the host:port that
// the process listens on; without a host, and for all addresses of the machine, it is loopback.
func Ask(ctx context.Context, address, path string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address: write host:port", address)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(host, port) + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("%q is not an address: %w", address, err)
	}
	// A proxy of the environment cannot reach this machine's loopback.
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("nothing serves at %s: %w", address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return fmt.Errorf("%s answers %s: %s", url, response.Status,
			strings.TrimSpace(string(answer)))
	}
	return nil
}
