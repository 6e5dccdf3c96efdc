package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// Executor executes tools of the kind rest: one HTTP request, made from the spec's templates and
// the arguments.
//
// Requests and redirects can reach only the host of base_url and what entry.allow names; loopback,
// link-local, private and metadata addresses must be listed in entry.allow or Inside. Every request
// carries the call's idempotency key. The secret of entry.auth is read for each call, is sent only
// to the scheme, host and port of base_url, and is hidden if the server repeats it. The executor
// does not retry. It reuses connections only if Connections is set and the effect is not once.
//
// The answer is the response's JSON unchanged, or the part of it that entry.extract selects; other
// text becomes a JSON string, binary data {"content_type", "body_base64"}, an empty body null; for
// HEAD it is {"status", "headers"}.
type Executor struct {
	// Inside lists the inner networks that the operator allows, as in outbound.Policy.
	Inside []string
	// Connections are reused for tools whose calls may be repeated; nil reuses none.
	Connections *outbound.Connections
}

// Execute implements executor.Executor. It fails with validation_error if arguments do not fit the
// request, precondition_failed without the secret, policy_violation if the address is not allowed,
// a transient execution_error for network failures and for the statuses 429 and 5xx, an
// execution_error for other failed statuses, and invalid_output if a JSON body is invalid. Once a
// connection was made, network failures and 5xx are unclear.
func (r Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	x, err := r.exchange(ctx, spec, args)
	if err != nil {
		return executor.Answer{}, executor.NotStarted(err)
	}
	req, sent := traceRequest(x.request)
	resp, err := x.client.Do(req)
	if err != nil {
		err = restFailure(ctx, x.entry, x.credential, err)
		if sent.Load() {
			return executor.Answer{}, executor.Unclear(err)
		}
		return executor.Answer{}, executor.NotStarted(err)
	}
	defer resp.Body.Close()
	// Read one byte more to detect a truncated body.
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(x.entry.MaxResponse)+1))
	response := restResponse{spec: spec, entry: x.entry, status: resp.StatusCode,
		header: resp.Header, length: resp.ContentLength, body: body, credential: x.credential,
		redirected: followsRedirect(resp)}
	if err != nil && !response.refuses() {
		return executor.Answer{}, executor.Unclear(restFailure(ctx, x.entry, x.credential,
			fmt.Errorf("the response was cut off: %w", err)))
	}
	if response.cut = len(body) > x.entry.MaxResponse; response.cut {
		response.body = body[:x.entry.MaxResponse]
	}
	response.read = len(response.body)
	return response.answer()
}

// followsRedirect reports whether the response follows a redirect with 301, 302 or 303. The server
// may
// have executed the request before such a redirect; 307 and 308 only move the request.
func followsRedirect(resp *http.Response) bool {
	for before := resp.Request.Response; before != nil; before = before.Request.Response {
		if outbound.FollowsExecution(before.StatusCode) {
			return true
		}
	}
	return false
}

// exchange is a request that is ready to be sent, without its secret.
type exchange struct {
	entry      *toolspecs.RESTEntry
	request    *http.Request
	credential *outbound.Credential
	client     *http.Client
}

// exchange prepares the request of a call. Nothing has been sent if it fails.
func (r Executor) exchange(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (x exchange, err error) {
	entry, _ := spec.Entry.Kind.(toolspecs.RESTEntry)
	x.entry = &entry
	if entry.BaseURL, err = outbound.Address(entry.BaseURL); err != nil {
		return x, err
	}
	if x.request, err = newRESTRequest(ctx, x.entry, args); err != nil {
		return x, err
	}
	if x.credential, err = newCredential(entry.Auth); err != nil {
		return x, err
	}
	executor.RedactorFromContext(ctx).Hide(x.credential.Values()...)
	x.client, err = r.client(x.entry, spec.Execution.Effect, x.credential)
	return x, err
}

// traceRequest returns the request with a flag that is set as soon as a part of it, or of a request
// that
// it is redirected to, may have left the worker: when it has a connection.
func traceRequest(req *http.Request) (*http.Request, *atomic.Bool) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), &sent
}

func newCredential(auth *outbound.Auth) (*outbound.Credential, error) {
	if auth == nil {
		return nil, nil
	}
	return outbound.NewCredential(auth.Type, auth.Secret, auth.Name)
}

func (r Executor) client(e *toolspecs.RESTEntry, effect api.Effect,
	credential *outbound.Credential) (*http.Client, error) {
	origin, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.base_url cannot be read as a URL")
	}
	transport, err := r.transport(outbound.Policy{Hosts: []string{origin.Hostname()},
		Allow: e.Allow, Inside: r.Inside}, effect)
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed,
			"entry.base_url or entry.allow is invalid: %v", err)
	}
	return outbound.Client(transport, origin, func(req *http.Request) error {
		credential.Add(req)
		return nil
	}), nil
}

func (r Executor) transport(p outbound.Policy, effect api.Effect) (*http.Transport, error) {
	if r.Connections != nil && effect != api.EffectOnce {
		return r.Connections.Transport(p)
	}
	guard, err := outbound.NewGuard(p)
	if err != nil {
		return nil, err
	}
	return guard.Transport(), nil
}

// restFailure returns why there is no response. It omits the URL, which may contain sensitive
// arguments, and quotes the spec's own text instead.
func restFailure(ctx context.Context, e *toolspecs.RESTEntry, credential *outbound.Credential,
	err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the server closed the connection before it answered: %w", err)
	}
	err = outbound.Failure(ctx, ctx, fmt.Errorf("%s %s: %w", e.Method, e.BaseURL+e.Path, err))
	return hiddenError{err, credential}
}

// hiddenError is an error whose text contains no secret.
type hiddenError struct {
	error
	credential *outbound.Credential
}

func (h hiddenError) Error() string { return h.credential.Hide(h.error.Error()) }
func (h hiddenError) Unwrap() error { return h.error }
