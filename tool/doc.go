// Package tool is what tools and hooks in Go are written with. It imports no client, no audit and
// no payload store, so that a worker with a few functions stays small.
//
// A tool is declared by a toolspec, a YAML file, and implemented by a Go function (NewFunction) or
// by a method of a Go type of which every run has its own instance (NewStateful). A worker
// registers both:
//
//	host.Run(ctx, host.Config{Functions: []tool.Function{...}})
//
// The context of a call says which call it is (CallFromContext), takes progress (ReportProgress),
// and
// gives access to secrets (Secret) and to people (Ask). Hooks are Go functions that observe or
// change the calls and runs of the agents that name them.
//
// Errors that a tool returns are told to the model. Errorf makes one of the closed set of types;
// any other error is an execution_error. Transient marks an error that another attempt may cure.
package tool
