package switchyard

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/switchyard/switchyard/api"
)

// Stateful executes the calls of one tool of kind stateful: each run that calls the tool has its
// own instance. Make it with NewStateful or RawStateful.
type Stateful struct {
	name  string
	input reflect.Type
	start func(context.Context, StartInfo) (instance any, call CallFunc, err error)
	err   error
}

// StartInfo says which run a new instance serves.
type StartInfo struct {
	Tool string
	api.Origin
	// WorkflowID and RunID name the execution that needs the instance first. Origin.Run is stable
	// over continue-as-new.
	WorkflowID string
	RunID      string
	// Generation counts the instances that the run has had of the tool, including this one. It is
	// the instance's fencing number.
	Generation int
}

// Snapshotter is implemented by instances that can be rebuilt after their worker is lost or after
// they idle out. With on_loss: recreate, Snapshot is called after every call; with on_loss: fail,
// only before an instance idles out. Restore is called at most once, before the first call. Calls
// of such an instance never overlap.
//
// Snapshots of more than 128 KiB (compressed, together with the outputs of the latest calls) are
// dropped.
type Snapshotter interface {
	Snapshot(context.Context) ([]byte, error)
	Restore(context.Context, []byte) error
}

// RawInstance is an instance that takes its arguments, a JSON object, and returns its output, a
// JSON value, without conversion.
type RawInstance interface {
	Call(context.Context, json.RawMessage) (json.RawMessage, error)
}

// NewStateful returns a Stateful. start makes the instance of a run at its first call; call
// executes a call on it and may be a method expression such as (*Counter).Add. name, In and Out are
// as in NewFunction.
//
// An instance that is an io.Closer is closed when its run ends, when it idles out and when it is
// given up. An instance that is a Snapshotter can be rebuilt on another worker.
//
// The model reads an error of start, and the next call tries again. An error marked by Transient is
// first retried by the tool's retry policy. start and call get a context that ends when the worker
// can no longer prove that it owns the instance. The context's Err method is reliable even after
// the process was suspended: check it before an effect that must not come from an instance that was
// replaced.
func NewStateful[T, In, Out any](
	name string,
	start func(context.Context, StartInfo) (*T, error),
	call func(*T, context.Context, In) (Out, error),
) Stateful {
	err := errors.Join(missing(start == nil, "the function that starts an instance"),
		missing(call == nil, "the function that executes calls"),
		completeSnapshotter(reflect.TypeFor[*T]()))
	return Stateful{name: name, input: reflect.TypeFor[In](), err: err,
		start: func(ctx context.Context, info StartInfo) (any, CallFunc, error) {
			instance, err := start(ctx, info)
			if err == nil && instance == nil {
				err = errNoInstance
			}
			if err != nil {
				return nil, nil, err
			}
			return instance, typed(func(ctx context.Context, in In) (Out,
				error) {
				return call(instance, ctx, in)
			}), nil
		}}
}

// RawStateful returns a Stateful whose instances are RawInstances. Arguments are not compared with
// the toolspec at registration.
func RawStateful(name string, start func(context.Context, StartInfo) (RawInstance,
	error)) Stateful {
	return Stateful{name: name, err: missing(start == nil, "the function that starts an instance"),
		start: func(ctx context.Context, info StartInfo) (any, CallFunc, error) {
			instance, err := start(ctx, info)
			if err == nil && instance == nil {
				err = errNoInstance
			}
			if err != nil {
				return nil, nil, err
			}
			return instance, raw(instance.Call), nil
		}}
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
		" has Snapshot or Restore but does not implement switchyard.Snapshotter; " +
		"give it both methods as declared there")
}

// Name returns the name that toolspecs refer to.
func (s Stateful) Name() string { return s.name }

// Input returns the Go type that arguments are decoded into; nil for a raw one.
func (s Stateful) Input() reflect.Type { return s.input }

// Err returns why the tool cannot be registered; nil if it can.
func (s Stateful) Err() error {
	if s.err == nil && s.start == nil {
		return errors.New("it is nil; make it with NewStateful or RawStateful")
	}
	return s.err
}

// Start starts an instance and returns it with the function that executes its calls, for workers
// and for tests.
func (s Stateful) Start(ctx context.Context, info StartInfo) (instance any, call CallFunc,
	err error) {
	return s.start(ctx, info)
}
