package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// loopback is where the parts of the server talk to each other, whatever the server listens on.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// ports are the ports of one server. Each is taken by a listener of ours from the check until its
// real owner takes it.
type ports struct {
	frontend, http, history, matching, worker, ui, metrics reservation
}

type reservation struct {
	listener net.Listener
	addr     netip.AddrPort
}

// reservePorts finds a port for each part. The error names a port that is busy and the flag that
// changes it.
func reservePorts(cfg *settings) (*ports, error) {
	p := &ports{}
	for _, want := range []struct {
		taken *reservation
		ip    netip.Addr
		port  int
		flag  string
		skip  bool
	}{
		{taken: &p.frontend, ip: cfg.ip, port: cfg.port, flag: "--port"},
		{taken: &p.ui, ip: cfg.ip, port: cfg.uiPort, flag: "--ui-port", skip: cfg.headless},
		{taken: &p.metrics, ip: cfg.ip, port: cfg.metricsPort, flag: "--metrics-port",
			skip: cfg.metricsPort == 0},
		{taken: &p.http, ip: cfg.ip},
		{taken: &p.history, ip: loopback},
		{taken: &p.matching, ip: loopback},
		{taken: &p.worker, ip: loopback},
	} {
		if want.skip {
			continue
		}
		if err := want.taken.take(want.ip, want.port, want.flag); err != nil {
			p.release()
			return nil, err
		}
	}
	return p, nil
}

// releaseServer frees all ports but the UI's, for the server to take.
func (p *ports) releaseServer() {
	for _, r := range []*reservation{&p.frontend, &p.http, &p.history, &p.matching, &p.worker,
		&p.metrics} {
		r.release()
	}
}

func (p *ports) release() {
	p.releaseServer()
	p.ui.release()
}

func (r *reservation) take(ip netip.Addr, port int, flag string) error {
	address := netip.AddrPortFrom(ip, uint16(port))
	listener, err := net.Listen("tcp", address.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d on %s is in use by another process: stop that process, or choose another port with %s (0 selects a free one)",
			port, ip, flag)
	case err != nil:
		return fmt.Errorf("cannot listen on %s: %w: choose another address with --ip or another port with %s",
			address, err, flag)
	}
	r.listener = listener
	r.addr = netip.AddrPortFrom(ip, uint16(listener.Addr().(*net.TCPAddr).Port))
	if port == 0 {
		linger(listener)
	}
	return nil
}

// linger leaves a just closed connection on the listener's port. For a minute the system then
// assigns the port neither as a free port nor to outgoing connections, while a program that names
// it, such as the server, still gets it. Without it the port is only less well reserved.
func linger(listener net.Listener) {
	dialed, err := net.Dial("tcp",
		reachable(netip.MustParseAddrPort(listener.Addr().String())).String())
	if err != nil {
		return
	}
	defer dialed.Close()
	if accepted, err := listener.Accept(); err == nil {
		accepted.Close() // the side that closes first is the one that lingers
	}
}

func (r *reservation) release() {
	if r.listener != nil {
		r.listener.Close()
		r.listener = nil
	}
}

// handOver returns the listener to its real owner.
func (r *reservation) handOver() net.Listener {
	listener := r.listener
	r.listener = nil
	return listener
}

func (r *reservation) port() int { return int(r.addr.Port()) }

// reachable is the address under which a listener on this machine is called: the loopback one when
// it listens on all.
func reachable(addr netip.AddrPort) netip.AddrPort {
	switch ip := addr.Addr(); {
	case !ip.IsUnspecified():
		return addr
	case ip.Is4():
		return netip.AddrPortFrom(loopback, addr.Port())
	default:
		return netip.AddrPortFrom(netip.IPv6Loopback(), addr.Port())
	}
}

func httpURL(addr netip.AddrPort) string { return "http://" + addr.String() }
