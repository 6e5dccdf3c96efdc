package gateway

import (
	"context"
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

// connected reports whether a server has a session.
func connected(s *mcp.Server) bool {
	for range s.Sessions() {
		return true
	}
	return false
}

// keep remembers the server of a session.
func (e *endpoint) keep(session string, s *mcp.Server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.servers[session] = s
	e.sweep()
}

// sweep forgets sessions that the SDK has closed. The lock must be held.
func (e *endpoint) sweep() {
	now := time.Now()
	if now.Sub(e.swept) < sweepEvery {
		return
	}
	e.swept = now
	for id, s := range e.servers {
		if !connected(s) {
			delete(e.servers, id)
		}
	}
	for id, at := range e.ended {
		if now.Sub(at) > endedFor {
			delete(e.ended, id)
		}
	}
}

// end ends a session whose client has asked for it, with its run.
func (e *endpoint) end(h *httpRequest, id sessionID) {
	e.mu.Lock()
	e.ended[h.session] = time.Now()
	delete(e.servers, h.session)
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
	for _, s := range e.servers {
		servers = append(servers, s)
	}
	return servers
}
