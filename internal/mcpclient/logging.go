package mcpclient

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

const (
	// logLevel is the least level of log messages that servers are asked for.
	logLevel = "info"
	// logWait bounds the request for log messages. A server that does not answer has none.
	logWait = 2 * time.Second
	// logGap is how long after the end of a call a message may still be one of that call.
	logGap = 10 * time.Millisecond
	// maxLogger bounds the name of a logger, in bytes.
	maxLogger = 100
)

// requestLogs asks a server for its log messages, where the protocol has a request for that.
func (c *Connection) requestLogs(ctx context.Context) {
	caps := c.session.InitializeResult().Capabilities
	if c.pingless || caps == nil || caps.Logging == nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	_ = c.session.SetLoggingLevel(within, &mcp.SetLoggingLevelParams{Level: logLevel}) // no logs
}

// takeLog has a call get the log messages of the server. The caller holds mu.
func (c *Connection) takeLog(r *Request, params *mcp.CallToolParams) {
	if r.Log == nil {
		return
	}
	if c.logging == nil {
		c.logging = map[*Request]func(api.LogLine){}
	}
	c.logging[r] = r.Log
	if c.pingless {
		if params.Meta == nil {
			params.Meta = mcp.Meta{}
		}
		params.Meta[mcp.MetaKeyLogLevel] = logLevel
	}
}

// leaveLog is the end of a call that got log messages. The caller holds mu.
func (c *Connection) leaveLog(r *Request) {
	if r.Log != nil {
		delete(c.logging, r)
		c.logged = time.Now()
	}
}

const (
	// settleFor is how long a call that was reported about waits for reports that the server sent
	// before its result: the SDK handles them beside results. maxSettle bounds the wait.
	settleFor = 50 * time.Millisecond
	maxSettle = 500 * time.Millisecond
)

// hear notes a report about a call. The caller holds mu.
func (c *Connection) hear(r *Request) {
	if c.heard == nil {
		c.heard = map[*Request]time.Time{}
	}
	c.heard[r] = time.Now()
}

// settle waits for the last reports about a call that has its result. Calls without reports do not
// wait.
func (c *Connection) settle(ctx context.Context, r *Request) {
	for began := time.Now(); time.Since(began) < maxSettle; {
		c.mu.Lock()
		last, any := c.heard[r]
		c.mu.Unlock()
		if last.Before(began) {
			last = began
		}
		left := settleFor - time.Since(last)
		if !any || left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// onLog passes a log message to the call that runs. Messages do not name their call, and the call
// of somebody else must not get them: they are dropped while several calls run, and shortly after
// the end of one.
func (c *Connection) onLog(_ context.Context, n *mcp.LoggingMessageRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.logging) != 1 || time.Since(c.logged) < logGap {
		return
	}
	data, err := api.EncodeJSON(n.Params.Data)
	if err != nil {
		return
	}
	for r, log := range c.logging {
		c.hear(r)
		log(api.LogLine{Level: string(n.Params.Level), Data: data,
			Logger: strings.ToValidUTF8(n.Params.Logger[:min(len(n.Params.Logger), maxLogger)], "")})
	}
}
