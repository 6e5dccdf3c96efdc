package outbound

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// nameServer is a DNS server on loopback with changing answers.
type nameServer struct {
	conn    net.PacketConn
	address atomic.Pointer[[4]byte]
	asked   atomic.Int64
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn}
	t.Cleanup(func() { _ = conn.Close() })
	go s.serve()
	return s
}

func (s *nameServer) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		s.asked.Add(1)
		_, _ = s.conn.WriteTo(s.answer(buffer[:n]), from)
	}
}

// answer returns a question with its answer: the address for type A, none for others (RFC 1035,
// section 4).
func (s *nameServer) answer(question []byte) []byte {
	const header = 12
	end := header + bytes.IndexByte(question[header:], 0) + 1 + 4
	m := bytes.Clone(question[:end])
	m[2], m[3] = 0x81, 0x80 // a response, recursion asked for and available
	clear(m[6:header])      // no records
	if kind := m[end-3]; kind == 1 {
		m[7] = 1
		address := s.address.Load()
		// The question's name, A, IN, and a time to live of zero.
		m = append(m, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		m = append(m, address[:]...)
	}
	return m
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// If an allowed name changes its address between two requests, internal addresses stay refused: the
// address of the connection is checked. A name that may be internal follows its address.
func TestDNS_ChangedAddressesAreChecked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "inside")
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	names := newNameServer(t)
	get := func(p Policy) error {
		g, err := NewGuard(p)
		if err != nil {
			t.Fatal(err)
		}
		g.resolver = names.resolver()
		resp, err := Client(g.Transport(), nil, nil).Get("http://api.example.com:" + port)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	own := Policy{Hosts: []string{"api.example.com"}}
	// No test may connect to 198.51.100.7. The guard refuses it too, so both refusals are due to
	// the address, not the name.
	for _, address := range [][4]byte{{198, 51, 100, 7}, {127, 0, 0, 1}, {169, 254, 169, 254}} {
		names.address.Store(&address)
		refusal, ok := errors.AsType[*Refusal](get(own))
		if !ok || !strings.Contains(refusal.Reason, net.IP(address[:]).String()) {
			t.Errorf("%v: got %v", address, refusal)
		}
	}
	loopback := [4]byte{127, 0, 0, 1}
	names.address.Store(&loopback)
	for _, inside := range []Policy{
		{Allow: []string{"api.example.com"}}, {Allow: []string{"127.0.0.1"}},
		{Hosts: own.Hosts, Inside: []string{"127.0.0.0/8"}},
		{Public: true, Inside: []string{"api.example.com"}},
	} {
		if err := get(inside); err != nil {
			t.Errorf("%+v: %v", inside, err)
		}
	}
}

// The lookup would disclose data to the name server.
func TestDNS_DoesNotLookUpRefusedNames(t *testing.T) {
	names := newNameServer(t)
	g, err := NewGuard(Policy{Hosts: []string{"api.example.com"}, Inside: []string{"10.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	g.resolver = names.resolver()
	_, err = g.DialContext(t.Context(), "tcp", "secret-of-the-run.example.net:443")
	if _, ok := errors.AsType[*Refusal](err); !ok || names.asked.Load() != 0 {
		t.Errorf("got %v after %d questions", err, names.asked.Load())
	}
}
