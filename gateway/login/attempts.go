package login

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// failuresAtOnce is how many logins of an address may fail at once, failureEvery how often one
	// more may fail.
	failuresAtOnce = 10
	failureEvery   = 6 * time.Second
	// maxAddresses bounds the addresses that are remembered.
	maxAddresses = 10_000
	// maxOnce bounds a onceSet.
	maxOnce = 100_000
)

// attempts bounds failed logins of each address.
type attempts struct {
	now func() time.Time
	mu  *sync.Mutex
	by  map[string]*rate.Limiter
}

func newAttempts(now func() time.Time) attempts {
	return attempts{now: now, mu: &sync.Mutex{}, by: map[string]*rate.Limiter{}}
}

func (a attempts) of(r *http.Request) *rate.Limiter {
	address := clientAddress(r)
	if len(a.by) >= maxAddresses && a.by[address] == nil {
		clear(a.by)
	}
	if a.by[address] == nil {
		a.by[address] = rate.NewLimiter(rate.Every(failureEvery), failuresAtOnce)
	}
	return a.by[address]
}

// allows reports whether another login from the request's address may fail.
func (a attempts) allows(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of(r).TokensAt(a.now()) >= 1
}

// countFailure counts a failed login.
func (a attempts) countFailure(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(r).AllowN(a.now(), 1)
}

// clientAddress returns the address that a request comes from; for IPv6 the network of a household.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() && !ip.Is4In6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return host
}

// onceSet remembers texts for a while.
type onceSet struct {
	now func() time.Time
	mu  *sync.Mutex
	// until is how long each is remembered.
	until map[string]time.Time
}

func newOnceSet(now func() time.Time) onceSet {
	return onceSet{now: now, mu: &sync.Mutex{}, until: map[string]time.Time{}}
}

// add remembers a text, and reports whether it was new.
func (s onceSet) add(text string, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.until[text]; known {
		return false
	}
	if len(s.until) >= maxOnce {
		for old, over := range s.until {
			if s.now().After(over) {
				delete(s.until, old)
			}
		}
	}
	s.until[text] = until
	return true
}

func (s onceSet) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.until[text]
	return known
}
