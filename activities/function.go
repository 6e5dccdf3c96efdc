package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// Function is a Go function that calls of tools of the kind function execute. Make one with NewFunction or RawFunction.
type Function struct {
	name string
	run  callFunc
	// takes is the schema of the Go type that the arguments are decoded into; nil for a raw function.
	takes *jsonschema.Schema
	// fault is why the function cannot be registered.
	fault error
}

// callFunc executes one call: validated arguments, a JSON object, to an answer.
type callFunc = func(context.Context, json.RawMessage) (Answer, error)

// typed makes a callFunc of a function with Go types.
func typed[In, Out any](takes *jsonschema.Schema, f func(context.Context, In) (Out, error)) callFunc {
	return func(ctx context.Context, args json.RawMessage) (Answer, error) {
		var in In
		if err := decodeArguments(args, takes, &in); err != nil {
			return Answer{}, err
		}
		out, err := f(ctx, in)
		if err != nil {
			return Answer{}, err
		}
		return encodeAnswer(out)
	}
}

// raw makes a callFunc of a function from JSON to JSON.
func raw(f func(context.Context, json.RawMessage) (json.RawMessage, error)) callFunc {
	return func(ctx context.Context, args json.RawMessage) (Answer, error) {
		out, err := f(ctx, args)
		if err != nil {
			return Answer{}, err
		}
		return encodeAnswer(out)
	}
}

// Noted is implemented by an Out that has something to say about itself; its notes go with the call's result.
type Noted interface{ Notes() []string }

// NewFunction makes a Function of f under the name by which toolspecs refer to it (entry.handler, by default the tool's
// name). In is a struct or a map with string keys. The arguments' keys must be those of In's JSON names exactly; use
// json.Number or any where integers may have more than 64 bits. Out is anything that encoding/json encodes; one that is
// Noted adds its notes to the result. A nil f or an In that JSON cannot fill is reported by NewFunctions.
func NewFunction[In, Out any](name string, f func(context.Context, In) (Out, error)) Function {
	takes, err := schemaOf(reflect.TypeFor[In]())
	if f == nil {
		err = errors.New("the function is nil")
	}
	return Function{name: name, takes: takes, fault: err, run: typed(takes, f)}
}

// RawFunction makes a Function that takes its arguments, a JSON object, and gives its answer, a JSON value, as they
// are. Nothing of it can be compared with a toolspec.
func RawFunction(name string, f func(context.Context, json.RawMessage) (json.RawMessage, error)) Function {
	var fault error
	if f == nil {
		fault = errors.New("the function is nil")
	}
	return Function{name: name, fault: fault, run: raw(f)}
}

// Name returns the name by which toolspecs refer to the function.
func (f Function) Name() string { return f.name }

// guarded runs a part of a tool. A panic becomes an execution_error; its stack is logged and not told to the model.
func guarded[T any](ctx context.Context, handler string, f func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			said := hidingOf(ctx).text(fmt.Sprint(p))
			slog.ErrorContext(ctx, "tool panicked", "handler", handler, "panic", said, "stack", string(debug.Stack()))
			var nothing T
			out, err = nothing, api.Errorf(api.ErrExecution, "the tool's function panicked: %s", said)
		}
	}()
	return f()
}

func decodeArguments(args json.RawMessage, takes *jsonschema.Schema, into any) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	value, err := api.DecodeJSON(args)
	if err != nil {
		return argumentError("$", api.RuleType, err.Error())
	}
	// encoding/json takes "PATH" for a field path. What was validated under one name must not arrive under another.
	if problems := unknownKeys(takes, value, "$"); len(problems) > 0 {
		e := api.Errorf(api.ErrValidation, "the tool's function does not know all of the arguments")
		e.Problems = problems
		return e
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	err = d.Decode(into)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		path := strings.TrimSuffix("$."+t.Field, ".")
		return argumentError(path, api.RuleType, fmt.Sprintf("a %s does not fit the function's type %s", t.Value, t.Type))
	}
	if err != nil {
		return argumentError("$", api.RuleType, err.Error())
	}
	return nil
}

func argumentError(path, rule, message string) error {
	e := api.Errorf(api.ErrValidation, "the tool's function cannot take these arguments")
	e.Problems = []api.Problem{{Path: path, Rule: rule, Message: message}}
	return e
}

func unknownKeys(takes *jsonschema.Schema, value any, path string) []api.Problem {
	if takes == nil {
		return nil
	}
	var problems []api.Problem
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			problems = append(problems, unknownKeys(takes.Items, e, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			field, ok := fieldOf(takes, key)
			if !ok {
				problems = append(problems, api.Problem{Path: path + "." + key, Rule: "additionalProperties",
					Message: fmt.Sprintf("the function takes no argument %q; it takes %s", key, nameList(takes.PropertyOrder))})
			}
			problems = append(problems, unknownKeys(field, v[key], path+"."+key)...)
		}
	}
	return problems
}

func nameList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func encodeAnswer(out any) (Answer, error) {
	data, err := api.EncodeJSON(out)
	if err != nil {
		return Answer{}, api.Errorf(api.ErrInvalidOutput, "the answer of the tool's function is no JSON: %v", err)
	}
	answer := Answer{Output: data}
	if n, ok := out.(Noted); ok {
		answer.Notes = n.Notes()
	}
	return answer, nil
}

// Functions executes tools of the kind function.
type Functions struct{ byName map[string]Function }

// NewFunctions registers functions. The error names every one that is nil, takes what JSON cannot fill, or has an
// illegal name or another's.
func NewFunctions(functions ...Function) (*Functions, error) {
	byName, err := named("function", functions, func(f Function) (string, error) {
		if f.fault == nil && f.run == nil {
			return f.name, errors.New("the function is nil; make it with NewFunction or RawFunction")
		}
		return f.name, f.fault
	})
	if err != nil {
		return nil, err
	}
	return &Functions{byName: byName}, nil
}

// named returns what is registered by its name. The error names everything that has a fault, an illegal name or another's.
func named[T any](what string, all []T, of func(T) (name string, fault error)) (map[string]T, error) {
	byName := make(map[string]T, len(all))
	var faults []error
	for _, one := range all {
		name, fault := of(one)
		if fault == nil {
			fault = api.CheckToolName(name)
		}
		if _, taken := byName[name]; taken && fault == nil {
			fault = errors.New("another " + what + " has this name too")
		}
		if fault != nil {
			faults = append(faults, fmt.Errorf("%s %q: %w", what, name, fault))
			continue
		}
		byName[name] = one
	}
	return byName, errors.Join(faults...)
}

// Names returns the names of the registered functions, sorted.
func (r *Functions) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// Find returns the function that executes the calls of a tool, and whether there is one.
func (r *Functions) Find(spec *toolspecs.Spec) (Function, bool) {
	f, ok := r.byName[handlerOf(spec)]
	return f, ok
}

func handlerOf(spec *toolspecs.Spec) string {
	if spec.Entry.Handler != "" {
		return spec.Entry.Handler
	}
	return spec.Name
}

// Execute implements Executor. A tool whose handler is not registered gives executor_not_found.
func (r *Functions) Execute(ctx context.Context, spec *toolspecs.Spec, args json.RawMessage) (Answer, error) {
	f, ok := r.Find(spec)
	if !ok {
		return Answer{}, api.Errorf(api.ErrExecutorNotFound,
			"the worker has no function %q for the tool %s; it has %s", handlerOf(spec), spec.Name, nameList(r.Names()))
	}
	return guarded(ctx, f.name, func() (Answer, error) { return f.run(ctx, args) })
}
