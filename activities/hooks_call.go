package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// Bounds of what hooks add to the decisions of one admission, in bytes as written into history: for
// one call, and for all calls before the remaining ones are left to another admission.
const (
	maxHooked    = 256 << 10
	maxAllHooked = 2 * maxHooked
)

// beforeCalls runs the hooks before calls for all admitted calls in parallel. It returns the error
// of ctx.
func (a *Activities) beforeCalls(ctx context.Context, r api.AdmissionRequest,
	decisions []api.AdmissionDecision) ([]api.AdmissionDecision, error) {
	if len(r.Hooks) == 0 {
		return decisions, nil
	}
	var all sync.WaitGroup
	for i, v := range decisions {
		if hooks := api.HooksFor(r.Hooks, r.Calls[i].Tool); v.Error == nil && len(hooks) > 0 {
			all.Go(func() { decisions[i] = a.beforeCall(ctx, r, r.Calls[i], v, hooks) })
		}
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return decisions, nil
}

// recordable returns the first decisions, as many as fit into one marker.
func recordable(decisions []api.AdmissionDecision) []api.AdmissionDecision {
	size := 0
	for i, v := range decisions {
		if len(v.Hooks)+len(v.Policies) > 0 || v.Approval != nil {
			size += recordedSize(v)
		}
		if i > 0 && size > maxAllHooked {
			return decisions[:i]
		}
	}
	return decisions
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
func (a *Activities) beforeCall(ctx context.Context, r api.AdmissionRequest, c api.Call,
	v api.AdmissionDecision, hooks []api.Hook) api.AdmissionDecision {
	tool, _ := toolOf(r, c.Tool)
	ctx = withHookContext(ctx, *r.Origin, r.Parent, c.ID, tool)
	if len(v.Arguments) > 0 {
		c.Arguments = string(v.Arguments)
	}
	if compiled, err := a.specs.of(tool); err == nil { // the call was admitted by it
		ctx = executor.WithRedactor(ctx, executor.NewRedactor(compiled,
			json.RawMessage(c.Arguments)))
	}
	for _, h := range hooks {
		next, err := a.decide(ctx, r, c, v, h)
		if err != nil {
			next = v
			next.Hooks = append(slices.Clone(v.Hooks), acted(h, api.HookBeforeCall, api.HookFailed,
				err.Error()))
			logHook(ctx, h, api.HookBeforeCall, err)
			if h.Blocks(api.HookBeforeCall) {
				next.Error = blocked("the hook %q before the call failed: %s", h.Name,
					hookText(err.Error()))
			}
		}
		if v = next; v.Error != nil || v.Result != nil {
			return stopped(v)
		}
		if len(v.Arguments) > 0 {
			c.Arguments = string(v.Arguments)
		}
	}
	return v
}

// stopped reduces a decision to what a call needs that does not run.
func stopped(v api.AdmissionDecision) api.AdmissionDecision {
	return api.AdmissionDecision{ID: v.ID, Arguments: v.Arguments, Notes: v.Notes, Tokens: v.Tokens,
		Plan: v.Plan, Hooks: v.Hooks,
		Policies: v.Policies, Labels: v.Labels, Result: v.Result, Error: v.Error}
}

// decide returns the decision as one hook changes it. The error is the hook's failure.
func (a *Activities) decide(ctx context.Context, r api.AdmissionRequest, c api.Call,
	v api.AdmissionDecision, h api.Hook) (api.AdmissionDecision, error) {
	registered, err := a.config.Hooks.find(api.HookBeforeCall, h.Name)
	if err != nil {
		return v, err
	}
	tool, _ := toolOf(r, c.Tool)
	call := switchyard.HookCall{ID: c.ID, Tool: c.Tool, Effect: tool.Effect,
		Arguments: json.RawMessage(c.Arguments)}
	decided, err := inTime(ctx, h, func(ctx context.Context) (switchyard.HookDecision, error) {
		return registered.Funcs().BeforeCall(ctx, call)
	})
	if err != nil {
		return v, err
	}
	v.Hooks = slices.Clone(v.Hooks)
	switch {
	case several(decided):
		return v, errors.New("it decided several things at once; a verdict has one of Block, Arguments and Override")
	case decided.Block != "":
		reason := hookText(executor.RedactorOf(ctx).Text(decided.Block))
		v.Hooks = append(v.Hooks, acted(h, api.HookBeforeCall, api.HookBlocked, reason))
		v.Error = blocked("the hook %q says: %s", h.Name, reason)
	case decided.Override != nil:
		return a.override(ctx, tool, v, h, decided.Override)
	case decided.Arguments != nil:
		return a.rewrite(r, c, v, h, decided.Arguments)
	}
	return v, nil
}

func several(v switchyard.HookDecision) bool {
	n := 0
	for _, set := range []bool{v.Block != "", v.Arguments != nil, v.Override != nil} {
		if set {
			n++
		}
	}
	return n > 1
}

func blocked(format string, args ...any) *api.Error {
	e := api.Errorf(api.ErrBlockedByHook, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// override runs the phase post_execution for a hook's answer, as for a tool's.
func (a *Activities) override(ctx context.Context, tool api.Tool, v api.AdmissionDecision,
	h api.Hook, output json.RawMessage) (api.AdmissionDecision, error) {
	compiled, err := a.specs.of(tool)
	if err != nil {
		return v, err
	}
	answer, err := hookOutput(compiled, output)
	if err != nil {
		return v, err
	}
	answer.Notes = v.Notes
	result := a.sized(ctx, compiled, answer)
	if n := recordedSize(result); n > maxHooked {
		return v, fmt.Errorf("its answer takes %d bytes in history, and may take %d", n, maxHooked)
	}
	v.Result = &result
	v.Hooks = append(v.Hooks, acted(h, api.HookBeforeCall, api.HookOverrode, ""))
	return v, nil
}

// hookOutput returns a hook's output if it is valid by the tool's output schema.
func hookOutput(compiled *toolspecs.Compiled, output json.RawMessage) (executor.Answer, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, bytes.ToValidUTF8(output, []byte("\uFFFD"))); err != nil {
		return executor.Answer{}, fmt.Errorf("its answer is no JSON value: %w", err)
	}
	if problems := compiled.CheckOutput(b.Bytes()); len(problems) > 0 {
		return executor.Answer{},
			fmt.Errorf("its answer does not have the form that %s declares: %s", compiled.Spec.Name,
				listed(problems))
	}
	return executor.Answer{Output: b.Bytes()}, nil
}

// listed formats some problems as one line.
func listed(problems []api.Problem) string {
	const most = 5
	var texts []string
	for _, p := range problems[:min(len(problems), most)] {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "; ")
}

// rewrite admits a call again with a hook's arguments, which may have another key of the lane or
// ask another question.
func (a *Activities) rewrite(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision,
	h api.Hook, arguments json.RawMessage) (api.AdmissionDecision, error) {
	c.Arguments, c.Plan = string(arguments), v.Plan
	next := a.preValidate(r, c)
	if e := next.Error; e != nil {
		return v, fmt.Errorf("it changed the arguments to some that are refused: %s: %s", e.Message,
			listed(e.Problems))
	}
	if len(next.Arguments) == 0 {
		next.Arguments = arguments
	}
	if n := recordedSize(next.Arguments); n > maxHooked {
		return v, fmt.Errorf("its arguments take %d bytes in history, and may take %d", n,
			maxHooked)
	}
	next.Notes = append(slices.DeleteFunc(next.Notes,
		func(n string) bool { return slices.Contains(v.Notes, n) }),
		fmt.Sprintf("the hook %s changed the arguments", h.Name))
	next.Notes = slices.Concat(v.Notes, next.Notes)
	next.Hooks = append(v.Hooks, acted(h, api.HookBeforeCall, api.HookModified, ""))
	return next, nil
}

func acted(h api.Hook, point api.HookPoint, did api.HookOutcome, reason string) api.HookAction {
	return api.HookAction{Hook: h.Name, Point: point, Outcome: did, Reason: hookText(reason)}
}

func logHook(ctx context.Context, h api.Hook, point api.HookPoint, err error) {
	if !activity.IsActivity(ctx) {
		return
	}
	call, _ := api.ContextOf(ctx)
	activity.GetLogger(ctx).Warn("hook failed", "hook", h.Name, "point", point, "blocks",
		h.Blocks(point), "call_id", call.CallID, "error", err)
}

// withHookContext adds to ctx what a hook can know about the run and, for hooks of calls, about the
// call.
func withHookContext(ctx context.Context, origin api.Origin, parent, call string,
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
	return api.WithCallContext(ctx, c)
}

// hooked is an executed call for its hooks after the call; ctx is the call's context.
type hooked struct {
	ctx   context.Context
	hooks []api.Hook
	call  switchyard.HookCall
}

// postExecute is the phase post_execution: it checks the output, runs the hooks after the call,
// truncates the output and counts its tokens. It checks output from hooks like that of the tool.
func (a *Activities) postExecute(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer, h hooked) (api.Result, *api.Error) {
	answer, failure := checked(compiled, answer)
	if failure != nil {
		return api.Result{}, failure
	}
	var actions []api.HookAction
	for _, hook := range h.hooks {
		output, err := a.afterCall(h, hook, compiled, answer.Output)
		switch {
		case err == nil && output == nil:
			continue
		case err == nil:
			answer.Output = output
			actions = append(actions, acted(hook, api.HookAfterCall, api.HookModified, ""))
			continue
		}
		logHook(h.ctx, hook, api.HookAfterCall, err)
		if hook.Blocks(api.HookAfterCall) {
			e := api.Errorf(api.ErrExecution,
				"%s answered, but the hook %q after the call failed, and so its answer is not told: %s",
				compiled.Spec.Name, hook.Name, hookText(err.Error()))
			e.Phase = api.PhasePostExecution
			return api.Result{}, e
		}
		actions = append(actions, acted(hook, api.HookAfterCall, api.HookFailed, err.Error()))
	}
	result := a.sized(ctx, compiled, answer)
	result.Hooks = actions
	return result, nil
}

// afterCall runs one hook after a call. It returns the replacement of the output, or nil.
func (a *Activities) afterCall(h hooked, hook api.Hook, compiled *toolspecs.Compiled,
	output json.RawMessage) (json.RawMessage, error) {
	registered, err := a.config.Hooks.find(api.HookAfterCall, hook.Name)
	if err != nil {
		return nil, err
	}
	changed, err := inTime(h.ctx, hook, func(ctx context.Context) (json.RawMessage, error) {
		return registered.Funcs().AfterCall(ctx, h.call, slices.Clone(output))
	})
	if err != nil || changed == nil {
		return nil, err
	}
	answer, err := hookOutput(compiled, changed)
	return answer.Output, err
}

// unexecuted returns a call that a person or a sub-agent answered instead of an executor, for its
// hooks after the call.
func unexecuted(ctx context.Context, origin api.Origin, parent, id string, tool api.Tool,
	arguments json.RawMessage, hooks []api.Hook) hooked {
	if len(hooks) == 0 {
		return hooked{}
	}
	return hooked{ctx: withHookContext(ctx, origin, parent, id, tool), hooks: hooks,
		call: switchyard.HookCall{ID: id, Tool: tool.Name, Effect: tool.Effect,
			Arguments: arguments}}
}
