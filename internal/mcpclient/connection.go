package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
)

// Connection is one session with an MCP server. It may be used by many goroutines. Once it has
// ended it stays so: make a new one.
type Connection struct {
	// name is the server's in errors, without anything that may be secret.
	name  string
	limit int
	log   *slog.Logger
	// session is nil until Connect returns; opened is closed then.
	session *mcp.ClientSession
	opened  chan struct{}
	// serverProcess is the server's process; nil if the server is remote.
	serverProcess *serverProcess
	// login provides the tokens of the connection; nil if they are configured.
	login *login
	// ctx ends with the connection; its cause is the reason.
	ctx context.Context
	end context.CancelCauseFunc

	tools   toolList
	reports reports

	mu sync.Mutex
	// progress and asking are the running calls that take progress, by token, and those that may
	// ask.
	progress      map[string]func(api.Progress)
	openQuestions map[*Request]context.Context
	token         atomic.Int64
	// probing is open while it is looked whether the server still reacts; else nil.
	probing chan struct{}
	// pingless is set if the session's protocol has no ping. Tasks are then an extension.
	pingless bool
	// takesTasks is set if the server runs calls as tasks on request, in version 2025-11-25.
	takesTasks bool
}

// Done is closed when the connection has ended.
func (c *Connection) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns why the connection ended; nil while it is open.
func (c *Connection) Err() error { return context.Cause(c.ctx) }

var errClosed = errors.New("it was closed")

// Close ends the session. An HTTP server is notified; a program has a second to exit before its
// process group is killed. Running calls fail.
func (c *Connection) Close() {
	// The cancellation of a call that just ended is still being sent to the server.
	c.trusted(context.Background())
	c.end(errClosed)
	select {
	case <-c.closeSession():
	case <-time.After(closeTime):
	}
}

// closeTime bounds closing a session. The SDK waits until every message to the server is sent.
const closeTime = 15 * time.Second

// closeSession closes the session, if one comes to be, and returns a channel that is closed then.
func (c *Connection) closeSession() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer panics.MCP.Contain(context.Background(), c.log, nil)
		<-c.opened
		switch {
		case c.session != nil:
			_ = c.session.Close() // errors of a server that is closing do not matter
		case c.serverProcess != nil:
			_ = c.serverProcess.Close()
		}
	}()
	return closed
}

// HasSession reports whether the server can keep state for this connection: it is a program, or it
// issued a session id. The state is lost with the connection.
func (c *Connection) HasSession() bool {
	return c.serverProcess != nil || c.session.ID() != ""
}

// breakOff closes an unusable connection without waiting.
func (c *Connection) breakOff(reason error) {
	c.end(reason)
	if c.serverProcess != nil {
		c.serverProcess.kill()
	}
	c.closeSession()
}

// watch closes the connection when the session ends.
func (c *Connection) watch() {
	err := c.session.Wait()
	if reason := c.serverProcess.failed(); reason != nil {
		err = reason
	}
	if err == nil {
		err = errors.New("the server closed it")
	}
	c.breakOff(err)
}

// Request is one call of a tool.
type Request struct {
	Tool      string
	Arguments json.RawMessage
	// Meta goes along with the call as its _meta.
	Meta map[string]any
	// Traceparent is a header of the HTTP requests of the call; empty for none.
	Traceparent string
	// Progress, if set, receives progress reports of the server, and Log its log messages, which do
	// not name their call: they are dropped while several calls take them.
	Progress func(api.Progress)
	Log      func(api.LogLine)
	// Ask, if set, asks a person the server's question during the call. Its ctx ends with the call
	// or when the server withdraws the question. It is called only on a connection with Asks, with
	// no other call in flight. name is what the server calls the question; empty for none.
	Ask func(ctx context.Context, name, text string, schema json.RawMessage) (Reply, error)
	// TaskSupport is that of the tool. KeepTask is how long the server is asked to keep a task of
	// the call. Created, if set, gets the task if the server answers with one, before Call waits
	// for its end.
	TaskSupport TaskSupport
	KeepTask    time.Duration
	Created     func(api.RemoteTask)
	// Note, unless nil, gets why a question of the server was not passed on or not answered.
	Note func(text string)
}

// Reply is a person's reply to a server's question: the form's values, or that it is declined.
type Reply struct {
	Content  map[string]any
	Declined bool
}

// Answer is a tool's answer.
type Answer struct {
	Content []mcp.Content
	// Structured is the structured content exactly as the server sent it; nil if there is none.
	Structured json.RawMessage
	// IsError is set if the tool failed; Content explains why.
	IsError bool
}

// Call calls a tool. If the server answers with a task, Call waits for the end of the task. When
// ctx ends, Call notifies the server and returns at once with an *Ended that wraps ctx's cause; a
// task goes on. Other errors are *Lost, *Refused, *Fault, *TaskError, or *api.Error for a call that
// was not sent.
func (c *Connection) Call(ctx context.Context, r Request) (answer Answer, err error) {
	defer panics.MCP.Contain(ctx, c.log, c.breakAfterPanic(&err))
	c.trusted(ctx)
	if reason := c.Err(); reason != nil {
		return Answer{}, &Lost{Err: reason}
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	sending, x := withExchange(within)
	x.traceparent = r.Traceparent
	if requestsTask(c, r.TaskSupport) {
		sending = asTask(sending, r.KeepTask)
	}
	params := &mcp.CallToolParams{Name: r.Tool, Arguments: r.Arguments, Meta: maps.Clone(r.Meta)}
	if len(r.Arguments) == 0 {
		params.Arguments = json.RawMessage("{}")
	}
	defer c.begin(within, &r, params)()
	result, err := c.rounds(sending, &r, params)
	if err != nil {
		return Answer{}, c.failed(ctx, err, x.now())
	}
	c.reports.linger(within, &r)
	task, isTask, err := findTask(result)
	switch {
	case err != nil:
		return Answer{}, err
	case isTask:
		return followNew(ctx, within, c, &r, task)
	}
	return decodeAnswer(result)
}

// breakAfterPanic returns what follows a panic in a request. Its remains in the SDK make the
// connection unusable, and it may have been sent.
func (c *Connection) breakAfterPanic(err *error) func(error) {
	return func(failed error) {
		c.breakOff(failed)
		*err = &Lost{Sent: true, Err: failed}
	}
}

// failed is failure, and draws the conclusions for the connection.
func (c *Connection) failed(ctx context.Context, err error, s seen) error {
	failure := c.failure(ctx, err, s)
	if lost, ok := errors.AsType[*Lost](failure); ok {
		c.breakOff(lost.Err)
	}
	if ctx.Err() != nil && c.ctx.Err() == nil {
		c.suspect()
	}
	return failure
}

// begin registers a call with the connection.
func (c *Connection) begin(ctx context.Context, r *Request,
	params *mcp.CallToolParams) (end func()) {
	token := strconv.FormatInt(c.token.Add(1), 10)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Progress != nil {
		if params.Meta == nil {
			params.Meta = mcp.Meta{}
		}
		params.SetProgressToken(token)
		c.progress[token] = func(p api.Progress) {
			c.reports.hear(r)
			r.Progress(p)
		}
	}
	if r.Ask != nil {
		c.openQuestions[r] = ctx
	}
	c.reports.begin(r, params, c.pingless)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.progress, token)
		delete(c.openQuestions, r)
		c.reports.end(r)
	}
}

func decodeAnswer(result *mcp.CallToolResult) (Answer, error) {
	raw, err := structured(result.StructuredContent)
	if err != nil {
		return Answer{}, &Fault{Reason: fmt.Sprintf(
			"answered with structured content that is not JSON: %v", err)}
	}
	return Answer{Content: result.Content, Structured: raw, IsError: result.IsError}, nil
}

func (c *Connection) onProgress(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
	token, ok := n.Params.ProgressToken.(string)
	if !ok {
		return
	}
	c.mu.Lock()
	report := c.progress[token]
	c.mu.Unlock()
	if report != nil {
		report(api.Progress{Done: n.Params.Progress, Total: n.Params.Total,
			Message: n.Params.Message})
	}
}

// probeTime is how long a server that left a call unanswered has to show that it is alive.
const probeTime = 3 * time.Second

// suspect looks, in the background, whether a server that left a call unanswered is still there,
// and ends the connection if not. Calls wait for the result.
func (c *Connection) suspect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probing != nil {
		return
	}
	done := make(chan struct{})
	c.probing = done
	go func() {
		defer func() {
			c.mu.Lock()
			c.probing = nil
			c.mu.Unlock()
			close(done)
		}()
		defer panics.MCP.Contain(c.ctx, c.log, c.breakOff)
		c.probe()
	}()
}

// trusted waits until it is known whether the server reacts.
func (c *Connection) trusted(ctx context.Context) {
	c.mu.Lock()
	probing := c.probing
	c.mu.Unlock()
	if probing == nil {
		return
	}
	select {
	case <-probing:
	case <-ctx.Done():
	}
}

func (c *Connection) probe() {
	ctx, cancel := context.WithTimeout(c.ctx, probeTime)
	defer cancel()
	err := c.ping(ctx)
	if err != nil && ctx.Err() != nil && c.ctx.Err() == nil {
		c.breakOff(fmt.Errorf("the server did not respond within %s after a call was cancelled",
			probeTime))
	}
}

// probeMethod is a method that no server knows: an error is as good a sign of life as any. Newer
// protocols have no ping.
const probeMethod = "switchyard/ping"

func (c *Connection) ping(ctx context.Context) error {
	if !c.pingless {
		return c.session.Ping(ctx, nil)
	}
	_, err := mcp.CallCustomMethod[*mcp.PingParams, *mcp.CallToolResult](ctx, c.session,
		probeMethod, &mcp.PingParams{})
	return err
}

// written returns, after a separator, the end of what a server program wrote that is no message.
func (c *Connection) written() string {
	if c.serverProcess == nil {
		return ""
	}
	return c.serverProcess.quoted()
}
