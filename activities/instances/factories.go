package instances

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

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

// created is a started instance and the executor of its calls.
type created struct {
	value any
	call  func(context.Context, json.RawMessage) (executor.Answer, error)
}

// start starts an instance.
func (s Stateful) start(ctx context.Context, info switchyard.StartInfo) (created, error) {
	value, f, err := s.Start(ctx, info)
	if err != nil {
		return created{}, err
	}
	return created{value, func(ctx context.Context, args json.RawMessage) (executor.Answer, error) {
		return function.Call(ctx, s.Name(), s.takes, f, args)
	}}, nil
}

// Factories executes stateful tools: it has the registered factories and counts the instances of
// this process.
type Factories struct {
	byName map[string]Stateful

	mu   sync.Mutex
	live map[string]int
}

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
	return &Factories{byName: byName, live: map[string]int{}}, nil
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

// Live returns the number of instances in this process, by tool.
func (f *Factories) Live() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.live)
}

func (f *Factories) count(tool string, change int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[tool] += change
}

// Execute implements Executor: it executes the call on the instance in ctx.
func (f *Factories) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	i, ok := ctx.Value(instanceKey{}).(*instance)
	if !ok {
		return executor.Answer{}, executor.NotStarted(api.Errorf(api.ErrExecutorNotFound,
			"the call of %s came to a worker that has no instance for it", spec.Name))
	}
	return i.execute(ctx, spec, args)
}
