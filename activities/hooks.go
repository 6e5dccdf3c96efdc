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

// Hooks are the hooks that a worker has registered. A nil *Hooks has none.
type Hooks struct{ byName map[string]switchyard.Hook }

// NewHooks registers hooks. It returns an error that lists every hook that is nil, has an invalid
// name, or has the name of another hook at any point.
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

// find returns the hook with a name, or an error if no hook of that name runs at the point.
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

// maxHookText bounds a reason or error text of a hook, in bytes.
const maxHookText = 2000

// hookText prepares a hook's text for history.
func hookText(text string) string {
	text = executor.ValidText(text)
	return text[:executor.FittingPrefix(text, maxHookText)]
}

// errHookTimeout is the cause with which a hook's context ends at its timeout.
var errHookTimeout = errors.New("the hook's timeout has passed")

// inTime runs a hook within its timeout. Its error contains no sensitive values of the call. A hook
// that does not end with its context is abandoned; a hook that panics fails.
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
