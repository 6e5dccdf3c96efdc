package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
)

// Hook is a Go function that runs at one point of the runs whose agents name it. Make one with the function that is called
// as the point is: NewBeforeRun, NewMemoryRetrieve, NewBeforeCall, NewAfterCall, NewMemoryWrite, NewAfterRun.
//
// switchyard.ContextOf tells a hook whose run it works for, and hooks of calls whose call. A hook is called from several
// goroutines at once, and may be called again for the same call or run where a worker was lost. When ctx ends its time is
// over, and what it does after that counts for nothing.
type Hook struct {
	name  string
	point api.HookPoint
	// One of these is set, by the point.
	begin  func(context.Context, HookRun) (api.HookAnswer, error)
	before func(context.Context, HookCall) (HookDecision, error)
	after  func(context.Context, HookCall, json.RawMessage) (json.RawMessage, error)
	end    func(context.Context, HookEnd) error
	// fault is why the hook cannot be registered.
	fault error
}

// HookRun is what a hook of a run knows of it, beside its context.
type HookRun struct {
	// Agent is the agent's name.
	Agent string
	// Prompt is the user's message that the run started with, its first 64 KiB; empty where there is none.
	Prompt       string
	conversation func(context.Context) ([]api.Message, error)
}

// Conversation returns the run's conversation so far, from its first message on. The error says that the run cannot be asked.
func (r HookRun) Conversation(ctx context.Context) ([]api.Message, error) {
	return r.conversation(ctx)
}

// HookEnd is what a hook after a run knows of it.
type HookEnd struct {
	HookRun
	api.RunEnd
}

// HookCall is a call as its hooks see it.
type HookCall struct {
	// ID is the call's, Tool its tool's name, and Effect what calling that twice would do.
	ID, Tool string
	Effect   api.Effect
	// Arguments are validated, a JSON object. Values of sensitive parameters are among them; what a hook says in an error, a
	// reason or a log must not repeat those. Secrets of a tool's spec are not.
	Arguments json.RawMessage
}

// HookVerdict is what a hook decides about a call before it runs. The zero value lets it proceed; at most one field is set.
type HookDecision struct {
	// Block is why the call must not run. The model is told.
	Block string
	// Arguments, a JSON object, replace those of the call. They are validated like the model's own.
	Arguments json.RawMessage
	// Override, a JSON value of the form that the tool declares, is the call's answer: the tool is not called.
	Override json.RawMessage
}

// NewBeforeRun makes a hook that runs before an agent's first model step. A refusal that is not empty is why the run must not
// begin.
func NewBeforeRun(name string, f func(ctx context.Context, r HookRun) (refusal string, err error)) Hook {
	return Hook{name: name, point: api.HookBeforeRun, fault: noFunction(f == nil),
		begin: func(ctx context.Context, r HookRun) (api.HookAnswer, error) {
			refusal, err := f(ctx, r)
			return api.HookAnswer{Refused: refusal}, err
		}}
}

// NewMemoryRetrieve makes a hook that runs before an agent's first model step. The text that it returns stands in the run's
// conversation, as a message of the role system before the prompt; an empty one does not.
func NewMemoryRetrieve(name string, f func(ctx context.Context, r HookRun) (text string, err error)) Hook {
	return Hook{name: name, point: api.HookMemoryRetrieve, fault: noFunction(f == nil),
		begin: func(ctx context.Context, r HookRun) (api.HookAnswer, error) {
			text, err := f(ctx, r)
			return api.HookAnswer{Text: text}, err
		}}
}

// NewBeforeCall makes a hook that decides about calls before they run.
func NewBeforeCall(name string, f func(ctx context.Context, c HookCall) (HookDecision, error)) Hook {
	return Hook{name: name, point: api.HookBeforeCall, before: f, fault: noFunction(f == nil)}
}

// NewAfterCall makes a hook that sees the whole output of calls that succeeded, a JSON value, before it is cut to size. What
// it returns, a JSON value of the form that the tool declares, takes the output's place; nil leaves it.
func NewAfterCall(name string, f func(ctx context.Context, c HookCall, output json.RawMessage) (json.RawMessage, error)) Hook {
	return Hook{name: name, point: api.HookAfterCall, after: f, fault: noFunction(f == nil)}
}

// NewMemoryWrite makes a hook that is told how a run ended, to remember what of it is worth that. It comes before those of
// NewAfterRun.
func NewMemoryWrite(name string, f func(ctx context.Context, e HookEnd) error) Hook {
	return Hook{name: name, point: api.HookMemoryWrite, end: f, fault: noFunction(f == nil)}
}

// NewAfterRun makes a hook that is told how a run ended.
func NewAfterRun(name string, f func(ctx context.Context, e HookEnd) error) Hook {
	return Hook{name: name, point: api.HookAfterRun, end: f, fault: noFunction(f == nil)}
}

func noFunction(missing bool) error {
	if missing {
		return errors.New("the function is nil")
	}
	return nil
}

// Hooks are the hooks that a worker has registered. A nil one has none.
type Hooks struct{ byName map[string]Hook }

// NewHooks registers hooks. The error names every one that is nil or has an illegal name or another's, at whichever point.
func NewHooks(hooks ...Hook) (*Hooks, error) {
	byName, err := named("hook", hooks, func(h Hook) (string, error) {
		if h.fault == nil && h.point == "" {
			return h.name, errors.New("make it with NewBeforeRun, NewBeforeCall or another of their kind")
		}
		return h.name, h.fault
	})
	if err != nil {
		return nil, err
	}
	return &Hooks{byName: byName}, nil
}

// find returns the hook of a name, or why none of that name runs at the point.
func (r *Hooks) find(point api.HookPoint, name string) (Hook, error) {
	var known []string
	if r != nil {
		if h, ok := r.byName[name]; ok && h.point == point {
			return h, nil
		} else if ok {
			return Hook{}, fmt.Errorf("the hook %q is one for %s, not for %s", name, h.point, point)
		}
		for _, other := range slices.Sorted(maps.Keys(r.byName)) {
			if r.byName[other].point == point {
				known = append(known, other)
			}
		}
	}
	if near := spelling.Near(name, known, nearNames); len(near) > 0 {
		return Hook{}, fmt.Errorf("the worker has no hook %q for %s; did you mean %s?", name, point, strings.Join(near, ", "))
	}
	return Hook{}, fmt.Errorf("the worker has no hook %q for %s; it has %s", name, point, nameList(known))
}

// missingHooks reports the hooks of an agent that this worker does not have.
func (a *Activities) missingHooks(agent *api.Agent) []api.Problem {
	var problems []api.Problem
	for _, p := range agent.Hooks.Points() {
		for i, h := range p.Hooks {
			if _, err := a.config.Hooks.find(p.Point, h.Name); err != nil {
				problems = append(problems, api.Problem{Path: fmt.Sprintf("$.hooks.%s[%d]", p.Point, i), Rule: "hook", Message: err.Error()})
			}
		}
	}
	return problems
}

// maxHookText bounds what a hook says of itself, a reason or an error, in bytes.
const maxHookText = 2000

// hookText makes a hook's text fit for history.
func hookText(text string) string {
	text = validText(text)
	return text[:fitting(text, maxHookText)]
}

// errHookTimeout is the cause of the end of a hook's context when its time is over.
var errHookTimeout = errors.New("the hook's timeout has passed")

// inTime runs a hook within its timeout. What must not show of its call is not in its error. One that does not end when its context does is left behind; one that panics fails.
func inTime[T any](ctx context.Context, h api.Hook, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Within(), errHookTimeout)
	defer cancel()
	type ended struct {
		out T
		err error
	}
	done := make(chan ended, 1)
	go func() {
		var e ended
		defer func() {
			if p := recover(); p != nil {
				said := hidingOf(ctx).text(fmt.Sprint(p))
				slog.ErrorContext(ctx, "hook panicked", "hook", h.Name, "panic", said, "stack", string(debug.Stack()))
				e.err = fmt.Errorf("it panicked: %s", said)
			}
			done <- e
		}()
		e.out, e.err = f(ctx)
	}()
	var e ended
	select {
	case e = <-done:
	case <-ctx.Done():
		e.err = context.Cause(ctx)
	}
	if e.err != nil && errors.Is(context.Cause(ctx), errHookTimeout) {
		e.err = fmt.Errorf("it did not end within %s", h.Within())
	}
	return e.out, hidingOf(ctx).plain(e.err)
}
