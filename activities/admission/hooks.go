package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/tool"
)

// Bounds of what hooks add to the decisions of one admission, in bytes as written into history: for
// one call, and for all calls before the remaining ones are left to another admission.
const (
	maxHooked    = 256 << 10
	maxAllHooked = 2 * maxHooked
)

// beforeCalls runs the hooks before calls for all admitted calls in parallel. It returns the error
// of ctx.
func (a *Admitter) beforeCalls(ctx context.Context, all *turnAdmission) error {
	if len(all.Hooks) == 0 {
		return nil
	}
	r := all.AdmissionRequest
	var running sync.WaitGroup
	for i, v := range all.decisions {
		if before := hookrules.For(r.Hooks, r.Calls[i].Tool); v.Error == nil && len(before) > 0 {
			running.Go(func() { all.decisions[i] = a.beforeCall(ctx, r, r.Calls[i], v, before) })
		}
	}
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// fitRecord keeps the first decisions, as many as fit into one marker.
func (a *Admitter) fitRecord(_ context.Context, all *turnAdmission) error {
	size := 0
	for i, v := range all.decisions {
		if len(v.Hooks)+len(v.Policies) > 0 || v.Approval != nil {
			size += recordedSize(v)
		}
		if i > 0 && size > maxAllHooked {
			all.decisions = all.decisions[:i]
			return nil
		}
	}
	return nil
}

// recordedSize returns the size of a value in history, in bytes.
func recordedSize(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return api.MaxPayload
	}
	return len(data)
}

// beforeCall runs the hooks before one call in order. Each hook sees the arguments that the
// previous one left.
func (a *Admitter) beforeCall(ctx context.Context, r api.AdmissionRequest, c api.Call,
	v api.AdmissionDecision, before []api.Hook) (out api.AdmissionDecision) {
	out = v
	defer containPanic(ctx, c, &out)
	tool, _ := findTool(r, c.Tool)
	ctx = hooks.WithContext(ctx, *r.Origin, r.Parent, c.ID, tool)
	if len(v.Arguments) > 0 {
		c.Arguments = string(v.Arguments)
	}
	if compiled, err := a.config.Specs.Of(tool); err == nil { // the call was admitted by it
		ctx = executor.WithRedactor(ctx, executor.NewRedactor(compiled,
			json.RawMessage(c.Arguments)))
	}
	for _, h := range before {
		next, err := a.decide(ctx, r, c, v, h)
		if err != nil {
			next = v
			next.Hooks = append(slices.Clone(v.Hooks), hooks.Action(h, api.HookBeforeCall,
				api.HookFailed, err.Error()))
			hooks.LogFailure(ctx, h, api.HookBeforeCall, err)
			if hookrules.Blocks(h, api.HookBeforeCall) {
				next.Error = newHookError("the hook %q before the call failed: %s", h.Name,
					hooks.Text(err.Error()))
			}
		}
		if v = next; v.Error != nil || v.Result != nil {
			return omitExecution(v)
		}
		if len(v.Arguments) > 0 {
			c.Arguments = string(v.Arguments)
		}
	}
	return v
}

// omitExecution reduces a decision to what a call needs that does not run.
func omitExecution(v api.AdmissionDecision) api.AdmissionDecision {
	return api.AdmissionDecision{ID: v.ID, Arguments: v.Arguments, Notes: v.Notes, Tokens: v.Tokens,
		Plan: v.Plan, Hooks: v.Hooks,
		Policies: v.Policies, Labels: v.Labels, Sources: v.Sources, Result: v.Result,
		Error: v.Error}
}

// decide returns the decision as one hook changes it. The error is the hook's failure.
func (a *Admitter) decide(ctx context.Context, r api.AdmissionRequest, c api.Call,
	v api.AdmissionDecision, h api.Hook) (api.AdmissionDecision, error) {
	registered, err := a.config.Hooks.Find(api.HookBeforeCall, h.Name)
	if err != nil {
		return v, err
	}
	called, _ := findTool(r, c.Tool)
	call := tool.HookCall{ID: c.ID, Tool: c.Tool, Effect: called.Effect,
		Arguments: json.RawMessage(c.Arguments)}
	decided, err := hooks.Call(ctx, h, func(ctx context.Context) (tool.HookDecision, error) {
		return registered.Funcs().BeforeCall(ctx, call)
	})
	if err != nil {
		return v, err
	}
	v.Hooks = slices.Clone(v.Hooks)
	switch {
	case several(decided):
		return v, errors.New("it sets several of Block, Arguments and Override; set exactly one")
	case decided.Block != "":
		reason := hooks.Text(executor.RedactorFromContext(ctx).Text(decided.Block))
		v.Hooks = append(v.Hooks, hooks.Action(h, api.HookBeforeCall, api.HookBlocked, reason))
		v.Error = newHookError("the hook %q says: %s", h.Name, reason)
	case decided.Override != nil:
		return a.override(ctx, called, v, h, decided.Override)
	case decided.Arguments != nil:
		return a.rewrite(r, c, v, h, decided.Arguments)
	}
	return v, nil
}

func several(v tool.HookDecision) bool {
	n := 0
	for _, set := range []bool{v.Block != "", v.Arguments != nil, v.Override != nil} {
		if set {
			n++
		}
	}
	return n > 1
}

func newHookError(format string, args ...any) *api.Error {
	e := api.Errorf(api.ErrBlockedByHook, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// override runs the phase post_execution for a hook's answer, as for a tool's.
func (a *Admitter) override(ctx context.Context, tool api.Tool, v api.AdmissionDecision,
	h api.Hook, output json.RawMessage) (api.AdmissionDecision, error) {
	compiled, err := a.config.Specs.Of(tool)
	if err != nil {
		return v, err
	}
	answer, err := results.HookOutput(compiled, output)
	if err != nil {
		return v, err
	}
	answer.Notes = v.Notes
	result := a.config.Results.Bound(ctx, compiled, answer)
	if n := recordedSize(result); n > maxHooked {
		return v, fmt.Errorf("its answer takes %d bytes in history; at most %d are allowed", n, maxHooked)
	}
	v.Result = &result
	v.Hooks = append(v.Hooks, hooks.Action(h, api.HookBeforeCall, api.HookOverrode, ""))
	return v, nil
}

// rewrite admits a call again with a hook's arguments, which may have another key of the lane or
// ask another question.
func (a *Admitter) rewrite(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision,
	h api.Hook, arguments json.RawMessage) (api.AdmissionDecision, error) {
	c.Arguments, c.Plan = string(arguments), v.Plan
	next := a.preValidate(r, c)
	if e := next.Error; e != nil {
		return v, fmt.Errorf("it changed the arguments to invalid ones: %s: %s", e.Message,
			results.ProblemList(e.Problems))
	}
	if len(next.Arguments) == 0 {
		next.Arguments = arguments
	}
	if n := recordedSize(next.Arguments); n > maxHooked {
		return v, fmt.Errorf("its arguments take %d bytes in history; at most %d are allowed", n,
			maxHooked)
	}
	next.Notes = append(slices.DeleteFunc(next.Notes,
		func(n string) bool { return slices.Contains(v.Notes, n) }),
		fmt.Sprintf("the hook %s changed the arguments", h.Name))
	next.Notes = slices.Concat(v.Notes, next.Notes)
	next.Hooks = append(v.Hooks, hooks.Action(h, api.HookBeforeCall, api.HookModified, ""))
	return next, nil
}
