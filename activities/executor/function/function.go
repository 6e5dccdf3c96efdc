package function

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// checkNames rejects arguments whose exact names the Go type takes does not have. encoding/json
// ignores the case of names: what was validated as "PATH" must not arrive as "path".
func checkNames(args json.RawMessage, takes *jsonschema.Schema) error {
	if takes == nil || len(args) == 0 {
		return nil
	}
	value, err := jsonvalue.Decode(args)
	if err != nil {
		return argumentError("$", api.RuleType, err.Error())
	}
	if problems := unknownKeys(takes, value, "$"); len(problems) > 0 {
		e := api.Errorf(api.ErrValidation, "the tool's function does not know all of the arguments")
		e.Problems = problems
		return e
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
			problems = append(problems, unknownKeys(takes.Items, e, fmt.Sprintf("%s[%d]", path,
				i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			field, ok := findField(takes, key)
			if !ok {
				problems = append(problems, api.Problem{Path: path + "." + key,
					Rule: "additionalProperties",
					Message: fmt.Sprintf("the function takes no argument %q; it takes %s", key,
						executor.NameList(takes.PropertyOrder))})
			}
			problems = append(problems, unknownKeys(field, v[key], path+"."+key)...)
		}
	}
	return problems
}

func encodeAnswer(out any) (executor.Answer, error) {
	data, err := jsonvalue.Encode(out)
	if err != nil {
		return executor.Answer{}, api.Errorf(api.ErrInvalidOutput,
			"the answer of the tool's function is no JSON: %v", err)
	}
	answer := executor.Answer{Output: data}
	if n, ok := out.(tool.Noted); ok {
		answer.Notes = n.Notes()
	}
	return answer, nil
}

// Executor executes tools of the kind function.
type Executor struct{ byName map[string]registered }

// registered is a registered function with the schema of its input.
type registered struct {
	tool.Function
	// takes is the schema of the Go type that arguments are decoded into; nil for a raw function.
	takes *jsonschema.Schema
}

// New registers functions. It returns an error that lists every function that is nil, has an input
// type that JSON cannot represent, or has an invalid or duplicate name.
func New(functions ...tool.Function) (*Executor, error) {
	all := make([]registered, len(functions))
	for i, f := range functions {
		all[i].Function = f
	}
	byName, err := executor.Register("function", all, func(f *registered) (name string,
		err error) {
		f.takes, err = InferSchema(f.Input(), f.Err())
		return f.Name(), err
	})
	if err != nil {
		return nil, err
	}
	return &Executor{byName: byName}, nil
}

// InferSchema returns the schema of a Go type of arguments; nil if there is none. err is an error
// that
// is already known.
func InferSchema(t reflect.Type, err error) (*jsonschema.Schema, error) {
	if t == nil || err != nil {
		return nil, err
	}
	return schemaFromType(t)
}

// Names returns the names of the registered functions, sorted.
func (r *Executor) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// Check implements executor.Checker. It compares the Go type that the tool's function takes with
// the input schema and returns one sentence per mismatch: a declared parameter without a field, or
// with a field of another type; a field that is not declared, or that is declared as optional but
// required by the type. A field is optional if it is a pointer or has omitempty or omitzero. A raw
// function fits every schema.
func (r *Executor) Check(spec *toolspecs.Spec, inputSchema json.RawMessage) []string {
	f, ok := r.byName[executor.Handler(spec)]
	if !ok {
		return []string{executor.NotRegistered(spec, "function", "NewFunction")}
	}
	return CheckType(f.Name(), f.takes, spec, inputSchema)
}

// Execute implements executor.Executor. It fails with executor_not_found if the tool's handler is
// not registered.
func (r *Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	f, ok := r.byName[executor.Handler(spec)]
	if !ok {
		return executor.Answer{}, executor.NotStarted(api.Errorf(api.ErrExecutorNotFound,
			"the worker has no function %q for the tool %s; it has %s", executor.Handler(spec),
			spec.Name, executor.NameList(r.Names())))
	}
	return Call(ctx, f.Name(), f.takes, f.Call, args)
}

// Call executes a call with a Go function. A panic leaves open whether the call took effect.
func Call(ctx context.Context, handler string, takes *jsonschema.Schema, f tool.CallFunc,
	args json.RawMessage) (executor.Answer, error) {
	if err := checkNames(args, takes); err != nil {
		return executor.Answer{}, executor.NotStarted(err)
	}
	panicked := true
	answer, err := executor.Guard(ctx, handler, func() (answer executor.Answer, err error) {
		output, err := f(ctx, args)
		if err == nil {
			answer, err = encodeAnswer(output)
		}
		panicked = false
		return answer, err
	})
	if panicked {
		err = executor.Unclear(err)
	}
	return answer, err
}
