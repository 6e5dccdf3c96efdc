package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
)

// Fault is a server's violation of the protocol or its bounds.
type Fault struct{ Reason string }

func (f *Fault) Error() string { return "the MCP server " + f.Reason }

// Lost is returned for a call without an answer because the connection or session ended. The
// connection is unusable.
type Lost struct {
	// Sent is set if the request may have reached the server and may have been executed. If false,
	// it was not executed.
	Sent bool
	// Err is why.
	Err error
}

func (l *Lost) Error() string {
	return "the connection to the MCP server was lost: " +
		l.Err.Error()
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

	busy bool
}

func (r *Refused) Error() string {
	switch {
	case r.Status >= http.StatusBadRequest && r.Message == "":
		return fmt.Sprintf("the MCP server answered with HTTP status %d", r.Status)
	case r.Status >= http.StatusBadRequest:
		return fmt.Sprintf("the MCP server answered with HTTP status %d: %s", r.Status, r.Message)
	default:
		return "the MCP server rejected the request: " + r.Message
	}
}

// Busy reports whether the same request may be answered later.
func (r *Refused) Busy() bool {
	return r.busy || r.Status == http.StatusTooManyRequests ||
		r.Status >= http.StatusInternalServerError
}

// failure explains why a request got no result. ctx is the caller's, err the SDK's error.
func (c *Connection) failure(ctx context.Context, err error, s seen) error {
	if cause := context.Cause(ctx); cause != nil {
		return &Ended{Sent: s.sent, Err: cause}
	}
	if own := decided(ctx, err); own != nil {
		return own
	}
	if s.tooLarge {
		return &Fault{Reason: tooLarge(c.limit)}
	}
	if reason := c.serverProcess.failed(); reason != nil {
		return &Lost{Sent: s.sent, Err: reason}
	}
	if refused := c.refused(ctx, err, s); refused != nil {
		return refused
	}
	if reason := context.Cause(c.ctx); reason != nil {
		return &Lost{Sent: s.sent, Err: reason}
	}
	if c.answered(s) {
		return &Fault{Reason: "answered with something that is not an MCP result: " +
			sample([]byte(err.Error()))}
	}
	return &Lost{Sent: s.sent, Err: err}
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
	if s.status >= http.StatusBadRequest {
		r := &Refused{Status: s.status, Header: s.header, Code: s.code, Message: s.message}
		if s.hadSession && (s.status == http.StatusNotFound ||
			s.status == http.StatusBadRequest && !pings(ctx, c)) {
			return &Lost{Err: r}
		}
		return r
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && c.answered(s) {
		if fault := asFault(wire); fault != nil {
			return fault
		}
		return &Refused{Code: int(wire.Code), Message: sample([]byte(wire.Message))}
	}
	return nil
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
	return c.unreachable(reasonOf(failure), !fault && !inside)
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

// reasonOf returns the innermost error text, because "connection lost" is misleading if there was
// no connection.
func reasonOf(err error) string {
	if lost, ok := errors.AsType[*Lost](err); ok {
		err = lost.Err
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
