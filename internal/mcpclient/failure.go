package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
)

// at names a request and the status of HTTP that it got: "tools/call (HTTP status 200)". status is
// zero for none.
func at(method string, status int) string {
	if status == 0 {
		return method
	}
	return fmt.Sprintf("%s (HTTP status %d)", method, status)
}

// Fault is a server's violation of the protocol or its bounds.
type Fault struct {
	Reason string
	// Method is the request's; empty where the fault is not about one. Status is the one of HTTP
	// that it got; zero for none.
	Method string
	Status int
}

func (f *Fault) Error() string {
	if f.Method == "" {
		return "the MCP server " + f.Reason
	}
	return "on " + at(f.Method, f.Status) + " the MCP server " + f.Reason
}

// Lost is returned for a call without an answer because the connection or session ended. The
// connection is unusable.
type Lost struct {
	// Sent is set if the request may have reached the server and may have been executed. If false,
	// it was not executed.
	Sent bool
	// Err is why.
	Err error
	// Method and Status are those of Fault.
	Method string
	Status int
}

func (l *Lost) Error() string {
	return "the connection to the MCP server was lost" + l.place() + ": " + l.Err.Error()
}

func (l *Lost) place() string {
	if _, named := errors.AsType[*Refused](l.Err); named || l.Method == "" {
		return ""
	}
	return " during " + at(l.Method, l.Status)
}

// NotSent returns the error for a call that was not executed because an earlier request was lost.
func (l *Lost) NotSent() *Lost {
	earlier := *l
	earlier.Sent = false
	return &earlier
}

// Unwrap returns why.
func (l *Lost) Unwrap() error { return l.Err }

// Ended is returned if the caller's context ended before the answer arrived.
type Ended struct {
	// Sent is set if the request may have reached the server.
	Sent bool
	// Err is the cause of the context's end.
	Err error
}

func (e *Ended) Error() string { return "the request was cancelled: " + e.Err.Error() }

// Unwrap returns the cause of the context's end.
func (e *Ended) Unwrap() error { return e.Err }

// Refused is a server's HTTP or JSON-RPC error in place of a result.
type Refused struct {
	// Status and Header are those of the HTTP response; zero over stdio.
	Status int
	Header http.Header
	// Code is JSON-RPC's; zero where the answer was none.
	Code    int
	Message string
	// Method is the request's; empty if it is not known.
	Method string

	busy bool
}

func (r *Refused) Error() string {
	what := r.Method
	if !refusal(r.Status) {
		return "the MCP server rejected " + cmp.Or(what, "the request") + ": " + r.Message
	}
	if what != "" {
		what += " "
	}
	text := fmt.Sprintf("the MCP server answered %swith HTTP status %d", what, r.Status)
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// refusal reports whether a response's status says that it holds no result; 0 is that of stdio.
func refusal(status int) bool {
	return status != 0 && (status < http.StatusOK || status >= http.StatusMultipleChoices)
}

// Busy reports whether the same request may be answered later.
func (r *Refused) Busy() bool {
	return r.busy || r.Status == http.StatusTooManyRequests ||
		r.Status >= http.StatusInternalServerError
}

// failure explains why a request got no result. ctx is the caller's, err the SDK's error. It needs
// no session: it is asked while there is none yet.
func (c *Connection) failure(ctx context.Context, err error, s seen) error {
	if cause := context.Cause(ctx); cause != nil {
		return &Ended{Sent: s.sent, Err: cause}
	}
	if own := decided(ctx, err); own != nil {
		return own
	}
	if s.tooLarge {
		return s.fault(tooLarge(c.limit))
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return s.fault("answered with a result that cannot be read: " + explainUnreadable(err))
	}
	if reason := c.serverProcess.failed(); reason != nil {
		return s.lost(cmp.Or(c.Err(), reason))
	}
	if refused := c.refused(ctx, err, s); refused != nil {
		return refused
	}
	if reason := context.Cause(c.ctx); reason != nil {
		return s.lost(reason)
	}
	if c.answered(s) {
		return s.fault("answered with something that is not an MCP result: " +
			explainUnreadable(err))
	}
	return s.lost(plainCause(err))
}

func (s seen) fault(reason string) *Fault {
	return &Fault{Reason: reason, Method: s.method, Status: s.status}
}

func (s seen) lost(reason error) *Lost {
	return &Lost{Sent: s.sent, Err: reason, Method: s.method, Status: s.status}
}

// plainCause returns an error of the SDK without the names of the request in front of it, which our
// errors have too.
func plainCause(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed
	}
	if inner := errors.Unwrap(err); inner != nil && !errors.Is(err, mcp.ErrConnectionClosed) {
		return inner
	}
	return err
}

// decided returns an error that is already classified; nil if there is none.
func decided(ctx context.Context, err error) error {
	if own, ok := errors.AsType[*api.Error](err); ok {
		return own
	}
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused
	}
	if _, ok := errors.AsType[*outbound.Refusal](err); ok {
		return outbound.Failure(ctx, ctx, err)
	}
	return nil
}

// answered reports whether an error is the server's answer. If a program is alive and took the
// request, it has answered: the SDK returns in no other case.
func (c *Connection) answered(s seen) bool { return s.answered || c.serverProcess != nil && s.sent }

// refused returns the server's rejection, if any. An unknown session counts as lost. Some servers
// report it with 400 instead of 404; a ping then shows whether the server knows the session.
func (c *Connection) refused(ctx context.Context, err error, s seen) error {
	if refusal(s.status) {
		r := &Refused{Status: s.status, Header: s.header, Code: s.code, Message: s.message,
			Method: s.method}
		if s.hadSession && c.lostSession(ctx, s.status) {
			return &Lost{Err: r}
		}
		return r
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && c.answered(s) {
		if reason, ok := faultReason(wire); ok {
			return s.fault(reason)
		}
		return &Refused{Code: int(wire.Code), Message: sample([]byte(wire.Message)),
			Method: s.method}
	}
	return nil
}

// lostSession reports whether a server that rejects a request of a session no longer knows it.
func (c *Connection) lostSession(ctx context.Context, status int) bool {
	return status == http.StatusNotFound ||
		status == http.StatusBadRequest && c.session != nil && !pings(ctx, c)
}

// pings reports whether the server of a connection answers a ping.
func pings(ctx context.Context, c *Connection) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return c.ping(ctx) == nil
}

// connectError explains to people and models why there is no connection. Nothing ran.
func (c *Connection) connectError(ctx context.Context, err error, s seen) error {
	if ctx.Err() == nil && strings.Contains(err.Error(), wrongVersion) {
		return c.unreachable(sample([]byte(err.Error()))+"; update the server", false)
	}
	failure := c.failure(ctx, err, s)
	if _, ok := errors.AsType[*api.Error](failure); ok || ctx.Err() != nil {
		return failure
	}
	if r, ok := errors.AsType[*Refused](failure); ok {
		reason := r.Error()
		if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
			reason += "; check entry.auth and the secret that it names"
		}
		return c.unreachable(reason, r.Busy())
	}
	_, fault := errors.AsType[*Fault](failure)
	_, inside := errors.AsType[*outbound.Refusal](failure)
	return c.unreachable(describeFailure(failure), !fault && !inside)
}

// wrongVersion is in the SDK's error about a server that chose a protocol version that it does not
// know. The error has no exported type, and the SDK closes the connection, so that the program's
// end would hide it.
const wrongVersion = "unsupported protocol version"

func (c *Connection) unreachable(reason string, retryable bool) error {
	e := api.Errorf(api.ErrPreconditionFailed, "there is no connection to the MCP server %s: %s",
		c.name, reason)
	e.Retryable = retryable
	return e
}

// describeFailure returns the error text without "connection lost", which is misleading if there was
// no connection.
func describeFailure(err error) string {
	if lost, ok := errors.AsType[*Lost](err); ok {
		return strings.TrimLeft(lost.place()+": "+lost.Err.Error(), ": ")
	}
	return err.Error()
}

// maxSample bounds the quoted part of what a server sent, in bytes.
const maxSample = 300

// sample returns the start of what a server sent as readable text on one line.
func sample(data []byte) string {
	text := strings.ToValidUTF8(string(data[:min(len(data), maxSample)]), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if len(data) > maxSample {
		text += "…"
	}
	return strings.TrimSpace(text)
}
