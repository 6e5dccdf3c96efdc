package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// Stateful is a registered stateful type with the schemas of what its methods take.
type Stateful struct {
	tool.Stateful
	takes map[string]*jsonschema.Schema
}

// Factories starts the instances of registered stateful types. It implements executor.Host.
type Factories struct{ byName map[string]Stateful }

// NewFactories registers stateful types. It returns an error that lists every one that is nil, has
// a method whose input type JSON cannot represent, implements only half of a Snapshotter, or has an
// invalid or duplicate name.
func NewFactories(stateful ...tool.Stateful) (*Factories, error) {
	all := make([]Stateful, len(stateful))
	for i, s := range stateful {
		all[i].Stateful = s
	}
	byName, err := executor.Register("stateful type", all, func(s *Stateful) (string, error) {
		return s.Name(), s.read()
	})
	if err != nil {
		return nil, err
	}
	return &Factories{byName: byName}, nil
}

// read reads the schemas of what the methods take.
func (s *Stateful) read() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.takes = map[string]*jsonschema.Schema{}
	var faults []error
	for _, name := range s.methods() {
		takes, err := function.InferSchema(s.Inputs()[name], nil)
		if err != nil {
			faults = append(faults, fmt.Errorf("method %q: %w", name, err))
		}
		s.takes[name] = takes
	}
	return errors.Join(faults...)
}

// methods returns the names of the methods, sorted.
func (s *Stateful) methods() []string { return slices.Sorted(maps.Keys(s.Inputs())) }

// Methods returns the names of the registered types with those of their methods, sorted.
func (f *Factories) Methods() map[string][]string {
	all := map[string][]string{}
	for name, s := range f.byName {
		all[name] = s.methods()
	}
	return all
}

// method is the method that executes the calls of a tool.
type method struct {
	Stateful
	name string
}

// handler names the method for people.
func (m method) handler() string { return m.Name() + "." + m.name }

// find returns the method of a tool, or why there is none.
func (f *Factories) find(spec *toolspecs.Spec) (method, error) {
	s, ok := f.byName[executor.Handler(spec)]
	if !ok {
		return method{}, fmt.Errorf("%s; registered: %s", executor.NotRegistered(spec, "stateful type",
			"NewStateful"), executor.NameList(slices.Sorted(maps.Keys(f.byName))))
	}
	entry, _ := spec.Entry.Kind.(toolspecs.StatefulEntry)
	name, fault := entry.SelectMethod(s.methods())
	if fault != nil {
		return method{}, fmt.Errorf("%s (%s)", fault.Message, fault.Hint)
	}
	return method{s, name}, nil
}

// Check implements executor.Checker. It compares the Go type that the method takes with the tool's
// input schema, as the executor of functions does.
func (f *Factories) Check(spec *toolspecs.Spec, inputSchema json.RawMessage) []string {
	m, err := f.find(spec)
	if err != nil {
		return []string{err.Error()}
	}
	return function.CheckType(m.handler(), m.takes[m.name], spec, inputSchema)
}

// StartInstance implements executor.Host by the registered type of the tool.
func (f *Factories) StartInstance(ctx context.Context, spec *toolspecs.Spec,
	info executor.InstanceInfo) (executor.Instance, error) {
	m, err := f.find(spec)
	if err != nil {
		return executor.Instance{}, notFound(spec, err)
	}
	value, calls, err := m.Start(ctx, info.StartInfo)
	if err != nil {
		return executor.Instance{}, err
	}
	return executor.Instance{Value: value, Call: func(ctx context.Context, spec *toolspecs.Spec,
		args json.RawMessage) (executor.Answer, error) {
		m, err := f.find(spec)
		if err != nil {
			return executor.Answer{}, executor.NotStarted(notFound(spec, err))
		}
		return function.Call(ctx, m.handler(), m.takes[m.name], calls[m.name], args)
	}}, nil
}

// notFound is the error of a tool whose method the worker does not have.
func notFound(spec *toolspecs.Spec, why error) error {
	return api.Errorf(api.ErrExecutorNotFound, "the worker cannot execute %s: %v", spec.Name, why)
}

// Execute implements executor.Executor. It fails, because calls are executed on instances.
func (*Factories) Execute(_ context.Context, spec *toolspecs.Spec,
	_ json.RawMessage) (executor.Answer, error) {
	return executor.Answer{}, executor.NoInstance(spec)
}
