// Package hooks calls the hooks that applications register with a worker.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/tool"
	"go.temporal.io/sdk/activity"
)

// nearNames is how many similar names the error for an unknown hook suggests.
const nearNames = 3

// Registry contains the hooks of a worker. A nil *Registry has none.
type Registry struct{ byName map[string]tool.Hook }

// New registers hooks. It returns an error that lists every hook that is nil, has an invalid
// name, or has the name of another hook at any point.
func New(hooks ...tool.Hook) (*Registry, error) {
	byName, err := executor.Register("hook", hooks, func(h *tool.Hook) (string,
		error) {
		return h.Name(), h.Err()
	})
	if err != nil {
		return nil, err
	}
	return &Registry{byName: byName}, nil
}

// Find returns the hook with a name, or an error if no hook of that name runs at the point.
func (r *Registry) Find(point api.HookPoint, name string) (tool.Hook, error) {
	var known []string
	if r != nil {
		if h, ok := r.byName[name]; ok && h.Point() == point {
			return h, nil
		} else if ok {
			return tool.Hook{}, fmt.Errorf("the hook %q is one for %s, not for %s", name,
				h.Point(), point)
		}
		for _, other := range slices.Sorted(maps.Keys(r.byName)) {
			if r.byName[other].Point() == point {
				known = append(known, other)
			}
		}
	}
	if near := spelling.Near(name, known, nearNames); len(near) > 0 {
		return tool.Hook{}, fmt.Errorf("the worker has no hook %q for %s; did you mean %s?",
			name, point, strings.Join(near, ", "))
	}
	return tool.Hook{}, fmt.Errorf("the worker has no hook %q for %s; it has %s", name, point,
		executor.NameList(known))
}

// ListMissing reports the hooks of an agent that this worker does not have.
func (r *Registry) ListMissing(agent *api.Agent) []api.Problem {
	var problems []api.Problem
	for _, p := range hookrules.Points(agent.Hooks) {
		for i, h := range p.Hooks {
			if _, err := r.Find(p.Point, h.Name); err != nil {
				problems = append(problems, api.Problem{Path: fmt.Sprintf("$.hooks.%s[%d]", p.Point,
					i), Rule: "hook", Message: err.Error()})
			}
		}
	}
	return problems
}

// maxText bounds a reason or error text of a hook, in bytes.
const maxText = 2000

// Text prepares a hook's text for history: valid UTF-8 of bounded length.
func Text(text string) string {
	text = executor.ValidText(text)
	return text[:executor.FittingPrefix(text, maxText)]
}

// errTimeout is the cause with which a hook's context ends at its timeout.
var errTimeout = errors.New("the hook's timeout has passed")

// Call runs a hook within its timeout. Its error contains no sensitive values of the call. A hook
// that does not end with its context is abandoned; a hook that panics fails.
func Call[T any](ctx context.Context, h api.Hook, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, hookrules.Timeout(h), errTimeout)
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
				said := executor.RedactorFromContext(ctx).Text(fmt.Sprint(p))
				panics.Note(ctx, nil, panics.Hook, said, "hook", h.Name)
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
	if e.err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		e.err = fmt.Errorf("it did not end within %s", hookrules.Timeout(h))
	}
	return e.out, executor.RedactorFromContext(ctx).Plain(e.err)
}

// Action records that a hook acted.
func Action(h api.Hook, point api.HookPoint, outcome api.HookOutcome,
	reason string) api.HookAction {
	return api.HookAction{Hook: h.Name, Point: point, Outcome: outcome, Reason: Text(reason)}
}

// LogFailure logs the failure of a hook. It does nothing outside an activity.
func LogFailure(ctx context.Context, h api.Hook, point api.HookPoint, err error) {
	if !activity.IsActivity(ctx) {
		return
	}
	call, _ := callcontext.From(ctx)
	activity.GetLogger(ctx).Warn("hook failed", "hook", h.Name, "point", point, "blocks",
		hookrules.Blocks(h, point), "call_id", call.CallID, "error", err)
}

// WithContext adds to ctx what a hook can know about the run and, for hooks of calls, about the
// call.
func WithContext(ctx context.Context, origin api.Origin, parent, call string,
	tool api.Tool) context.Context {
	c := api.CallContext{CallID: call, Tool: tool.Name, Origin: origin, ParentCall: parent,
		Attempt: 1, Timeout: tool.Timeout, Lane: tool.Lane}
	if call != "" {
		c.Key = api.IdempotencyKey(origin.Run, call)
	}
	if activity.IsActivity(ctx) {
		info := activity.GetInfo(ctx)
		c.WorkflowID, c.RunID = info.WorkflowExecution.ID, info.WorkflowExecution.RunID
	}
	if c.Conversation == "" {
		c.Conversation = c.WorkflowID
	}
	return callcontext.With(ctx, c)
}
