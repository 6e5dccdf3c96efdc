package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/switchyard/switchyard/api"
)

// Stateful is a Go type whose methods execute the calls of tools of kind stateful: each run that
// calls one of its tools has its own instance. Make it with NewStateful.
type Stateful struct {
	name   string
	inputs map[string]reflect.Type
	start  func(context.Context, StartInfo) (instance any, calls map[string]CallFunc, err error)
	err    error
}

// Method executes calls on instances of T. Make it with NewMethod or RawMethod.
type Method[T any] struct {
	name  string
	input reflect.Type
	on    func(instance *T) CallFunc
	err   error
}

// StartInfo says which run a new instance serves.
type StartInfo struct {
	// Instance is the name of the instance: entry.instance of its tools, or else the tool's name.
	Instance string
	api.Origin
	// WorkflowID and RunID name the execution that needs the instance first. Origin.Run is stable
	// over continue-as-new.
	WorkflowID string
	RunID      string
	// Generation counts the instances of this name that the run has had, including this one. It is
	// the instance's fencing number.
	Generation int
}

// Snapshotter is implemented by instances that can be rebuilt after their worker is lost or after
// they idle out. With on_loss: recreate, Snapshot is called after every call that can change the
// instance; with on_loss: fail, only before an instance idles out. Restore is called at most once,
// before the first call. Calls of such an instance overlap only if their tools have effect: read.
//
// Snapshots of more than 128 KiB (compressed, together with the outputs of the latest calls) are
// dropped.
type Snapshotter interface {
	Snapshot(context.Context) ([]byte, error)
	Restore(context.Context, []byte) error
}

// NewStateful returns a Stateful. start makes the instance of a run at its first call, and methods
// execute the calls on it. A toolspec names the type as entry.instance or entry.handler, or else by
// its own name, and the method as entry.method, which it can leave out if there is one method. All
// tools of a run that name the same entry.instance share one instance.
//
// An instance that is an io.Closer is closed when its run ends, when it idles out and when it is
// given up. An instance that is a Snapshotter can be rebuilt on another worker.
//
// The model reads an error of start, and the next call tries again. An error marked by Transient is
// first retried by the tool's retry policy. start and methods get a context that ends when the
// worker can no longer prove that it owns the instance. The context's Err method is reliable even
// after the process was suspended: check it before an effect that must not come from an instance
// that was replaced.
func NewStateful[T any](name string, start func(context.Context, StartInfo) (*T, error),
	methods ...Method[T]) Stateful {
	s := Stateful{name: name, inputs: map[string]reflect.Type{}}
	faults := []error{rejectNil(start == nil, "the function that starts an instance"),
		completeSnapshotter(reflect.TypeFor[*T]())}
	if len(methods) == 0 {
		faults = append(faults, errors.New("it has no methods; make one with NewMethod"))
	}
	for _, m := range methods {
		_, taken := s.inputs[m.name]
		faults = append(faults, m.fault(taken))
		s.inputs[m.name] = m.input
	}
	s.err = errors.Join(faults...)
	s.start = func(ctx context.Context, info StartInfo) (any, map[string]CallFunc, error) {
		instance, err := start(ctx, info)
		if err == nil && instance == nil {
			err = errNoInstance
		}
		if err != nil {
			return nil, nil, err
		}
		calls := map[string]CallFunc{}
		for _, m := range methods {
			calls[m.name] = m.on(instance)
		}
		return instance, calls, nil
	}
	return s
}

// NewMethod returns a Method that decodes the arguments of a call into In, calls f, and encodes
// Out. f may be a method expression such as (*Counter).Add. Toolspecs refer to it as entry.method.
// In and Out are as in NewFunction.
//
// Calls of tools whose effect is not read never overlap other calls of the instance. Methods of
// tools with effect: read can run at the same time.
func NewMethod[T, In, Out any](name string,
	f func(*T, context.Context, In) (Out, error)) Method[T] {
	return Method[T]{name: name, input: reflect.TypeFor[In](), err: rejectNil(f == nil,
		"the function"), on: func(instance *T) CallFunc {
		return wrapTyped(func(ctx context.Context, in In) (Out,
			error) {
			return f(instance, ctx, in)
		})
	}}
}

// RawMethod returns a Method that takes its arguments, a JSON object, and returns its output, a
// JSON value, without conversion. Its arguments are not compared with the toolspec at registration.
func RawMethod[T any](name string,
	f func(*T, context.Context, json.RawMessage) (json.RawMessage, error)) Method[T] {
	return Method[T]{name: name, err: rejectNil(f == nil, "the function"),
		on: func(instance *T) CallFunc {
			return wrapRaw(func(ctx context.Context, args json.RawMessage) (json.RawMessage,
				error) {
				return f(instance, ctx, args)
			})
		}}
}

// fault returns why the method cannot be registered; taken says that an earlier one has its name.
func (m Method[T]) fault(taken bool) error {
	err := m.err
	if err == nil && m.on == nil {
		err = errors.New("it is nil; make it with NewMethod or RawMethod")
	}
	if err == nil {
		err = api.CheckToolName(m.name)
	}
	if err == nil && taken {
		err = errors.New("another method has this name too")
	}
	if err != nil {
		return fmt.Errorf("method %q: %w", m.name, err)
	}
	return nil
}

var errNoInstance = errors.New(
	"no instance was started: the function returned nil without an error")

// completeSnapshotter rejects a type with only one method of Snapshotter, or with other signatures:
// its state would be lost without notice.
func completeSnapshotter(t reflect.Type) error {
	_, snapshots := t.MethodByName("Snapshot")
	_, restores := t.MethodByName("Restore")
	if t.Implements(reflect.TypeFor[Snapshotter]()) || !snapshots && !restores {
		return nil
	}
	return errors.New("its type " + t.String() +
		" has Snapshot or Restore but does not implement tool.Snapshotter; " +
		"give it both methods as declared there")
}

// Name returns the name that toolspecs refer to.
func (s Stateful) Name() string { return s.name }

// Inputs returns the Go types that arguments are decoded into, by method; nil for a raw one.
func (s Stateful) Inputs() map[string]reflect.Type { return maps.Clone(s.inputs) }

// Err returns why the type cannot be registered; nil if it can.
func (s Stateful) Err() error {
	if s.err == nil && s.start == nil {
		return errors.New("it is nil; make it with NewStateful")
	}
	return s.err
}

// Start starts an instance and returns it with the functions that execute its calls, by method, for
// workers and for tests.
func (s Stateful) Start(ctx context.Context, info StartInfo) (instance any,
	calls map[string]CallFunc, err error) {
	return s.start(ctx, info)
}
