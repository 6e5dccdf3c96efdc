package instances

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// Stateful is a registered stateful tool with the schema of its input.
type Stateful struct {
	switchyard.Stateful
	takes *jsonschema.Schema
}

// Factories starts the instances of stateful tools by registered factories. It implements
// executor.Host.
type Factories struct{ byName map[string]Stateful }

// NewFactories registers stateful tools. It returns an error that lists every one that is nil, has
// an input type that JSON cannot represent, implements only half of a Snapshotter, or has an
// invalid or duplicate name.
func NewFactories(stateful ...switchyard.Stateful) (*Factories, error) {
	all := make([]Stateful, len(stateful))
	for i, s := range stateful {
		all[i].Stateful = s
	}
	byName, err := executor.Register("stateful tool", all, func(s *Stateful) (name string,
		err error) {
		s.takes, err = function.TakesOf(s.Input(), s.Err())
		return s.Name(), err
	})
	if err != nil {
		return nil, err
	}
	return &Factories{byName: byName}, nil
}

// Names returns the names of the registered factories, sorted.
func (f *Factories) Names() []string { return slices.Sorted(maps.Keys(f.byName)) }

// Find returns the factory of a tool, and whether there is one.
func (f *Factories) Find(spec *toolspecs.Spec) (Stateful, bool) {
	s, ok := f.byName[executor.Handler(spec)]
	return s, ok
}

// Check implements executor.Checker. It compares the Go type that calls take with the tool's input
// schema, as the executor of functions does.
func (f *Factories) Check(spec *toolspecs.Spec, inputSchema json.RawMessage) []string {
	s, ok := f.Find(spec)
	if !ok {
		return []string{executor.NotRegistered(spec, "factory of a stateful tool", "NewStateful")}
	}
	return function.CheckType(s.Name(), s.takes, spec, inputSchema)
}

// StartInstance implements executor.Host by the tool's factory.
func (f *Factories) StartInstance(ctx context.Context, spec *toolspecs.Spec,
	info executor.InstanceInfo) (executor.Instance, error) {
	s, ok := f.Find(spec)
	if !ok {
		return executor.Instance{}, api.Errorf(api.ErrExecutorNotFound,
			"the worker has no factory %q for the tool %s; it has %s",
			executor.Handler(spec), spec.Name, executor.NameList(f.Names()))
	}
	value, call, err := s.Start(ctx, info.StartInfo)
	if err != nil {
		return executor.Instance{}, err
	}
	return executor.Instance{Value: value, Call: func(ctx context.Context, _ *toolspecs.Spec,
		args json.RawMessage) (executor.Answer, error) {
		return function.Call(ctx, s.Name(), s.takes, call, args)
	}}, nil
}

// Execute implements executor.Executor. It fails, because calls are executed on instances.
func (*Factories) Execute(_ context.Context, spec *toolspecs.Spec,
	_ json.RawMessage) (executor.Answer, error) {
	return executor.Answer{}, executor.NoInstance(spec)
}
