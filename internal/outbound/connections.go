package outbound

import (
	"net/http"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

const (
	// maxPolicies is for how many policies connections are kept at a time.
	maxPolicies = 32
	// maxIdle bounds the idle connections of one policy.
	maxIdle = 16
	// idleTimeout is how long they are kept.
	idleTimeout = 30 * time.Second
)

// Connections keeps connections open for later requests under the same policy, which saves
// connecting and TLS. The zero value is usable by many goroutines.
//
// It is for requests that may be repeated, because net/http resends a request when a reused
// connection breaks. The policy decides which addresses may be reached when a connection is made.
type Connections struct {
	mu   sync.Mutex
	kept map[string]*http.Transport
}

// Transport returns the transport of a policy. It fails as NewGuard does.
func (c *Connections) Transport(p Policy) (*http.Transport, error) {
	data, err := jsonvalue.Encode(p)
	if err != nil {
		return nil, err
	}
	key := string(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.kept[key]; t != nil {
		return t, nil
	}
	guard, err := NewGuard(p)
	if err != nil {
		return nil, err
	}
	if c.kept == nil || len(c.kept) >= maxPolicies {
		c.forget()
	}
	c.kept[key] = enableKeepAlives(guard.Transport())
	return c.kept[key], nil
}

// forget starts over: connections in use are closed when their requests end, or soon after.
func (c *Connections) forget() {
	for _, t := range c.kept {
		t.CloseIdleConnections()
	}
	c.kept = map[string]*http.Transport{}
}

// enableKeepAlives has a transport keep connections. They are of HTTP/1.1: over HTTP/2 all requests
// of a
// moment would share one connection and break off with it.
func enableKeepAlives(t *http.Transport) *http.Transport {
	t.DisableKeepAlives, t.ForceAttemptHTTP2 = false, false
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = maxIdle, maxIdle, idleTimeout
	return t
}
