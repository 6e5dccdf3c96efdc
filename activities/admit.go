package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/spelling"
)

// nearNames is how many similar tool names an unknown one is answered with.
const nearNames = 3

// maxProblems bounds the faults of one call that a verdict lists, maxNames the list of a run's tools in characters.
const (
	maxProblems = 20
	maxNames    = 500
)

// Admit takes calls through the phases pre_validation and pre_execution and returns one verdict per call, in order. It
// runs as a local activity, so that the verdicts are one marker in history whatever rules are edited later. Where the
// verdicts of all calls would be too long for one marker, it answers for the first ones alone. The error says that the queue
// of an admitted call's key cannot be opened now, or that ctx ended before the hooks had decided.
//
// The order is: the arguments, the budget, the hooks before the call, and then policies, which judge what the hooks left.
func (a *Activities) Admit(ctx context.Context, r switchyard.AdmitRequest) ([]switchyard.Verdict, error) {
	if r.Full != "" {
		return noRoom(r), nil
	}
	verdicts, err := a.beforeCalls(ctx, r, a.verdictsOn(r))
	if err != nil {
		return nil, err
	}
	verdicts = together(r, recordable(a.withhold(r, a.afterHooks(ctx, r, verdicts))))
	if err := a.openKeys(ctx, r, verdicts); err != nil {
		return nil, err
	}
	return verdicts, nil
}

// verdictsOn answers for calls, the first ones alone where the prompts of all would be too long.
func (a *Activities) verdictsOn(r switchyard.AdmitRequest) (verdicts []switchyard.Verdict) {
	claimed, prompts := 0, 0
	for _, c := range r.Calls {
		v := withinRun(r, c, a.verdictOn(r, c), claimed)
		if prompts += encodedSize(v.Prompt + v.Question); prompts > maxPrompts {
			break
		}
		if v.Error == nil {
			claimed += 1 + v.Claim
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// noRoom refuses calls for which the run's history has no room.
func noRoom(r switchyard.AdmitRequest) []switchyard.Verdict {
	verdicts := make([]switchyard.Verdict, len(r.Calls))
	for i, c := range r.Calls {
		e := switchyard.Errorf(switchyard.ErrBudgetExceeded, "%s", r.Full)
		e.Phase = switchyard.PhasePreExecution
		verdicts[i] = switchyard.Verdict{ID: c.ID, Error: e}
	}
	return verdicts
}

// withinRun refuses a call that the run does not allow any more, when those before it have claimed that many of its calls.
func withinRun(r switchyard.AdmitRequest, c switchyard.Call, v switchyard.Verdict, claimed int) switchyard.Verdict {
	switch {
	case v.Error != nil || c.OfRun():
		return v
	case r.Allow != nil && claimed+v.Claim >= *r.Allow:
		v.Error = tooMany(*r.Allow, v)
	default:
		v.Error = blockedRepeat(r, c)
	}
	if v.Error != nil {
		return stopped(v)
	}
	return v
}

// blockedRepeat refuses a call that has failed so often that another time would not be worth it; nil for any other.
func blockedRepeat(r switchyard.AdmitRequest, c switchyard.Call) *switchyard.Error {
	if len(r.Blocked) == 0 {
		return nil
	}
	digest := switchyard.CallDigest(c.Tool, c.Arguments)
	i := slices.IndexFunc(r.Blocked, func(known switchyard.Repeat) bool { return known.Call == digest })
	if i < 0 {
		return nil
	}
	e := switchyard.Errorf(switchyard.ErrPolicyViolation, "this call has failed or been refused %d times, and nothing has changed since, so it is not made again; "+
		"change the arguments, use another tool, or answer with what is known", r.Blocked[i].All)
	e.Phase = switchyard.PhasePreExecution
	return e
}

// tooMany refuses a call that the run's budget of calls does not allow any more.
func tooMany(allowed int, v switchyard.Verdict) *switchyard.Error {
	e := switchyard.Errorf(switchyard.ErrBudgetExceeded, "the run may make %d more calls, and this is one too many", allowed)
	if v.Claim > 0 {
		e.Message += "; an agent needs calls of its own beside it"
	}
	e.Phase = switchyard.PhasePreExecution
	return e
}

// verdictOn is preValidate for any call. A call that the run makes by itself has its tool and arguments in its verdict, because
// nothing else in history tells of it before it runs.
func (a *Activities) verdictOn(r switchyard.AdmitRequest, c switchyard.Call) switchyard.Verdict {
	if !c.OfRun() {
		return a.preValidate(r, c)
	}
	v := switchyard.Verdict{ID: c.ID}
	if c.Undo == nil || c.Undo.Problem == "" {
		v = a.preValidate(r, c)
	} else {
		v.Error = switchyard.Errorf(switchyard.ErrPreconditionFailed, "call %s of %s cannot be undone: %s", c.Undo.Call, c.Undo.Tool, c.Undo.Problem)
		v.Error.Phase = switchyard.PhasePreValidation
	}
	v.Undo, v.Verifies, v.Checks, v.Tool = c.Undo, c.Verifies, c.Checks, c.Tool
	if len(v.Arguments) == 0 && c.Arguments != "" {
		v.Arguments = json.RawMessage(c.Arguments)
	}
	return v
}

// preValidate checks that the tool exists and is active, what it requires, and the arguments.
func (a *Activities) preValidate(r switchyard.AdmitRequest, c switchyard.Call) switchyard.Verdict {
	v := switchyard.Verdict{ID: c.ID}
	written := c.Arguments
	tool, compiled, fault := a.callable(r, c)
	if fault == nil {
		fault = ready(r, &c, compiled)
	}
	v.Plan = c.Plan
	if v.Error = fault; fault != nil {
		return v
	}
	arguments, notes, problems := compiled.Arguments(c.Arguments, r.Mode)
	v.Notes = notes
	problems = append(problems, notShown(tool, json.RawMessage(arguments))...)
	if len(problems) > 0 {
		v.Error = argumentsError(c.Tool, problems)
		return v
	}
	// History tells of an inline call's arguments nowhere else, where they are not as the plan has them.
	if !bytes.Equal(arguments, []byte(written)) || tool.Lane == switchyard.LaneInline && r.Caller.Type == switchyard.CallerPlan {
		v.Arguments = json.RawMessage(arguments)
	}
	if tool.Status == switchyard.StatusDeprecated {
		v.Notes = append(v.Notes, fmt.Sprintf("tool %s is deprecated", c.Tool))
	}
	v.Tokens, v.ExpectedTokens = countTokens(string(arguments)), compiled.Spec.Execution.ExpectedTokens
	preValidateKind(r, compiled, arguments, &v)
	if v.Error == nil {
		v.Route, v.Error = a.route(r, tool, arguments)
	}
	return v
}

// ready takes a call's execution plan off its arguments, or says what the call lacks besides the right arguments.
func ready(r switchyard.AdmitRequest, c *switchyard.Call, compiled *toolspecs.Compiled) *switchyard.Error {
	if fault := takePlan(c, compiled); fault != nil {
		return fault
	}
	return lacksVariable(r, compiled)
}

// callable returns the tool of a call, or why there is none that can be called.
func (a *Activities) callable(r switchyard.AdmitRequest, c switchyard.Call) (switchyard.Tool, *toolspecs.Compiled, *switchyard.Error) {
	tool, found := toolOf(r, c.Tool)
	if !found {
		return tool, nil, a.notFound(r, c.Tool)
	}
	if tool.Status == switchyard.StatusDisabled {
		e := switchyard.Errorf(switchyard.ErrToolNotActive, "tool %q is disabled", c.Tool)
		e.Near, e.Phase = a.active(r, c.Tool), switchyard.PhasePreValidation
		return tool, nil, e
	}
	if e := tool.InlineFault(); e != nil {
		return tool, nil, e
	}
	compiled, err := a.specs.of(tool)
	if err != nil {
		e := switchyard.Errorf(switchyard.ErrExecutorNotFound, "the pinned toolspec of %q cannot be used here: %v", c.Tool, err)
		e.Phase = switchyard.PhasePreValidation
		return tool, nil, e
	}
	return tool, compiled, nil
}

// toolOf returns the pinned tool of a name, and whether there is one.
func toolOf(r switchyard.AdmitRequest, name string) (switchyard.Tool, bool) {
	return switchyard.Catalog{Tools: r.Tools}.Find(name)
}

// preValidateKind adds to a verdict what only calls of some kinds have.
func preValidateKind(r switchyard.AdmitRequest, compiled *toolspecs.Compiled, arguments json.RawMessage, v *switchyard.Verdict) {
	switch compiled.Spec.Entry.Type {
	case switchyard.KindAgent:
		v.Error = admitAgent(r, compiled, arguments, v)
	case switchyard.KindHuman:
		v.Question = compiled.Question(arguments)
	}
}

// lacksVariable refuses a call whose tool requires a variable that the run does not have.
func lacksVariable(r switchyard.AdmitRequest, compiled *toolspecs.Compiled) *switchyard.Error {
	for _, name := range compiled.Spec.Requires.Variables {
		if !slices.Contains(r.Variables, name) {
			e := switchyard.Errorf(switchyard.ErrPreconditionFailed, "tool %q needs the run variable %q; start the run with --var %s=…", compiled.Spec.Name, name, name)
			e.Phase = switchyard.PhasePreValidation
			return e
		}
	}
	return nil
}

// notShown is the fault of arguments that were copied from where sensitive values are not shown, such as a dry run's plan.
func notShown(tool switchyard.Tool, arguments json.RawMessage) []switchyard.Problem {
	if !slices.Contains(tool.ArgumentMask().Values(arguments), switchyard.Redacted) {
		return nil
	}
	return []switchyard.Problem{{Path: "$", Rule: "sensitive", Message: switchyard.Redacted + " stands for a sensitive value that is not shown; give the value itself"}}
}

func argumentsError(tool string, problems []switchyard.Problem) *switchyard.Error {
	if extra := len(problems) - maxProblems; extra > 0 {
		problems = append(problems[:maxProblems:maxProblems], switchyard.Problem{Path: "$", Rule: "more", Message: fmt.Sprintf("and %d more faults", extra)})
	}
	e := switchyard.Errorf(switchyard.ErrValidation, "the arguments of %s do not fit", tool)
	e.Problems, e.Phase = problems, switchyard.PhasePreValidation
	return e
}

// notFound answers a call of a tool that the run does not have.
func (a *Activities) notFound(r switchyard.AdmitRequest, name string) *switchyard.Error {
	e := switchyard.Errorf(switchyard.ErrToolNotFound, "there is no tool %q", switchyard.Shorten(name, 2*switchyard.MaxToolName))
	e.Phase = switchyard.PhasePreValidation
	if r.AnyTool {
		if e.Near = a.config.Catalog().Near(name); len(e.Near) == 0 {
			e.Message += " on the worker that was asked; which worker holds which tools is shown by: starter tools list --workers"
		}
		return e
	}
	e.Near = spelling.Near(name, r.Known, nearNames)
	switch {
	case len(r.Known) == 0:
		e.Message += "; this run has no tools"
	case len(e.Near) == 0:
		e.Message += "; there are: " + switchyard.Shorten(strings.Join(r.Known, ", "), maxNames)
	}
	return e
}

// active returns the names of the tools that may be called besides one.
func (a *Activities) active(r switchyard.AdmitRequest, besides string) []string {
	return slices.DeleteFunc(a.config.Catalog().Active(), func(n string) bool {
		return n == besides || !r.AnyTool && !slices.Contains(r.Known, n)
	})
}
