package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// session is one run's session with a server. Its first call connects, so that the errors of
// connecting and the questions of a login are those of a call. It implements io.Closer.
type session struct {
	executor *Executor
	asks     bool
	// lost receives once why the state of the session was lost.
	lost chan error

	mu   sync.Mutex
	conn *sessionConn
	// over is why no call can use the session any more; nil while calls can.
	over error
}

// sessionConn is a connection of a session.
type sessionConn struct {
	*mcpConn
	// used is set when a call may have been sent on the connection: the server then may keep state.
	// The session's mu guards it.
	used bool
}

// StartInstance implements executor.Host: it returns a session that is not yet connected.
func (m *Executor) StartInstance(_ context.Context, _ *toolspecs.Spec,
	info executor.InstanceInfo) (executor.Instance, error) {
	s := &session{executor: m, asks: info.Asks, lost: make(chan error, 1)}
	return executor.Instance{Value: s, Call: s.execute, Lost: s.lost}, nil
}

// execute executes a call in the session. Its errors are those of Executor.Execute, and worker_lost
// if the session was lost before the call was sent.
func (s *session) execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	if answer, resumed, err := s.executor.resume(ctx, spec, args); resumed {
		return answer, err
	}
	answer, err := s.attempt(ctx, spec, args)
	if notSent(err) {
		if over := s.checkOpen(); over != nil {
			return executor.Answer{}, over
		}
		answer, err = s.attempt(ctx, spec, args)
	}
	return answer, mcpError(err)
}

// attempt makes a call on the session's connection.
func (s *session) attempt(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	c, err := s.connection(ctx, spec)
	if err != nil {
		return executor.Answer{}, executor.NotStarted(err)
	}
	return s.executor.callOn(ctx, c.conn, spec, args, func() { s.sends(c) })
}

// sends records that a call is about to be sent on a connection.
func (s *session) sends(c *sessionConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.used = true
}

// connection returns the open connection of the session. It connects if the session has none, and
// again if the last one ended and held no state.
func (s *session) connection(ctx context.Context, spec *toolspecs.Spec) (*sessionConn, error) {
	for {
		c, err := s.current(ctx, spec)
		if err != nil {
			return nil, err
		}
		err = c.await(ctx)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errAbandoned) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// current returns the connection that calls use, open or being opened.
func (s *session) current(ctx context.Context, spec *toolspecs.Spec) (*sessionConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended, over := s.check()
	if over != nil {
		return nil, over
	}
	if ended {
		s.conn = &sessionConn{mcpConn: s.executor.pool.open(ctx, serverEntry(spec), s.asks, nil)}
		go s.watch(s.conn)
	}
	return s.conn, nil
}

// watch notices the end of a connection between calls.
func (s *session) watch(c *sessionConn) {
	<-c.ready
	if c.err == nil {
		<-c.conn.Done()
		_ = s.checkOpen() // it reports the loss
	}
}

// checkOpen returns why the session is over; nil if calls can use it. If its connection has ended
// with
// state, it reports the loss.
func (s *session) checkOpen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, over := s.check()
	return over
}

// check returns why the session is over as checkOpen does, and otherwise whether it has no usable
// connection. It looks at the connection once, because that can end at any time. The caller holds
// mu.
func (s *session) check() (ended bool, over error) {
	if s.over != nil {
		return true, s.over
	}
	ended = s.conn == nil || s.conn.hasEnded()
	if !ended || s.conn == nil || !s.conn.used || s.conn.err != nil || !s.conn.conn.HasSession() {
		return ended, nil
	}
	reason := fmt.Errorf("the session with its MCP server was lost: %w", s.conn.conn.Err())
	s.lost <- reason
	e := api.Errorf(api.ErrWorkerLost, "%v; nothing was called", reason)
	e.Phase, e.Retryable = api.PhaseExecution, true
	s.over = executor.NotStarted(e)
	return true, s.over
}

// Close ends the session: an HTTP server is notified, and a program is ended.
func (s *session) Close() error {
	s.mu.Lock()
	c := s.conn
	if s.over == nil {
		s.over = executor.NotStarted(errStopping())
	}
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
	return nil
}
