package tool

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
)

// Reply is a person's reply to a question.
type Reply = api.Reply

// AskFunc asks a person a question; see Ask.
type AskFunc func(ctx context.Context, text string, schema json.RawMessage) (Reply, error)

type askKey struct{}

// WithAsk returns a context whose Ask calls ask. Workers provide it; tests of tools may.
func WithAsk(ctx context.Context, ask AskFunc) context.Context {
	return context.WithValue(ctx, askKey{}, ask)
}

// Ask asks a person during a call and waits for the reply. The toolspec's answer_within bounds all
// waits of a call together, and the toolspec's timeout does not count them. schema is the JSON
// Schema of the answer; nil allows any JSON value. A person who declines gives a Reply that says
// so, not an error.
//
// The question is stored in the run, not in the worker. If the worker is lost and the call is
// retried, asking the same question again returns the reply that was given meanwhile. Asking the
// same question twice in one call asks two questions.
//
// Errors are *Error values: precondition_failed if the tool has no answer_within, execution_error
// if the question is not valid, approval_timeout if no reply came in time, cancelled if the call
// has ended for the run. If ctx ends first, the error is its cause.
func Ask(ctx context.Context, text string, schema json.RawMessage) (Reply, error) {
	if ask, ok := ctx.Value(askKey{}).(AskFunc); ok {
		return ask(ctx, text, schema)
	}
	call, _ := CallFromContext(ctx)
	return Reply{}, api.Errorf(api.ErrPreconditionFailed,
		"tool %q asks a person, but its toolspec has no entry.answer_within; add one", call.Tool)
}

// SecretFunc returns a secret by its name; see Secret.
type SecretFunc func(name string) (string, error)

type secretKey struct{}

// WithSecrets returns a context whose Secret calls get. Workers provide it; tests of tools may.
func WithSecrets(ctx context.Context, get SecretFunc) context.Context {
	return context.WithValue(ctx, secretKey{}, get)
}

// Secret returns a secret that the toolspec of the call names in entry.secrets. It is read at each
// call of Secret, so that it can change while the worker runs. Its value is then removed from what
// the call returns, reports and fails with. A function that starts a stateful instance may ask for
// secrets too.
//
// Errors are *Error values of type precondition_failed: the toolspec does not name the secret, or
// this worker cannot read it.
func Secret(ctx context.Context, name string) (string, error) {
	if get, ok := ctx.Value(secretKey{}).(SecretFunc); ok {
		return get(name)
	}
	return "", api.Errorf(api.ErrPreconditionFailed,
		"secret %q is not named by the toolspec; add entry.secrets: {%s: env:NAME} or file:/path",
		name, name)
}
