package executor

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// Answer is a tool's answer to one call.
type Answer struct {
	// Output is the whole answer, one valid JSON value in UTF-8.
	Output json.RawMessage
	// Notes inform the reader of the answer, for example about truncation.
	Notes []string
}

// Executor executes the calls of one kind of tool.
//
// Execute gets validated arguments, a JSON object. An error that is a *api.Error is the
// call's error; any other is converted by api.AsError, so that tool.Transient marks a
// retryable one. If ctx ends first, the error wraps context.Cause(ctx), and everything that the
// call started has ended.
type Executor interface {
	Execute(ctx context.Context, spec *toolspecs.Spec, args json.RawMessage) (Answer, error)
}

// DecisionPreparer is implemented by executors of kinds of tools whose admission decisions have
// parts of their own, such as a sub-agent's prompt.
type DecisionPreparer interface {
	// PrepareDecision completes the decision v on an admitted call of the tool with valid
	// arguments. The error rejects the call.
	PrepareDecision(r api.AdmissionRequest, tool *toolspecs.Compiled, args json.RawMessage,
		v *api.AdmissionDecision) *api.Error
}

// TooDeep rejects a call that would start a run below a run that is as deep as runs may be; nil
// accepts it.
func TooDeep(r api.AdmissionRequest) *api.Error {
	if r.Depth < api.MaxDepth {
		return nil
	}
	e := api.Errorf(api.ErrPreconditionFailed,
		"this run is a sub-agent %d deep already, and none may be deeper", r.Depth)
	e.Phase = api.PhasePreValidation
	return e
}

// EncodedSize returns the size of a text in history, in bytes.
func EncodedSize(text string) int {
	data, err := json.Marshal(text)
	if err != nil {
		return len(text)
	}
	return len(data)
}

// Checker is implemented by executors that can say whether they can execute a tool. The worker asks
// when it starts and when a toolspec changes.
type Checker interface {
	// Check returns the reasons why the executor cannot execute calls of the tool. inputSchema is
	// the JSON Schema of their arguments.
	Check(spec *toolspecs.Spec, inputSchema json.RawMessage) []string
}

// Host is implemented by executors of kinds whose calls run on instances (api.DispatchInstance).
type Host interface {
	Executor
	// StartInstance creates an instance for a run. spec is one of the tools that share it.
	StartInstance(ctx context.Context, spec *toolspecs.Spec, info InstanceInfo) (Instance, error)
}

// InstanceInfo says what a new instance is for.
type InstanceInfo struct {
	tool.StartInfo
	// Asks says that calls of the instance may ask people.
	Asks bool
}

// Instance is a started instance.
type Instance struct {
	// Value is closed if it is an io.Closer, and can be rebuilt if it is a tool.Snapshotter.
	Value any
	// Call executes a call of one of the tools that share the instance.
	Call func(ctx context.Context, spec *toolspecs.Spec, args json.RawMessage) (Answer, error)
	// Lost receives once why the instance lost its state although its worker lives; nil if that
	// cannot happen.
	Lost <-chan error
}

// NoInstance is the error of a call that came to a worker without its instance.
func NoInstance(spec *toolspecs.Spec) error {
	return NotStarted(api.Errorf(api.ErrExecutorNotFound,
		"the call of %s came to a worker that has no instance for it", spec.Name))
}
