package executor

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/toolspecs"
)

// Answer is what a tool gave for one call.
type Answer struct {
	// Output is the whole answer, one valid JSON value in UTF-8.
	Output json.RawMessage
	// Notes tell what the reader of the answer should know about it.
	Notes []string
}

// Executor executes the calls of one kind of tool.
//
// Execute gets validated arguments, a JSON object. An error that is a *switchyard.Error is the
// call's error as it is; any other goes through switchyard.AsError, so that switchyard.Transient
// marks one that another attempt may cure. When ctx ends first, the error wraps context.Cause(ctx),
// and everything that the call started has been ended.
type Executor interface {
	Execute(ctx context.Context, spec *toolspecs.Spec, args json.RawMessage) (Answer, error)
}
