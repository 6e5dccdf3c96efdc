// Package switchyard is the API that applications import to write tools, and to start,
// follow and control runs.
//
// A tool is declared by a toolspec, a YAML file, and implemented by a Go function (NewFunction) or
// by a method of a Go type of which every run has its own instance (NewStateful). A worker
// registers both:
//
//	host.Run(ctx, host.Config{Functions: []switchyard.Function{...}})
//
// The context of a call says which call it is (ContextOf), takes progress (ReportProgress), and
// gives access to secrets (Secret) and to people (Ask). Hooks are Go functions that observe or
// change the calls and runs of the agents that name them.
//
// Errors that a tool returns are told to the model. Errorf makes one of the closed set of types;
// any other error is an execution_error. Transient marks an error that another attempt may cure.
//
// A Client starts the runs of agents, plans and direct calls; Dial connects one. Starts are
// idempotent by ID. A Run is the handle of a run:
//
//	run, err := client.Call(ctx, "echo", map[string]any{"text": "hello"}, switchyard.StartOptions{})
//	result, err := run.Result(ctx)
//
// Methods of a Client fail with errors of the context, *RequestError, *RunError and *Error.
package switchyard
