package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
)

// Hooks are the hooks that a worker has registered. A nil one has none.
type Hooks struct{ byName map[string]switchyard.Hook }

// NewHooks registers hooks. The error names every one that is nil or has an illegal name or
// another's, at whichever point.
func NewHooks(hooks ...switchyard.Hook) (*Hooks, error) {
	byName, err := executor.Register("hook", hooks, func(h *switchyard.Hook) (string,
		error) {
		return h.Name(), h.Err()
	})
	if err != nil {
		return nil, err
	}
	return &Hooks{byName: byName}, nil
}

// find returns the hook of a name, or why none of that name runs at the point.
func (r *Hooks) find(point api.HookPoint, name string) (switchyard.Hook, error) {
	var known []string
	if r != nil {
		if h, ok := r.byName[name]; ok && h.Point() == point {
			return h, nil
		} else if ok {
			return switchyard.Hook{}, fmt.Errorf("the hook %q is one for %s, not for %s", name,
				h.Point(), point)
		}
		for _, other := range slices.Sorted(maps.Keys(r.byName)) {
			if r.byName[other].Point() == point {
				known = append(known, other)
			}
		}
	}
	if near := spelling.Near(name, known, nearNames); len(near) > 0 {
		return switchyard.Hook{}, fmt.Errorf("the worker has no hook %q for %s; did you mean %s?",
			name, point, strings.Join(near, ", "))
	}
	return switchyard.Hook{}, fmt.Errorf("the worker has no hook %q for %s; it has %s", name, point,
		executor.NameList(known))
}

// missingHooks reports the hooks of an agent that this worker does not have.
func (a *Activities) missingHooks(agent *api.Agent) []api.Problem {
	var problems []api.Problem
	for _, p := range agent.Hooks.Points() {
		for i, h := range p.Hooks {
			if _, err := a.config.Hooks.find(p.Point, h.Name); err != nil {
				problems = append(problems, api.Problem{Path: fmt.Sprintf("$.hooks.%s[%d]", p.Point,
					i), Rule: "hook", Message: err.Error()})
			}
		}
	}
	return problems
}

// maxHookText bounds what a hook says of itself, a reason or an error, in bytes.
const maxHookText = 2000

// hookText makes a hook's text fit for history.
func hookText(text string) string {
	text = executor.ValidText(text)
	return text[:executor.FittingPrefix(text, maxHookText)]
}

// errHookTimeout is the cause of the end of a hook's context when its time is over.
var errHookTimeout = errors.New("the hook's timeout has passed")

// inTime runs a hook within its timeout. What must not show of its call is not in its error. One
// that does not end when its context does is left behind; one that panics fails.
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
				said := executor.RedactorOf(ctx).Text(fmt.Sprint(p))
				slog.ErrorContext(ctx, "hook panicked", "hook", h.Name, "panic", said, "stack",
					string(debug.Stack()))
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
	return e.out, executor.RedactorOf(ctx).Plain(e.err)
}
