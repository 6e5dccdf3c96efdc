package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// defaultMCPIdle is the default idle timeout of shared connections.
const defaultMCPIdle = 10 * time.Minute

// mcpKey identifies a shared connection: the server and how it is reached, and, if calls do not
// share it, a number.
type mcpKey struct {
	server string
	n      int
}

// mcpPool holds the shared connections of one process to MCP servers.
type mcpPool struct {
	options  mcpclient.Options
	idle     time.Duration
	closeAll sync.WaitGroup
	// ctx ends when the pool is closed, which ends waiting for connections.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	conns  map[mcpKey]*mcpConn
}

// mcpConn is a connection that is open or being opened.
type mcpConn struct {
	// ready is closed when conn or err is set.
	ready chan struct{}
	conn  *mcpclient.Connection
	err   error
	// users counts the calls that use the connection or wait for it, uses all calls so far.
	users, uses int
	// expiry closes the connection at its idle timeout.
	expiry *time.Timer
}

func newMCPPool(o Options) *mcpPool {
	ctx, cancel := context.WithCancel(context.Background())
	return &mcpPool{
		ctx: ctx, cancel: cancel,
		options: mcpclient.Options{Dir: o.Dir, Log: o.Log, Inside: o.Inside,
			ConnectTimeout: o.ConnectTimeout, MaxMessage: o.MaxMessage,
			Logins: mcpclient.NewLogins(o.Logins)},
		idle:  cmp.Or(o.IdleTimeout, defaultMCPIdle),
		conns: map[mcpKey]*mcpConn{},
	}
}

// acquire returns a connection for one call of the spec; the caller calls release at the end of the
// call.
func (p *mcpPool) acquire(ctx context.Context, spec *toolspecs.Spec) (conn *mcpclient.Connection,
	release func(), err error) {
	c, key, err := p.join(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	if err := c.await(ctx); err != nil {
		p.leave(key, c)
		if errors.Is(err, errAbandoned) && ctx.Err() == nil {
			return p.acquire(ctx, spec)
		}
		return nil, nil, err
	}
	return c.conn, func() { p.leave(key, c) }, nil
}

// join adds a call to its connection, and opens one if there is none that is usable. A call that
// may ask a person has a connection to itself, because a server's question does not name its call.
func (p *mcpPool) join(ctx context.Context, spec *toolspecs.Spec) (*mcpConn, mcpKey, error) {
	entry := serverEntry(spec)
	asks := entry.AnswerWithin > 0
	key := mcpKey{server: fmt.Sprint(entry.ServerDigest(), asks)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, key, errStopping()
	}
	for ; ; key.n++ {
		c := p.conns[key]
		if c != nil && c.hasEnded() {
			delete(p.conns, key)
			c = nil
		}
		if c == nil {
			c = p.open(ctx, entry, asks, nil)
			p.conns[key] = c
		}
		if asks && c.users > 0 {
			continue
		}
		c.users++
		c.uses++
		return c, key, nil
	}
}

func errStopping() error {
	e := api.Errorf(api.ErrPreconditionFailed, "the worker is being stopped; nothing was called")
	e.Retryable = true
	return e
}

// open starts to open a connection. It does not use a call's context, because other calls may wait
// for the connection too, unless that call may have to ask a person to log in. task is the task
// that the connection is for; nil if it is for calls.
func (p *mcpPool) open(ctx context.Context, entry toolspecs.MCPEntry, asks bool,
	task *api.RemoteTask) *mcpConn {
	c := &mcpConn{ready: make(chan struct{})}
	options := p.options
	options.Asks, options.Task = asks, task
	within, done := p.ctx, func() {}
	if entry.AnswerWithin > 0 && entry.Auth.OAuth() {
		options.Login = askLogin
		call, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(p.ctx, cancel)
		within, done = call, func() {
			stop()
			cancel()
		}
	}
	p.closeAll.Go(func() {
		defer close(c.ready)
		defer done()
		c.conn, c.err = mcpclient.Connect(within, entry.MCPServer(), options)
		if c.err != nil && within != p.ctx && ctx.Err() != nil {
			c.err = fmt.Errorf("%w: %w", errAbandoned, c.err)
		}
	})
	return c
}

// errAbandoned means that the call that was opening the connection has ended.
var errAbandoned = errors.New("the call that was connecting has ended")

// hasEnded reports whether a connection is no longer usable.
func (c *mcpConn) hasEnded() bool { return c.isReady() && c.failure() != nil }

// isReady reports whether opening the connection is over.
func (c *mcpConn) isReady() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// failure returns why an opened connection failed or ended; nil if it did not.
func (c *mcpConn) failure() error {
	if c.err != nil {
		return c.err
	}
	return c.conn.Err()
}

// await waits until the connection is open.
func (c *mcpConn) await(ctx context.Context) error {
	select {
	case <-c.ready:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave ends a call's use. The last one starts the idle timeout.
func (p *mcpPool) leave(key mcpKey, c *mcpConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.users--
	if c.users > 0 {
		return
	}
	uses := c.uses
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(p.idle, func() { p.expire(key, c, uses) })
}

// expire closes a connection that was not used since it had uses calls.
func (p *mcpPool) expire(key mcpKey, c *mcpConn, uses int) {
	p.mu.Lock()
	if p.closed || c.users > 0 || c.uses != uses {
		p.mu.Unlock()
		return
	}
	if p.conns[key] == c {
		delete(p.conns, key)
	}
	p.closeAll.Add(1)
	p.mu.Unlock()
	defer p.closeAll.Done()
	c.close()
}

// close ends the connection, or waits until opening it has failed.
func (c *mcpConn) close() {
	<-c.ready
	if c.err == nil {
		c.conn.Close()
	}
}

func (p *mcpPool) close() {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	for _, c := range p.conns {
		if c.expiry != nil {
			c.expiry.Stop()
		}
		p.closeAll.Go(c.close)
	}
	clear(p.conns)
	p.mu.Unlock()
	p.closeAll.Wait()
}
