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

// REST executes tools of the kind rest: one HTTP request, made of the spec's templates and the
// arguments.
//
// Only the host of base_url and what entry.allow names can be reached, by redirects too; what is
// loopback, link-local, private or metadata must be named by entry.allow or Inside. Every request
// carries the call's idempotency key. The secret of entry.auth is read at each call, goes to the
// base_url's own scheme, host and port alone, and is hidden where the server repeats it. There is
// no retry here and no connection is used twice.
//
// The answer is the response's JSON as it came, or the part of it that entry.extract takes; any
// other text is a JSON string, what is no text {"content_type", "body_base64"}, nothing null; for
// HEAD it is {"status", "headers"}.
type Executor struct {
	// Inside is what an operator lets be reached of the inner networks, as in outbound.Policy.
	Inside []string
	// Connections are kept for the tools whose calls may be repeated; nil keeps none.
	Connections *outbound.Connections
}

// Execute implements Executor. It fails with validation_error where arguments cannot be put into
// the request, precondition_failed without the secret, policy_violation where the address is
// refused, a transient execution_error for network failures and for the statuses 429 and 5xx, an
// execution_error for other statuses that are no answer, and invalid_output where what should be
// JSON is none.
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
	// A byte more tells a body that was cut from one that fits.
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

// restFailure says why there is no response. The URL stays out of it, because arguments and servers
// put things into it that are nobody's business; the spec's own words for it do not.
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

// hiddenError is an error whose text holds no secret.
type hiddenError struct {
	error
	credential *outbound.Credential
}

func (h hiddenError) Error() string { return h.credential.Hide(h.error.Error()) }
func (h hiddenError) Unwrap() error { return h.error }
