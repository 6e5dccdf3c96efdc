package mcp

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/toolspecs"
)

const (
	// warmPause is the wait before a warm session that failed is replaced. It doubles with every
	// further failure, up to maxWarmPause.
	warmPause    = time.Second
	maxWarmPause = time.Minute
)

// warmSessions keeps connections to servers open that no run uses yet. The first call of a run
// takes one, and another one is opened. A connection that a run has taken never returns.
type warmSessions struct {
	pool *mcpPool

	mu sync.Mutex
	// servers are by warmKey.
	servers map[string]*warmServer
}

// warmServer is a server with warm sessions.
type warmServer struct {
	entry toolspecs.Entry
	asks  bool
	// conns are open or being opened. There are entry.Warm of them, fewer after a failure.
	conns []*mcpConn
	// failures counts the connections in a row that failed before a run took one.
	failures int
	// retry opens connections again after a failure; nil without one.
	retry *time.Timer
}

func warmKey(entry *toolspecs.Entry, asks bool) string {
	return fmt.Sprint(entry.ServerDigest(), asks)
}

// KeepWarm has as many sessions ready for the servers of the tools as they declare, and ends those
// of other servers.
func (m *Executor) KeepWarm(specs []*toolspecs.Spec) {
	wanted := map[string]*warmServer{}
	asking := map[string]bool{}
	for _, s := range specs {
		asking[s.Entry.ServerDigest()] = asking[s.Entry.ServerDigest()] || s.Entry.AnswerWithin > 0
	}
	for _, s := range specs {
		if s.Entry.Type == toolspecs.KindMCP && s.Entry.Warm > 0 {
			asks := asking[s.Entry.ServerDigest()]
			wanted[warmKey(&s.Entry, asks)] = &warmServer{entry: s.Entry, asks: asks}
		}
	}
	m.warm.keep(wanted)
}

// WarmSessions returns how many sessions are open that no run uses yet.
func (m *Executor) WarmSessions() (open int) {
	w := m.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.servers {
		for _, c := range s.conns {
			if c.opened() && !c.ended() {
				open++
			}
		}
	}
	return open
}

func (w *warmSessions) keep(wanted map[string]*warmServer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, s := range w.servers {
		if wanted[key] == nil {
			w.end(s, 0)
			delete(w.servers, key)
		}
	}
	for key, s := range wanted {
		if known := w.servers[key]; known != nil {
			known.entry.Warm = s.entry.Warm
			s = known
		}
		w.servers[key] = s
		w.end(s, s.entry.Warm)
		w.fill(s)
	}
}

// end ends the connections of a server beyond the first n. The caller holds mu.
func (w *warmSessions) end(s *warmServer, n int) {
	if n == 0 && s.retry != nil {
		s.retry.Stop()
	}
	for len(s.conns) > n {
		c := s.conns[len(s.conns)-1]
		s.conns = s.conns[:len(s.conns)-1]
		w.pool.discard(c)
	}
}

// fill opens the connections that a server lacks, unless it waits after a failure. The caller holds
// mu.
func (w *warmSessions) fill(s *warmServer) {
	for s.retry == nil && len(s.conns) < s.entry.Warm {
		c := w.pool.openOwn(&s.entry, s.asks)
		if c == nil {
			return // the worker stops
		}
		s.conns = append(s.conns, c)
		go w.watch(s, c, time.Now())
	}
}

// watch replaces a connection that fails before a run has taken it.
func (w *warmSessions) watch(s *warmServer, c *mcpConn, opened time.Time) {
	<-c.ready
	if c.err == nil {
		<-c.conn.Done()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(s.conns, c)
	if i < 0 || w.pool.ctx.Err() != nil {
		return
	}
	s.conns = slices.Delete(s.conns, i, i+1)
	w.pool.discard(c)
	if s.retry != nil {
		return // another one failed just before
	}
	if time.Since(opened) > maxWarmPause {
		s.failures = 0
	}
	pause := min(warmPause<<min(s.failures, 10), maxWarmPause)
	s.failures++
	if log := w.pool.options.Log; log != nil {
		log.Warn("a warm session with an MCP server failed", "error", c.failure(), "retry_after",
			pause)
	}
	s.retry = time.AfterFunc(pause, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		s.retry = nil
		if w.servers[warmKey(&s.entry, s.asks)] == s {
			w.fill(s)
		}
	})
}

// take returns a connection for a session of a run, and opens another one. It prefers one that is
// open. It returns nil if the server has none.
func (w *warmSessions) take(entry *toolspecs.Entry, asks bool) *mcpConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.servers[warmKey(entry, asks)]
	if s == nil {
		return nil
	}
	usable := slices.DeleteFunc(slices.Clone(s.conns), (*mcpConn).ended)
	if len(usable) == 0 {
		return nil
	}
	i := max(slices.IndexFunc(usable, (*mcpConn).opened), 0)
	taken := usable[i]
	s.conns = slices.DeleteFunc(s.conns, func(c *mcpConn) bool { return c == taken })
	if taken.opened() {
		s.failures = 0
	}
	w.fill(s)
	return taken
}
