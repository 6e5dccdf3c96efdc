package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// traceKey is the key of the call's W3C traceparent in the _meta of a call to an MCP server.
const traceKey = "traceparent"

// metaKey is the key of the call's idempotency key in the _meta of a call to an MCP server.
const metaKey = "io.github.switchyard/idempotency-key"

// Options configure how to connect to MCP servers. The zero value of a field means its default.
type Options struct {
	// Dir is the folder that a relative entry.dir is under; default the process's working folder.
	Dir string
	// Files is the folder for images and other bytes of answers that are too large for a result;
	// default switchyard-USER/files in the system's temporary folder. Its files are never removed.
	Files string
	// Logins is the folder of the tokens from logins at MCP servers; default
	// mcpclient.DefaultLogins.
	Logins string
	// Inside lists the non-public addresses that may be reached, as in outbound.Policy.
	Inside []string
	// Log gets the standard error output of servers, at level debug; nil discards it.
	Log *slog.Logger
	// IdleTimeout closes an unused shared connection; default 10m.
	IdleTimeout time.Duration
	// ConnectTimeout and MaxMessage are those of mcpclient.Options.
	ConnectTimeout time.Duration
	MaxMessage     int
}

// Executor executes tools of the kind mcp: it calls the tool of an MCP server by configuration
// alone.
//
// A session with a server is an instance of the run (StartInstance). The calls of tools with
// session shared need no state: they share one connection of the worker, which the first call opens
// and which is reopened after it ends. There, a tool with entry.answer_within has a connection to
// itself during a call, because a server's question does not name its call.
//
// Before a call it compares the server's tool with the spec's pin. The call's _meta has the
// idempotency key (metaKey) and a progress token; the server's progress and log messages are
// reported as the call's.
//
// The answer is the structured content if there is any, or else the text as a JSON string; with
// images, audio or resources it is a list of parts in MCP's format. Bytes that are too large for
// the result are stored in a file named by their SHA-256, which the part references.
type Executor struct {
	Options Options
	pool    *mcpPool
}

// New returns the executor. Close ends its connections.
func New(o Options) *Executor {
	o.Files = cmp.Or(o.Files, defaultFiles())
	o.Logins = cmp.Or(o.Logins, mcpclient.DefaultLogins())
	return &Executor{Options: o, pool: newMCPPool(o)}
}

// Close ends all connections and their server programs. No call may be running.
func (m *Executor) Close() {
	m.pool.close()
}

// Execute implements executor.Executor. It fails with execution_error if the tool reports a
// failure, validation_error if the server rejects the arguments, precondition_failed if the server
// cannot be reached or the tool differs from its pin, policy_violation if the server's address is
// not allowed, executor_not_found if its program is missing, and invalid_output if the answer is
// invalid. Once the call was sent, a lost connection, an invalid answer and a failure of the server
// are unclear. If nothing was sent yet, it reconnects and retries once. A server that does not list
// its tools before the call is precondition_failed, or invalid_output if its list is invalid.
//
// If an earlier attempt of the call left a task behind, Execute waits for the end of that task
// instead, whatever the session of the tool.
func (m *Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	if answer, resumed, err := m.resume(ctx, spec, args); resumed {
		return answer, err
	}
	if serverEntry(spec).Session != toolspecs.SessionShared {
		return executor.Answer{}, executor.NoInstance(spec)
	}
	answer, err := m.call(ctx, spec, args)
	if notSent(err) {
		answer, err = m.call(ctx, spec, args)
	}
	return answer, mcpError(err)
}

// serverEntry returns how a tool and its server are declared.
func serverEntry(spec *toolspecs.Spec) toolspecs.MCPEntry {
	entry, _ := spec.Entry.Kind.(toolspecs.MCPEntry)
	return entry
}

// call makes a call on a shared connection.
func (m *Executor) call(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	conn, release, err := m.pool.acquire(ctx, spec)
	if err != nil {
		return executor.Answer{}, executor.NotStarted(err)
	}
	defer release()
	return m.callOn(ctx, conn, spec, args, func() {})
}

// callOn makes a call on a connection if its server's tool matches the pin. sends is called before
// the call is sent.
func (m *Executor) callOn(ctx context.Context, conn *mcpclient.Connection, spec *toolspecs.Spec,
	args json.RawMessage, sends func()) (executor.Answer, error) {
	tool, found, err := conn.Tool(ctx, serverEntry(spec).Tool)
	if err != nil {
		return executor.Answer{}, executor.NotStarted(notListed(err))
	}
	if e := checkPin(spec, tool, found); e != nil {
		return executor.Answer{}, executor.NotStarted(e)
	}
	request, questions := m.request(ctx, spec, args)
	request.TaskSupport = tool.TaskSupport
	sends()
	got, err := newTaskCall(ctx, m, spec, request).call(ctx, conn)
	if err != nil {
		return executor.Answer{}, err
	}
	answer, err := m.toAnswer(got, spec)
	answer.Notes = append(answer.Notes, questions.listNotes()...)
	return answer, err
}

// notSent reports whether a call failed because its connection was lost before it was sent.
func notSent(err error) bool {
	lost, ok := errors.AsType[*mcpclient.Lost](err)
	return ok && !lost.Sent
}

// request returns the request of a call, and its questions to people.
func (m *Executor) request(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (mcpclient.Request, *mcpQuestions) {
	questions, entry := &mcpQuestions{}, serverEntry(spec)
	request := mcpclient.Request{Tool: entry.Tool, Arguments: args,
		Progress: func(p api.Progress) { callcontext.ReportProgress(ctx, p) },
		Log:      func(l api.LogLine) { callcontext.Log(ctx, l) }, Note: questions.note}
	if call, ok := callcontext.From(ctx); ok {
		request.Traceparent = traceparent.Format(call.Origin, call.CallID)
		request.Meta = map[string]any{metaKey: call.Key, traceKey: request.Traceparent}
	}
	if entry.AnswerWithin > 0 {
		request.Ask = questions.ask
	}
	return request, questions
}

// notListed marks a connection that was lost while listing tools: the call was not sent.
func notListed(err error) error {
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		return lost.NotSent()
	}
	return err
}

// maxDifferences bounds how many differences of a changed tool are shown.
const maxDifferences = 20

// checkPin returns why the server's tool differs from the accepted one. The server's new
// description is shown only to people, never to models.
func checkPin(spec *toolspecs.Spec, tool mcpclient.Tool, found bool) error {
	entry := serverEntry(spec)
	if !found {
		return api.Errorf(api.ErrPreconditionFailed,
			"the MCP server of %s has no tool %q any more; nothing was called. "+
				"Look at its tools with starter tools import --dry-run, and correct entry.tool or disable the tool",
			spec.Name, entry.Tool)
	}
	if tool.Digest() == entry.Pin {
		return nil
	}
	e := api.Errorf(api.ErrPreconditionFailed,
		"the MCP server changed the tool %q since it was accepted, so nothing was called; "+
			"look at the difference and run starter tools accept with the file of %s",
		entry.Tool, spec.Name)
	changes := spec.MCPChanges(tool)
	for _, change := range changes[:min(len(changes), maxDifferences)] {
		e.Details = append(e.Details, change.String())
	}
	switch {
	case len(changes) == 0:
		e.Details = []string{"the toolspec says what the server says, so only its pin is out of date; it was " +
			entry.Pin + ", is now " + tool.Digest()}
	case len(changes) > maxDifferences:
		e.Details = append(e.Details, fmt.Sprintf("… and %d more differences",
			len(changes)-maxDifferences))
	}
	return e
}

// mcpError converts a failure of a call to the closed set, with what is known about the call's
// progress.
func mcpError(err error) error {
	if err == nil {
		return nil
	}
	if executor.IsNotStarted(err) {
		return notStartedError(err)
	}
	if fault, ok := errors.AsType[*mcpclient.Fault](err); ok {
		return executor.Unclear(api.Errorf(api.ErrInvalidOutput, "%v", fault))
	}
	// A lost session wraps the response that reports it, which counts for nothing else.
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		return lostError(lost)
	}
	if refused, ok := errors.AsType[*mcpclient.Refused](err); ok {
		return refusedError(refused)
	}
	if ended, ok := errors.AsType[*mcpclient.Ended](err); ok && !ended.Sent {
		return executor.NotStarted(ended)
	}
	return err
}

// notStartedError converts a failure before the call was sent, as of the request for the server's
// tools. The error stays marked as not started, whatever that request's failure leaves open.
func notStartedError(err error) error {
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		return lostError(lost.NotSent())
	}
	if refused, ok := errors.AsType[*mcpclient.Refused](err); ok {
		return executor.NotStarted(notListedError(refused))
	}
	if fault, ok := errors.AsType[*mcpclient.Fault](err); ok {
		return executor.NotStarted(api.Errorf(api.ErrInvalidOutput, "%v; nothing was called",
			fault))
	}
	return err
}

// notListedError is the error of a call before which the server rejected the request for its tools.
func notListedError(r *mcpclient.Refused) *api.Error {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
		return loginError(r)
	}
	e := api.Errorf(api.ErrPreconditionFailed, "%v, when asked for its tools; nothing was called",
		r)
	if e.Retryable = r.Busy(); e.Retryable {
		e.RetryAfter = retryAfter(r)
	}
	return e
}

// lostError is the error of a call whose connection was lost: a lost server is treated like a lost
// worker if it may have executed the call.
func lostError(lost *mcpclient.Lost) error {
	if lost.Sent {
		return executor.Unclear(api.Transient(lost, 0))
	}
	e := api.Errorf(api.ErrPreconditionFailed, "%v; nothing was called", lost)
	e.Retryable = true
	return executor.NotStarted(e)
}

// JSON-RPC error codes.
const (
	// codeInvalidParams is that of invalid arguments.
	codeInvalidParams = -32602
	// codeInternalError is that of a failure within the server, as HTTP status 500.
	codeInternalError = -32603
	// Servers choose what the codes from minServerError to maxServerError mean. Proxies use them
	// for a timeout or a closed connection of the server behind them, which may have executed the
	// call.
	minServerError, maxServerError = -32099, -32000
)

// unclearCode reports whether the code of an error leaves open whether the call took effect.
func unclearCode(code int) bool {
	return code == codeInternalError || code >= minServerError && code <= maxServerError
}

func refusedError(r *mcpclient.Refused) error {
	after := retryAfter(r)
	switch {
	case r.Code == codeInvalidParams:
		return api.Errorf(api.ErrValidation, "%v", r)
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		return loginError(r)
	case r.Status == http.StatusBadGateway, r.Status == http.StatusGatewayTimeout:
		return lostError(&mcpclient.Lost{Sent: true, Err: r})
	case r.Status >= http.StatusInternalServerError:
		return executor.Unclear(api.Transient(r, after))
	case r.Status == 0 && unclearCode(r.Code), outbound.FollowsExecution(r.Status):
		return executor.Unclear(r)
	case r.Busy():
		return api.Transient(r, after)
	default:
		return r
	}
}

func loginError(r *mcpclient.Refused) *api.Error {
	return api.Errorf(api.ErrPreconditionFailed,
		"%v; check entry.auth and the secret that it names", r)
}

func retryAfter(r *mcpclient.Refused) api.Duration {
	return api.Duration(outbound.RetryAfter(r.Header, time.Now()))
}
