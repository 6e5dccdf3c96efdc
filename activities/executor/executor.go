package executor

import (
	"context"
	"encoding/json"

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
// Execute gets validated arguments, a JSON object. An error that is a *switchyard.Error is the
// call's error; any other is converted by switchyard.AsError, so that switchyard.Transient marks a
// retryable one. If ctx ends first, the error wraps context.Cause(ctx), and everything that the
// call started has ended.
type Executor interface {
	Execute(ctx context.Context, spec *toolspecs.Spec, args json.RawMessage) (Answer, error)
}
