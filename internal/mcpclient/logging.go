package mcpclient

//lint:file-ignore SA1019 servers send log messages as long as the protocol has them

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
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
	// lingerFor is how long a call that was reported about waits for reports that the server sent
	// before its result: the SDK handles them beside results. maxLinger bounds the wait.
	lingerFor = 50 * time.Millisecond
	maxLinger = 500 * time.Millisecond
)

// reports knows which calls of a connection are reported about.
type reports struct {
	mu sync.Mutex
	// logs are the running calls that take log messages, and ended the end of the last one.
	logs  map[*Request]func(api.LogLine)
	ended time.Time
	// heard is when the running calls were last reported about.
	heard map[*Request]time.Time
}

// requestLogs asks a server for its log messages, where the protocol has a request for that.
func requestLogs(ctx context.Context, s *mcp.ClientSession) {
	server := s.InitializeResult()
	if server.ProtocolVersion > lastWithPing || server.Capabilities == nil ||
		server.Capabilities.Logging == nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	_ = s.SetLoggingLevel(within, &mcp.SetLoggingLevelParams{Level: logLevel}) // no logs
}

// begin has a call get the reports about it. meta is set if the protocol has no request for logs.
func (p *reports) begin(r *Request, params *mcp.CallToolParams, meta bool) {
	if r.Log == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logs == nil {
		p.logs = map[*Request]func(api.LogLine){}
	}
	p.logs[r] = r.Log
	if !meta {
		return
	}
	if params.Meta == nil {
		params.Meta = mcp.Meta{}
	}
	params.Meta[mcp.MetaKeyLogLevel] = logLevel
}

// end is the end of a call.
func (p *reports) end(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.heard, r)
	if r.Log != nil {
		delete(p.logs, r)
		p.ended = time.Now()
	}
}

// hear notes a report about a call.
func (p *reports) hear(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard == nil {
		p.heard = map[*Request]time.Time{}
	}
	p.heard[r] = time.Now()
}

// linger waits for the last reports about a call that has its result. Calls without reports do not
// wait.
func (p *reports) linger(ctx context.Context, r *Request) {
	for began := time.Now(); time.Since(began) < maxLinger; {
		p.mu.Lock()
		last, any := p.heard[r]
		p.mu.Unlock()
		if last.Before(began) {
			last = began
		}
		left := lingerFor - time.Since(last)
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

// only returns the call that a log message belongs to; nil if that is not clear. Messages do not
// name their call, and the call of somebody else must not get them: they are dropped while several
// calls run, and shortly after the end of one.
func (p *reports) only() *Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.logs) != 1 || time.Since(p.ended) < logGap {
		return nil
	}
	for r := range p.logs {
		return r
	}
	return nil
}

// onLog passes a log message to the call that runs.
func (p *reports) onLog(_ context.Context, n *mcp.LoggingMessageRequest) {
	r := p.only()
	data, err := jsonvalue.Encode(n.Params.Data)
	if r == nil || err != nil {
		return
	}
	p.hear(r)
	r.Log(api.LogLine{Level: string(n.Params.Level), Data: data,
		Logger: strings.ToValidUTF8(n.Params.Logger[:min(len(n.Params.Logger), maxLogger)], "")})
}
