package outbound

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// counted is a server that counts its connections, all and open ones.
type counted struct {
	*httptest.Server
	made, open atomic.Int64
	closed     chan struct{}
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	s := &counted{Server: httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
	})), closed: make(chan struct{}, 1000)}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.made.Add(1)
			s.open.Add(1)
		case http.StateClosed:
			s.open.Add(-1)
			s.closed <- struct{}{}
		default:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *counted) ask(t *testing.T, c *Connections, p Policy) error {
	t.Helper()
	transport, err := c.Transport(p)
	if err != nil {
		t.Fatal(err)
	}
	origin, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = get(t, Client(transport, origin, nil), s.URL)
	return err
}

// Requests under one policy reuse a connection. Those under another policy have their own, and a
// policy that refuses the address cannot use an open connection to it.
func TestConnections_ArePerPolicy(t *testing.T) {
	s := newCounted(t)
	var c Connections
	for _, step := range []struct {
		policy Policy
		made   int64
	}{
		{Policy{Allow: []string{"127.0.0.1"}}, 1}, {Policy{Allow: []string{"127.0.0.1"}}, 1},
		{Policy{Allow: []string{"127.0.0.0/8"}}, 2}, {Policy{Allow: []string{"127.0.0.1"}}, 2},
	} {
		if err := s.ask(t, &c, step.policy); err != nil || s.made.Load() != step.made {
			t.Errorf("%v: %d connections, %v; want %d", step.policy.Allow, s.made.Load(), err,
				step.made)
		}
	}
	if err := s.ask(t, &c, Policy{Hosts: []string{"127.0.0.1"}}); err == nil {
		t.Error("an address that is refused was reached over a connection that was there")
	}
	if _, err := c.Transport(Policy{Allow: []string{"http://x"}}); err == nil {
		t.Error("a wrong policy was taken")
	}
}

// The number of open connections does not depend on the number of policies.
func TestConnections_AreBounded(t *testing.T) {
	s := newCounted(t)
	var c Connections
	for i := range maxPolicies {
		if err := s.ask(t, &c, Policy{Allow: []string{"127.0.0.1", fmt.Sprintf("host%d.example.com",
			i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ask(t, &c, Policy{Allow: []string{"127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	for range maxPolicies {
		<-s.closed
	}
	if n := s.open.Load(); n != 1 {
		t.Errorf("%d connections are open", n)
	}
}

func TestConnections_AreSafeForConcurrentUse(t *testing.T) {
	s := newCounted(t)
	var c Connections
	var calls sync.WaitGroup
	for i := range 3 * maxPolicies {
		calls.Go(func() {
			if err := s.ask(t, &c,
				Policy{Allow: []string{"127.0.0.1", fmt.Sprintf("host%d.example.com",
					i)}}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}
