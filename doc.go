// Package switchyard is the client that applications import to start, follow and control runs.
//
// A Client starts the runs of agents, plans and direct calls; Dial connects one. Starts are
// idempotent by ID. A Run is the handle of a run:
//
//	run, err := client.Call(ctx, "echo", map[string]any{"text": "hello"}, switchyard.StartOptions{})
//	result, err := run.Result(ctx)
//
// Methods of a Client fail with errors of the context, *RequestError, *RunError and *Error.
//
// Tools and hooks are written with package tool.
package switchyard
