package gateway

import (
	"context"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// sweepEvery is how often sessions that are no longer in memory are forgotten. A session that its
// client has ended is remembered for endedFor.
const (
	sweepEvery = time.Minute
	endedFor   = time.Hour
)

// Bounds of what clients leave behind, for each principal and in all. A session in memory takes
// about 120 KB, and its id begins it again if it had to go. The id of a session that was ended and
// is no longer remembered begins it again, too.
const (
	maxOwnSessions = 100
	maxSessions    = 1_000
	maxOwnEnded    = 1_000
	maxEnded       = 10_000
)

// isConnected reports whether a server has a session.
func isConnected(s *mcp.Server) bool {
	for range s.Sessions() {
		return true
	}
	return false
}

// disconnect closes the sessions of servers. It waits for their handlers and must not be called
// with the lock.
func disconnect(servers []*mcp.Server) {
	for _, server := range servers {
		for s := range server.Sessions() {
			_ = s.Close() // its streams end, and it is gone
		}
	}
}

// keep remembers the server of a session of a principal, which a message uses until done is called.
func (e *endpoint) keep(session, principal string, s *mcp.Server) (done func()) {
	e.mu.Lock()
	added, gone := e.servers.add(session, principal, s)
	done = e.use(added, true)
	e.sweep()
	e.mu.Unlock()
	disconnect(gone)
	return done
}

// use marks a session as used, until done is called if it has to stay. The lock must be held.
func (e *endpoint) use(session *entry[*mcp.Server], stays bool) (done func()) {
	session.used = time.Now()
	if !stays {
		return func() {}
	}
	session.busy++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		session.used = time.Now()
		session.busy--
	}
}

// endedID is under what the end of a session is remembered. It is short, unlike the session's id.
func endedID(principal string, id sessionID) string { return principal + " " + id.Key }

// sweep forgets sessions that the SDK has closed. The lock must be held.
func (e *endpoint) sweep() {
	now := time.Now()
	if now.Sub(e.swept) < sweepEvery {
		return
	}
	e.swept = now
	maps.DeleteFunc(e.servers.entries, func(_ string, s *entry[*mcp.Server]) bool {
		return s.busy == 0 && !isConnected(s.value)
	})
	maps.DeleteFunc(e.ended.entries, func(_ string, at *entry[time.Time]) bool {
		return now.Sub(at.value) > endedFor
	})
}

// end ends a session whose client has asked for it, with its run.
func (e *endpoint) end(h *httpRequest, id sessionID) {
	e.mu.Lock()
	e.ended.add(endedID(h.caller.ID, id), h.caller.ID, time.Now())
	delete(e.servers.entries, h.session)
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), endWithin)
	defer cancel()
	s := Session{Caller: h.caller, key: id.Key}
	if err := e.config.Sessions.End(ctx, s, api.EndSession{By: h.caller.ID,
		Reason: "the client ended its session", Grace: api.Duration(endGrace)}); err != nil {
		e.config.Logger.Info("a session was not ended", "session", s.RunID(), "error", err)
	}
}

const (
	// endWithin bounds the request that ends a session, endGrace the completion of its calls.
	endWithin = 10 * time.Second
	endGrace  = 30 * time.Second
)

// announcement is a tool that no client sees: adding and removing it has the SDK announce a change
// of the list.
const announcement = "switchyard_list_changed"

// announceTools tells the clients that are connected that the list of tools has changed.
func (e *endpoint) announceTools() {
	for _, s := range e.all() {
		s.AddTool(&mcp.Tool{Name: announcement, InputSchema: anyObject}, nil)
		s.RemoveTools(announcement)
	}
}

// all returns the servers of the sessions in memory, and the one of all clients without a session.
func (e *endpoint) all() []*mcp.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	servers := []*mcp.Server{e.shared}
	for _, s := range e.servers.entries {
		servers = append(servers, s.value)
	}
	return servers
}
