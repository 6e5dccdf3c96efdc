package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// Function executes the calls of one tool of kind function. Make it with NewFunction or
// RawFunction.
type Function struct {
	name  string
	input reflect.Type
	call  CallFunc
	err   error
}

// CallFunc executes one call. args is a JSON object; output is any value that encoding/json
// encodes. Errors in args are *Error values of type validation_error.
type CallFunc func(ctx context.Context, args json.RawMessage) (output any, err error)

// Noted is implemented by outputs that carry notes. The notes are added to the call's result.
type Noted interface{ Notes() []string }

// NewFunction returns a Function that decodes the arguments of a call into In, calls f, and encodes
// Out. name is what toolspecs refer to as entry.handler; a toolspec without a handler refers to its
// own name.
//
// In is a struct or a map with string keys. Argument names must match In's JSON names exactly,
// including case. Use json.Number or any for integers of more than 64 bits. Out is any value that
// encoding/json encodes. A nil f, or an In that JSON cannot fill, is reported when a worker
// registers the function.
func NewFunction[In, Out any](name string, f func(context.Context, In) (Out, error)) Function {
	return Function{name: name, input: reflect.TypeFor[In](), call: wrapTyped(f),
		err: rejectNil(f == nil,
			"the function")}
}

// RawFunction returns a Function that takes its arguments, a JSON object, and returns its output, a
// JSON value, without conversion. Its arguments are not compared with the toolspec at registration.
func RawFunction(name string, f func(context.Context, json.RawMessage) (json.RawMessage,
	error)) Function {
	return Function{name: name, call: wrapRaw(f), err: rejectNil(f == nil, "the function")}
}

// Name returns the name that toolspecs refer to.
func (f Function) Name() string { return f.name }

// Input returns the Go type that arguments are decoded into; nil for a raw function.
func (f Function) Input() reflect.Type { return f.input }

// Err returns why the function cannot be registered; nil if it can.
func (f Function) Err() error {
	if f.err == nil && f.call == nil {
		return errors.New("the function is nil; make it with NewFunction or RawFunction")
	}
	return f.err
}

// Call executes one call without the checks and limits of the toolspec, for workers and for tests.
func (f Function) Call(ctx context.Context, args json.RawMessage) (output any, err error) {
	return f.call(ctx, args)
}

func rejectNil(isNil bool, what string) error {
	if isNil {
		return errors.New(what + " is nil")
	}
	return nil
}

// wrapTyped returns a CallFunc for a function with Go types.
func wrapTyped[In, Out any](f func(context.Context, In) (Out, error)) CallFunc {
	return func(ctx context.Context, args json.RawMessage) (any, error) {
		var in In
		if err := decode(args, &in); err != nil {
			return nil, err
		}
		return f(ctx, in)
	}
}

// wrapRaw returns a CallFunc for a function from JSON to JSON.
func wrapRaw(f func(context.Context, json.RawMessage) (json.RawMessage, error)) CallFunc {
	return func(ctx context.Context, args json.RawMessage) (any, error) { return f(ctx, args) }
}

// decode decodes arguments. Numbers in fields of type any keep all their digits.
func decode(args json.RawMessage, into any) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	problem := api.Problem{Path: "$", Rule: api.RuleType, Message: err.Error()}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		problem.Path = strings.TrimSuffix("$."+t.Field, ".")
		problem.Message = fmt.Sprintf("a %s does not fit the function's type %s", t.Value, t.Type)
	}
	e := api.Errorf(api.ErrValidation, "the arguments cannot be decoded into the function's type")
	e.Problems = []api.Problem{problem}
	return e
}
