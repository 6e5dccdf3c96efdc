// Package panics contains panics: one that a call, a request or the message of a foreign server
// causes ends that call, request or connection, not the process with those of others.
package panics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"runtime/debug"
	"sync"
)

// Place is where a panic was recovered: the value of a metric's label.
type Place string

// The places.
const (
	// Tool is a call of a tool, Model a step of a model.
	Tool      Place = "tool"
	Model     Place = "model"
	Hook      Place = "hook"
	Admission Place = "admission"
	Instance  Place = "instance"
	// Activity is any other activity.
	Activity Place = "activity"
	// MCP is the client of MCP servers.
	MCP     Place = "mcp"
	Gateway Place = "gateway"
	// Command is a command of starter.
	Command Place = "command"
)

// InWorkers are the places of a worker.
var InWorkers = []Place{Tool, Model, Hook, Admission, Instance, Activity, MCP}

var counted struct {
	mu      sync.Mutex
	byPlace map[Place]int64
}

// Counts returns how many panics this process has recovered, by place.
func Counts() map[Place]int64 {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	return maps.Clone(counted.byPlace)
}

// Note counts a recovered panic and logs it with its stack. The deferred function that recovered
// calls it. text is what the panic said, without secrets. A nil logger is slog's default.
func Note(ctx context.Context, log *slog.Logger, place Place, text string, args ...any) {
	counted.mu.Lock()
	if counted.byPlace == nil {
		counted.byPlace = map[Place]int64{}
	}
	counted.byPlace[place]++
	counted.mu.Unlock()
	if log == nil {
		log = slog.Default()
	}
	log.ErrorContext(ctx, "a panic was recovered", append([]any{"place", place, "panic", text,
		"stack", string(debug.Stack())}, args...)...)
}

// Contain recovers a panic, counts and logs it, and calls fail, unless it is nil, with an error in
// its place. It is to be deferred itself. log and args are those of Note.
func (place Place) Contain(ctx context.Context, log *slog.Logger, fail func(error), args ...any) {
	if cause := recover(); cause != nil {
		Note(ctx, log, place, Text(cause), args...)
		if fail != nil {
			fail(Err)
		}
	}
}

// Text describes a panic without the values that it may hold.
func Text(cause any) string {
	if failed, ok := cause.(runtime.Error); ok {
		return failed.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}

// Err stands for a panic where nothing better is known.
var Err = errors.New("a panic inside this program, which its log explains")
