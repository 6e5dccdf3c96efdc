package tool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/switchyard/switchyard/api"
)

// Hook is a Go function that runs at one point of the runs whose agents name it. Make it with
// NewBeforeRun, NewMemoryRetrieve, NewBeforeCall, NewAfterCall, NewMemoryWrite or NewAfterRun.
//
// CallFromContext returns which run a hook works for and, for hooks of calls, which call. A hook is
// called from several goroutines at once, and may be called again for the same call or run after a
// worker was lost. When ctx ends, the hook's timeout has passed and its outcome is ignored.
type Hook struct {
	name  string
	point api.HookPoint
	// funcs has the function for the hook's point.
	funcs HookFuncs
	err   error
}

// HookFuncs are a hook's function as its worker calls it: exactly one is set, by the hook's point.
type HookFuncs struct {
	BeginRun   func(context.Context, HookRun) (api.HookAnswer, error)
	EndRun     func(context.Context, HookEnd) error
	BeforeCall func(context.Context, HookCall) (HookDecision, error)
	AfterCall  func(context.Context, HookCall, json.RawMessage) (json.RawMessage, error)
}

// HookRun is what a hook of a run knows about it besides its context.
type HookRun struct {
	// Agent is the agent's name.
	Agent string
	// Prompt holds the first 64 KiB of the user's message that started the run; empty if there is
	// none.
	Prompt string
	// Conversation returns the run's conversation so far, from its first message on. Its error says
	// that the run cannot be queried.
	Conversation func(context.Context) ([]Message, error)
}

// HookEnd is what a hook after a run knows about it.
type HookEnd struct {
	HookRun
	api.RunEnd
}

// HookCall is a call as its hooks see it.
type HookCall struct {
	// ID identifies the call in its run, Tool is the tool's name, and Effect is the effect of
	// calling it twice.
	ID, Tool string
	Effect   api.Effect
	// Arguments are validated, a JSON object. They include the values of sensitive parameters,
	// which a hook must not repeat in errors, reasons or logs. They do not include secrets.
	Arguments json.RawMessage
}

// HookDecision is what a hook decides about a call before it runs. The zero value lets the call
// proceed. At most one field is set.
type HookDecision struct {
	// Block is the reason why the call must not run, which the model reads.
	Block string
	// Arguments, a JSON object, replace those of the call. They are validated like the model's.
	Arguments json.RawMessage
	// Override is the call's output, a JSON value of the declared form: the tool is not called.
	Override json.RawMessage
}

// NewBeforeRun returns a hook that runs before an agent's first model step. A non-empty refusal
// keeps the run from starting and says why.
func NewBeforeRun(name string, f func(ctx context.Context, r HookRun) (refusal string,
	err error)) Hook {
	begin := func(ctx context.Context, r HookRun) (api.HookAnswer, error) {
		refusal, err := f(ctx, r)
		return api.HookAnswer{Refused: refusal}, err
	}
	return newHook(name, api.HookBeforeRun, HookFuncs{BeginRun: begin}, f == nil)
}

// NewMemoryRetrieve returns a hook that runs before an agent's first model step. A non-empty text
// is added to the conversation as a system message before the prompt.
func NewMemoryRetrieve(name string, f func(ctx context.Context, r HookRun) (text string,
	err error)) Hook {
	begin := func(ctx context.Context, r HookRun) (api.HookAnswer, error) {
		text, err := f(ctx, r)
		return api.HookAnswer{Text: text}, err
	}
	return newHook(name, api.HookMemoryRetrieve, HookFuncs{BeginRun: begin}, f == nil)
}

// NewBeforeCall returns a hook that decides about calls before they run.
func NewBeforeCall(name string, f func(ctx context.Context, c HookCall) (HookDecision,
	error)) Hook {
	return newHook(name, api.HookBeforeCall, HookFuncs{BeforeCall: f}, f == nil)
}

// NewAfterCall returns a hook that gets the whole output of calls that succeeded, a JSON value,
// before it is truncated. The JSON value that it returns replaces the output and must have the
// declared form; nil keeps the output.
func NewAfterCall(name string, f func(ctx context.Context, c HookCall,
	output json.RawMessage) (json.RawMessage, error)) Hook {
	return newHook(name, api.HookAfterCall, HookFuncs{AfterCall: f}, f == nil)
}

// NewMemoryWrite returns a hook that runs after a run, to store what is worth remembering. It runs
// before those of NewAfterRun.
func NewMemoryWrite(name string, f func(ctx context.Context, e HookEnd) error) Hook {
	return newHook(name, api.HookMemoryWrite, HookFuncs{EndRun: f}, f == nil)
}

// NewAfterRun returns a hook that runs after a run.
func NewAfterRun(name string, f func(ctx context.Context, e HookEnd) error) Hook {
	return newHook(name, api.HookAfterRun, HookFuncs{EndRun: f}, f == nil)
}

func newHook(name string, point api.HookPoint, funcs HookFuncs, isNil bool) Hook {
	return Hook{name: name, point: point, funcs: funcs, err: rejectNil(isNil, "the function")}
}

// Name returns the name by which agents refer to the hook.
func (h Hook) Name() string { return h.name }

// Point returns the point of a run at which the hook runs.
func (h Hook) Point() api.HookPoint { return h.point }

// Funcs returns the hook's function, for workers and for tests.
func (h Hook) Funcs() HookFuncs { return h.funcs }

// Err returns why the hook cannot be registered; nil if it can.
func (h Hook) Err() error {
	if h.err == nil && h.point == "" {
		return errors.New("it is the zero Hook; make it with NewBeforeRun, NewBeforeCall or another constructor")
	}
	return h.err
}
