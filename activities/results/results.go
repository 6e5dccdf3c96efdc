// Package results implements the phase post_execution: it checks the output of calls, runs the
// hooks after them, truncates and stores large outputs, and counts tokens.
package results

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// Config configures a Processor.
type Config struct {
	// Hooks are the hooks that agents may name; may be nil.
	Hooks *hooks.Registry
	// Keep stores a whole result that a run holds only in part, and returns a reference to it; nil
	// disables this.
	Keep func(ctx context.Context, output json.RawMessage) (reference string, err error)
}

// Processor makes the results of calls from the answers of executors, people, sub-agents and hooks.
type Processor struct{ config Config }

// New returns a processor.
func New(c Config) *Processor { return &Processor{config: c} }

// Call is a call with its hooks after the call. Context is the call's context. Without hooks, only
// the arguments of the call are set.
type Call struct {
	Context context.Context
	Hooks   []api.Hook
	Call    tool.HookCall
}

// Process runs the phase post_execution: it checks the output, runs the hooks after the call,
// truncates the output and counts its tokens. It checks output from hooks like that of the tool.
// The conditions of labels are evaluated on the output after hooks, before it is truncated.
func (p *Processor) Process(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer, c Call) (api.Result, *api.Error) {
	answer, failure := checkOutput(compiled, answer)
	if failure != nil {
		return api.Result{}, failure
	}
	var actions []api.HookAction
	for _, hook := range c.Hooks {
		output, err := p.afterCall(c, hook, compiled, answer.Output)
		switch {
		case err == nil && output == nil:
			continue
		case err == nil:
			answer.Output = output
			actions = append(actions, hooks.Action(hook, api.HookAfterCall, api.HookModified, ""))
			continue
		}
		hooks.LogFailure(c.Context, hook, api.HookAfterCall, err)
		if hookrules.Blocks(hook, api.HookAfterCall) {
			e := api.Errorf(api.ErrExecution,
				"%s answered, but its answer is withheld because the hook %q after the call failed: %s",
				compiled.Spec.Name, hook.Name, hooks.Text(err.Error()))
			e.Phase = api.PhasePostExecution
			return api.Result{}, e
		}
		actions = append(actions, hooks.Action(hook, api.HookAfterCall, api.HookFailed,
			err.Error()))
	}
	result := p.Bound(ctx, compiled, answer)
	result.Hooks = actions
	result.NotEmitted = compiled.Emissions().NotEmitted(c.Call.Arguments, answer.Output)
	result.Cleared = compiled.Spec.Clears
	return result, nil
}

// afterCall runs one hook after a call. It returns the replacement of the output, or nil.
func (p *Processor) afterCall(c Call, hook api.Hook, compiled *toolspecs.Compiled,
	output json.RawMessage) (json.RawMessage, error) {
	registered, err := p.config.Hooks.Find(api.HookAfterCall, hook.Name)
	if err != nil {
		return nil, err
	}
	changed, err := hooks.Call(c.Context, hook, func(ctx context.Context) (json.RawMessage, error) {
		return registered.Funcs().AfterCall(ctx, c.Call, slices.Clone(output))
	})
	if err != nil || changed == nil {
		return nil, err
	}
	answer, err := HookOutput(compiled, changed)
	return answer.Output, err
}

// NewAnsweredCall returns a call that a person or a sub-agent answered instead of an executor, for
// its
// hooks after the call.
func NewAnsweredCall(ctx context.Context, origin api.Origin, parent, id string, t api.Tool,
	arguments json.RawMessage, after []api.Hook) Call {
	if len(after) == 0 {
		return Call{Call: tool.HookCall{Arguments: arguments}}
	}
	return Call{Context: hooks.WithContext(ctx, origin, parent, id, t), Hooks: after,
		Call: tool.HookCall{ID: id, Tool: t.Name, Effect: t.Effect,
			Arguments: arguments}}
}

// HookOutput returns a hook's output as an answer. It returns an error if the output is not valid
// by the tool's output schema.
func HookOutput(compiled *toolspecs.Compiled, output json.RawMessage) (executor.Answer, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, bytes.ToValidUTF8(output, []byte("\uFFFD"))); err != nil {
		return executor.Answer{}, fmt.Errorf("its answer is not a JSON value: %w", err)
	}
	if problems := compiled.CheckOutput(b.Bytes()); len(problems) > 0 {
		return executor.Answer{},
			fmt.Errorf("its answer does not have the form that %s declares: %s", compiled.Spec.Name,
				ProblemList(problems))
	}
	return executor.Answer{Output: b.Bytes()}, nil
}

// ProblemList formats the first problems as one line.
func ProblemList(problems []api.Problem) string {
	const most = 5
	var texts []string
	for _, p := range problems[:min(len(problems), most)] {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, "; ")
}
