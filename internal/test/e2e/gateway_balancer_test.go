package e2e

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// balancer is a load balancer that knows connections only. It gives each one to the next backend,
// and to another one if that cannot be reached.
type balancer struct {
	address  string
	backends []string
	next     atomic.Uint64
}

func newBalancer(t *testing.T, backends ...string) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{address: listener.Addr().String(), backends: backends}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { b.forward(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Wait()
	})
	return b
}

// forward copies a connection to a backend and back until one of them closes it.
func (b *balancer) forward(client net.Conn) {
	defer client.Close()
	for range b.backends {
		number := b.next.Add(1)
		backend, err := net.Dial("tcp", b.backends[number%uint64(len(b.backends))])
		if err != nil {
			continue
		}
		defer backend.Close()
		var both sync.WaitGroup
		for _, way := range [][2]net.Conn{{client, backend}, {backend, client}} {
			both.Go(func() {
				_, _ = io.Copy(way[1], way[0]) // either side may break the connection
				_ = way[0].Close()
				_ = way[1].Close()
			})
		}
		both.Wait()
		return
	}
}
