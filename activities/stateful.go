package activities

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// Stateful is a Go type of which every run that calls its tool has an instance of its own. Make one with NewStateful or
// RawStateful.
type Stateful struct {
	name string
	make func(context.Context, StartInfo) (made, error)
	// takes is the schema of the Go type that the arguments are decoded into; nil for a raw one.
	takes *jsonschema.Schema
	// fault is why it cannot be registered.
	fault error
}

// StartInfo tells a factory what the instance is for.
type StartInfo struct {
	Tool string
	api.Origin
	// WorkflowID and RunID name the execution that needs the instance first; Origin.Run is stable over continue-as-new.
	WorkflowID string
	RunID      string
	// Generation counts the instances that the run had of the tool, this one among them, and so is its fencing number.
	Generation int
}

// Snapshotter is implemented by instances that can be rebuilt where their worker is lost or they idle out. With
// on_loss: recreate, Snapshot is called after every call; with on_loss: fail, only before an instance idles out. Restore
// is called at most once, on an instance that no call has used. Calls of such an instance never overlap.
//
// A snapshot of more than 128 KiB (compressed, together with the answers of the latest calls) is not kept.
type Snapshotter interface {
	Snapshot(context.Context) ([]byte, error)
	Restore(context.Context, []byte) error
}

// RawInstance is an instance that takes its arguments, a JSON object, and gives its answer, a JSON value, as they are.
type RawInstance interface {
	Call(context.Context, json.RawMessage) (json.RawMessage, error)
}

// made is what a factory made: the value itself, and how its calls are executed.
type made struct {
	value any
	call  callFunc
}

// NewStateful makes a Stateful under the name by which toolspecs refer to it (entry.handler, by default the tool's name).
// factory makes the instance of a run when its first call comes; call executes a call on it, and may be a method
// expression such as (*Counter).Add. In and Out are as for NewFunction. An instance that is an io.Closer is closed when
// the run ends, whatever its end, and when it idles out or is given up; one that is a Snapshotter can be rebuilt.
//
// A plain error of factory is told to the model, and the next call tries again; one marked by switchyard.Transient is
// first tried again by the tool's retry policy. Both factory and call get a context that ends when the worker cannot prove
// any more that it holds the instance. Its Err can be trusted even where the process was suspended: ask it before an
// effect that must not come from an instance that was replaced.
func NewStateful[T, In, Out any](name string, factory func(context.Context, StartInfo) (*T, error), call func(*T, context.Context, In) (Out, error)) Stateful {
	takes, err := schemaOf(reflect.TypeFor[In]())
	switch {
	case factory == nil:
		err = errors.New("the factory is nil")
	case call == nil:
		err = errors.New("the function that executes calls is nil")
	case err == nil:
		err = wholePair(reflect.TypeFor[*T]())
	}
	return Stateful{name: name, takes: takes, fault: err, make: func(ctx context.Context, info StartInfo) (made, error) {
		value, err := factory(ctx, info)
		if err != nil {
			return made{}, err
		}
		if value == nil {
			return made{}, errors.New("the factory made nothing: it returned nil without an error")
		}
		return made{value, typed(takes, func(ctx context.Context, in In) (Out, error) { return call(value, ctx, in) })}, nil
	}}
}

// RawStateful makes a Stateful whose instances are RawInstances. Nothing of it can be compared with a toolspec.
func RawStateful(name string, factory func(context.Context, StartInfo) (RawInstance, error)) Stateful {
	var fault error
	if factory == nil {
		fault = errors.New("the factory is nil")
	}
	return Stateful{name: name, fault: fault, make: func(ctx context.Context, info StartInfo) (made, error) {
		value, err := factory(ctx, info)
		if err != nil {
			return made{}, err
		}
		if value == nil {
			return made{}, errors.New("the factory made nothing: it returned nil without an error")
		}
		return made{value, raw(value.Call)}, nil
	}}
}

// wholePair reports a type that has one half of a Snapshotter: its state would silently be lost.
func wholePair(t reflect.Type) error {
	_, snapshots := t.MethodByName("Snapshot")
	_, restores := t.MethodByName("Restore")
	if whole := t.Implements(reflect.TypeFor[Snapshotter]()); whole || !snapshots && !restores {
		return nil
	}
	return errors.New("its type " + t.String() + " has Snapshot or Restore, but is no activities.Snapshotter; give it both methods as declared there")
}

// Name returns the name by which toolspecs refer to it.
func (s Stateful) Name() string { return s.name }

// Check compares the Go type that calls take with a tool's input schema, as Function.Check does.
func (s Stateful) Check(spec *toolspecs.Spec, inputSchema json.RawMessage) []string {
	return Function{name: s.name, takes: s.takes}.Check(spec, inputSchema)
}

// Factories executes tools of the kind stateful: it knows the factories, and counts the instances that live here.
type Factories struct {
	byName map[string]Stateful

	mu   sync.Mutex
	live map[string]int
}

// NewFactories registers stateful tools. The error names every one that is nil, takes what JSON cannot fill, has half of a
// Snapshotter, or has an illegal name or another's.
func NewFactories(all ...Stateful) (*Factories, error) {
	byName, err := named("stateful tool", all, func(s Stateful) (string, error) {
		if s.fault == nil && s.make == nil {
			return s.name, errors.New("it is nil; make it with NewStateful or RawStateful")
		}
		return s.name, s.fault
	})
	if err != nil {
		return nil, err
	}
	return &Factories{byName: byName, live: map[string]int{}}, nil
}

// Names returns the names of the registered factories, sorted.
func (f *Factories) Names() []string { return slices.Sorted(maps.Keys(f.byName)) }

// Find returns what makes the instances of a tool, and whether there is one.
func (f *Factories) Find(spec *toolspecs.Spec) (Stateful, bool) {
	s, ok := f.byName[handlerOf(spec)]
	return s, ok
}

// Live returns how many instances of each tool live in this process.
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

// Execute implements Executor: it executes the call on the instance that ctx leads to.
func (f *Factories) Execute(ctx context.Context, spec *toolspecs.Spec, args json.RawMessage) (Answer, error) {
	i, ok := ctx.Value(instanceKey{}).(*instance)
	if !ok {
		return Answer{}, api.Errorf(api.ErrExecutorNotFound, "the call of %s came to a worker that holds no instance for it", spec.Name)
	}
	return i.execute(ctx, spec, args)
}
