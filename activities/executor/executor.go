package executor

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
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
// call's error; any other is converted by api.AsError, so that switchyard.Transient marks a
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
