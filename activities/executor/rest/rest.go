package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

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
// does not retry and uses no connection twice unless Connections is set.
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
// execution_error for other failed statuses, and invalid_output if a JSON body is invalid.
func (r Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	entry := spec.Entry
	base, err := outbound.Address(entry.BaseURL)
	if err != nil {
		return executor.Answer{}, err
	}
	entry.BaseURL = base
	e := &entry
	req, err := newRESTRequest(ctx, e, args)
	if err != nil {
		return executor.Answer{}, err
	}
	credential, err := credentialOf(e.Auth)
	if err != nil {
		return executor.Answer{}, err
	}
	executor.RedactorOf(ctx).Hide(credential.Values()...)
	client, err := r.client(e, spec.Execution.Effect, credential)
	if err != nil {
		return executor.Answer{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return executor.Answer{}, restFailure(ctx, e, credential, err)
	}
	defer resp.Body.Close()
	// Read one byte more to detect a truncated body.
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(e.MaxResponse)+1))
	if err != nil {
		return executor.Answer{}, restFailure(ctx, e, credential,
			fmt.Errorf("the response broke off: %w", err))
	}
	x := restResponse{spec: spec, status: resp.StatusCode, header: resp.Header,
		length: resp.ContentLength, body: body, credential: credential}
	if x.cut = len(body) > e.MaxResponse; x.cut {
		x.body = body[:e.MaxResponse]
	}
	return x.answer()
}

func credentialOf(auth *outbound.Auth) (*outbound.Credential, error) {
	if auth == nil {
		return nil, nil
	}
	return outbound.NewCredential(auth.Type, auth.Secret, auth.Name)
}

func (r Executor) client(e *toolspecs.Entry, effect api.Effect,
	credential *outbound.Credential) (*http.Client, error) {
	origin, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.base_url cannot be read as a URL")
	}
	transport, err := r.transport(outbound.Policy{Hosts: []string{origin.Hostname()},
		Allow: e.Allow, Inside: r.Inside}, effect)
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "what the tool may reach is wrong: %v",
			err)
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
func restFailure(ctx context.Context, e *toolspecs.Entry, credential *outbound.Credential,
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
