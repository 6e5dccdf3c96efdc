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
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// MCPKey is where the call's idempotency key stands in the _meta of a call to an MCP server.
const metaKey = "io.github.switchyard/idempotency-key"

// MCPOptions say how MCP servers are reached. The zero value of a field means its default.
type Options struct {
	// Dir is the folder that a relative entry.dir is under; default the process's own.
	Dir string
	// Files is the folder for images and other bytes of answers that are too large for a result;
	// default switchyard-USER/files under the system's folder for temporary files. Nothing removes
	// what is in it.
	Files string
	// Logins is the folder of the tokens that logins at MCP servers gave; default
	// mcptools.DefaultLogins.
	Logins string
	// Inside is what need not be public to be reached, as in outbound.Policy.
	Inside []string
	// Log gets what servers write to their standard error, at the level debug; nil drops it.
	Log *slog.Logger
	// IdleTimeout closes a connection that no call uses; default 10m, for that of one run 5m.
	IdleTimeout time.Duration
	// ConnectTimeout and MaxMessage are those of mcptools.Options.
	ConnectTimeout time.Duration
	MaxMessage     int
}

// MCP executes tools of the kind mcp: it calls the tool of an MCP server by configuration alone.
//
// Calls share one connection to a server, which is made by the first and made anew when it ended;
// with session run the calls of each run have their own. A run's calls may land on several workers,
// and each worker has its own connections: a server that keeps state for a run needs a lane of one
// worker. A tool with entry.answer_within has a connection to itself during a call (with session
// run: the run's, one call after another), because a server's question does not say which call it
// belongs to.
//
// Before a call the server's tool is held against the spec's pin. With the call go, in its _meta,
// the idempotency key (MCPKey) and a progress token; progress is reported as the call's.
//
// Structured content is the answer where there is some. Else text is the answer, a JSON string;
// where there are images, audio or resources besides, the answer is a list of parts as MCP has
// them. Bytes that are too large for the result are in a file by their SHA-256, and the part says
// which.
type Executor struct {
	Options Options
	pool    *mcpPool
}

// NewMCP returns the executor. Close ends its connections.
func New(o Options) *Executor {
	o.Files = cmp.Or(o.Files, defaultFiles())
	o.Logins = cmp.Or(o.Logins, mcpclient.DefaultLogins())
	return &Executor{Options: o, pool: newMCPPool(o)}
}

// Close ends all connections and the programs behind them. No call may run any more.
func (m *Executor) Close() { m.pool.close() }

// Execute implements Executor. It fails with execution_error where the tool says that it failed,
// validation_error where the server refuses the arguments, precondition_failed where the server
// cannot be reached or the tool is not the pinned one, policy_violation where the server's address
// may not be reached, executor_not_found where its program is missing, invalid_output where the
// answer is none, and outcome_unknown where the connection was lost during a call that must not be
// repeated. Where nothing was sent yet it makes a new connection and tries again once.
func (m *Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	answer, err := m.call(ctx, spec, args)
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok && !lost.Sent {
		answer, err = m.call(ctx, spec, args)
	}
	if err != nil {
		return executor.Answer{}, mcpError(err, spec)
	}
	return answer, nil
}

func (m *Executor) call(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	conn, release, err := m.pool.acquire(ctx, spec)
	if err != nil {
		return executor.Answer{}, err
	}
	defer release()
	tool, found, err := conn.Tool(ctx, spec.Entry.Remote)
	if err != nil {
		return executor.Answer{}, notListed(err)
	}
	if e := checkPin(spec, tool, found); e != nil {
		return executor.Answer{}, e
	}
	openQuestions := &mcpQuestions{}
	request := mcpclient.Request{Tool: spec.Entry.Remote, Arguments: args,
		Progress: func(p api.Progress) { api.ReportProgress(ctx, p) }, Note: openQuestions.note}
	if call, ok := api.ContextOf(ctx); ok {
		request.Meta = map[string]any{metaKey: call.Key}
	}
	if spec.Entry.AnswerWithin > 0 {
		request.Ask = openQuestions.ask
	}
	got, err := conn.Call(ctx, request)
	if err != nil {
		return executor.Answer{}, err
	}
	answer, err := m.answerOf(got, spec)
	answer.Notes = append(answer.Notes, openQuestions.noted()...)
	return answer, err
}

// notListed says of a connection that was lost while the tools were listed that the call was not
// sent.
func notListed(err error) error {
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		return &mcpclient.Lost{Err: lost.Err}
	}
	return err
}

// maxDifferences bounds how many differences of a changed tool are shown.
const maxDifferences = 20

// checkPin returns why the server's tool is not the one that was accepted. What the server now
// wants models to read is for people alone.
func checkPin(spec *toolspecs.Spec, tool mcpclient.Tool, found bool) error {
	if !found {
		return api.Errorf(api.ErrPreconditionFailed,
			"the MCP server of %s has no tool %q any more; nothing was called. "+
				"Look at its tools with starter tools import mcp, and correct entry.remote or disable the tool",
			spec.Name, spec.Entry.Remote)
	}
	if tool.Digest() == spec.Entry.Pin {
		return nil
	}
	e := api.Errorf(api.ErrPreconditionFailed,
		"the MCP server changed the tool %q since it was accepted, so nothing was called; "+
			"look at the difference and run starter tools accept with the file of %s",
		spec.Entry.Remote, spec.Name)
	changes := spec.MCPChanges(tool)
	for _, change := range changes[:min(len(changes), maxDifferences)] {
		e.Details = append(e.Details, change.String())
	}
	switch {
	case len(changes) == 0:
		e.Details = []string{"the toolspec says what the server says, so only its pin is out of date; it was " +
			spec.Entry.Pin + ", is now " + tool.Digest()}
	case len(changes) > maxDifferences:
		e.Details = append(e.Details, fmt.Sprintf("… and %d more differences",
			len(changes)-maxDifferences))
	}
	return e
}

// mcpError maps a failure of a call to the closed set.
func mcpError(err error, spec *toolspecs.Spec) error {
	if refused, ok := errors.AsType[*mcpclient.Refused](err); ok {
		return refusedError(refused, spec)
	}
	if fault, ok := errors.AsType[*mcpclient.Fault](err); ok {
		if spec.Execution.Effect == api.EffectOnce {
			return api.Errorf(api.ErrOutcomeUnknown, "%v", fault)
		}
		return api.Errorf(api.ErrInvalidOutput, "%v", fault)
	}
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		return lostError(lost, spec)
	}
	return err
}

// lostError is of the type worker_lost or outcome_unknown where the server may have executed the
// call: what is lost is its executor, as if it had been a worker.
func lostError(lost *mcpclient.Lost, spec *toolspecs.Spec) error {
	switch {
	case !lost.Sent:
		e := api.Errorf(api.ErrPreconditionFailed, "%v; nothing was called", lost)
		e.Retryable = true
		return e
	case spec.Execution.Effect == api.EffectOnce:
		return api.Errorf(api.ErrOutcomeUnknown, "%v", lost)
	default:
		return api.Transient(lost, 0)
	}
}

// codeInvalidParams is JSON-RPC's for arguments that are wrong.
const codeInvalidParams = -32602

func refusedError(r *mcpclient.Refused, spec *toolspecs.Spec) error {
	after := api.Duration(outbound.RetryAfter(r.Header, time.Now()))
	switch {
	case r.Code == codeInvalidParams:
		return api.Errorf(api.ErrValidation, "%v", r)
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		return api.Errorf(api.ErrPreconditionFailed,
			"%v; check entry.auth and the secret that it names", r)
	case r.Status == http.StatusBadGateway, r.Status == http.StatusGatewayTimeout:
		return lostError(&mcpclient.Lost{Sent: true, Err: r}, spec)
	case r.Busy():
		return api.Transient(r, after)
	default:
		return r
	}
}
