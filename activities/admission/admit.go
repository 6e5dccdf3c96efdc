package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// nearNames is how many similar tool names the error for an unknown tool suggests.
const nearNames = 3

// maxPrompts bounds the prompts and questions in the decisions of one admission, in bytes as
// written into history.
const maxPrompts = 512 << 10

// maxProblems bounds the problems that one admission decision lists. maxNames bounds the list of a
// run's tools, in characters.
const (
	maxProblems = 20
	maxNames    = 500
)

// Admit implements the activity api.AdmitActivity: it runs the phases pre_validation and
// pre_execution for calls and returns one admission decision per call, in order. It runs as a local
// activity, so that its decisions are one marker in history and later edits of rules do not change
// them. If the decisions on all calls do not fit one marker, it decides only on the first ones. If
// a ledger does not answer, it decides on the calls before the first one that needs it, which may
// be none; the last request about a call refuses it instead. The calls pass turnGates. It returns
// an error if the key of an admitted call cannot be opened, or if ctx ends before the hooks have
// decided.
func (a *Admitter) Admit(ctx context.Context, r api.AdmissionRequest) ([]api.AdmissionDecision,
	error) {
	if r.Refuse != nil {
		return refuseAll(r), nil
	}
	all := &turnAdmission{AdmissionRequest: r}
	for _, pass := range turnGates {
		if err := pass(a, ctx, all); err != nil {
			return nil, err
		}
	}
	return all.decisions, nil
}

// passAlone takes each call through the gates of its own and the limits of the run; only the first
// ones if the prompts of all do not fit.
func (a *Admitter) passAlone(_ context.Context, all *turnAdmission) error {
	claimed, prompts := 0, 0
	for _, c := range all.Calls {
		v := withinRun(all.AdmissionRequest, c, a.decideOn(all.AdmissionRequest, c), claimed)
		if prompts += executor.EncodedSize(v.Prompt + v.Question); prompts > maxPrompts {
			break
		}
		if v.Error == nil {
			claimed += 1 + v.Claim
		}
		all.decisions = append(all.decisions, v)
	}
	return nil
}

// refuseAll rejects all calls of a request for a reason that the run knows.
func refuseAll(r api.AdmissionRequest) []api.AdmissionDecision {
	decisions := make([]api.AdmissionDecision, len(r.Calls))
	for i, c := range r.Calls {
		e := *r.Refuse
		e.Phase = api.PhasePreExecution
		decisions[i] = api.AdmissionDecision{ID: c.ID, Error: &e}
	}
	return decisions
}

// withinRun rejects a call that exceeds the run's limits, given how many calls of the same request
// were already admitted.
func withinRun(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision,
	claimed int) api.AdmissionDecision {
	switch {
	case v.Error != nil || c.OfRun():
		return v
	case r.Allow != nil && claimed+v.Claim >= *r.Allow:
		v.Error = tooMany(*r.Allow, v)
	default:
		v.Error = blockedRepeat(r, c)
	}
	if v.Error != nil {
		return omitExecution(v)
	}
	return v
}

// blockedRepeat rejects a call that has failed too often to be repeated; it returns nil for any
// other call.
func blockedRepeat(r api.AdmissionRequest, c api.Call) *api.Error {
	if len(r.Blocked) == 0 {
		return nil
	}
	digest := api.CallDigest(c.Tool, c.Arguments)
	i := slices.IndexFunc(r.Blocked, func(known api.Repeat) bool { return known.Call == digest })
	if i < 0 {
		return nil
	}
	e := api.Errorf(api.ErrPolicyViolation,
		"this call has failed or been rejected %d times, and nothing has changed since, so it is not repeated; "+
			"change the arguments, use another tool, or answer with what is known",
		r.Blocked[i].All)
	e.Phase = api.PhasePreExecution
	return e
}

// tooMany rejects a call that exceeds the run's call budget.
func tooMany(allowed int, v api.AdmissionDecision) *api.Error {
	e := api.Errorf(api.ErrBudgetExceeded,
		"the run may make %d more calls, and this is one too many", allowed)
	switch {
	case v.Claim > 0 && v.Prompt != "":
		e.Message += "; a call of an agent with tools reserves one more"
	case v.Claim > 0:
		e.Message += fmt.Sprintf("; the call claims %s", further(v.Claim))
	}
	e.Phase = api.PhasePreExecution
	return e
}

// further names a number of calls of a plan.
func further(calls int) string {
	if calls == 1 {
		return "1 further call"
	}
	return fmt.Sprintf("%d further calls", calls)
}

// decideOn is preValidate for any call. The decision on a call that the run itself makes includes
// its tool and arguments, because history records them nowhere else before the call runs.
func (a *Admitter) decideOn(r api.AdmissionRequest, c api.Call) (v api.AdmissionDecision) {
	v.ID = c.ID
	defer containPanic(context.Background(), c, &v)
	if !c.OfRun() {
		return a.preValidate(r, c)
	}
	if c.Problem == "" {
		v = a.preValidate(r, c)
	} else {
		v.Error = api.Errorf(api.ErrPreconditionFailed, "call %s of %s cannot be undone: %s",
			c.TargetCallID, c.TargetTool, c.Problem)
		v.Error.Phase = api.PhasePreValidation
	}
	v.CallPurpose, v.Tool = c.CallPurpose, c.Tool
	if len(v.Arguments) == 0 && c.Arguments != "" && len(c.Arguments) <= api.MaxArguments {
		v.Arguments = json.RawMessage(c.Arguments)
	}
	return v
}

// containPanic is to be deferred by a part of the admission of one call. A panic refuses this call
// and no other.
func containPanic(ctx context.Context, c api.Call, v *api.AdmissionDecision) {
	if cause := recover(); cause != nil {
		panics.Note(ctx, nil, panics.Admission, panics.Text(cause), "tool", c.Tool, "call_id", c.ID)
		v.Error = api.Errorf(api.ErrExecution, "the call was refused because of %v", panics.Err)
		v.Error.Phase = api.PhasePreExecution
		*v = omitExecution(*v)
		if c.OfRun() {
			v.CallPurpose, v.Tool = c.CallPurpose, c.Tool
		}
	}
}

// deprecation returns the note on a call of a deprecated tool.
func deprecation(tool api.Tool) []string {
	if tool.Status != api.StatusDeprecated {
		return nil
	}
	return []string{fmt.Sprintf("tool %s is deprecated", tool.Name)}
}

// tooLarge rejects arguments that are too large in history; nil accepts them.
func tooLarge(tool string, arguments []byte) *api.Error {
	size := jsonvalue.PayloadSize(arguments)
	if size <= api.MaxArguments {
		return nil
	}
	return api.TooLarge("the arguments of "+tool, size, api.MaxArguments,
		"pass less, or a reference to where the data is")
}

func (a *Admitter) exists(c *oneCall) *api.Error {
	tool, found := findTool(c.AdmissionRequest, c.call.Tool)
	if c.tool = tool; !found {
		return a.notFound(c.AdmissionRequest, c.call.Tool)
	}
	return nil
}

func (a *Admitter) isActive(c *oneCall) *api.Error {
	if c.tool.Status != api.StatusDisabled {
		return failures.InlineFault(c.tool)
	}
	e := api.Errorf(api.ErrToolNotActive, "tool %q is disabled", c.call.Tool)
	e.Near, e.Phase = a.active(c.AdmissionRequest, c.call.Tool), api.PhasePreValidation
	return e
}

func (a *Admitter) hasSpec(c *oneCall) *api.Error {
	compiled, err := a.config.Specs.Of(c.tool)
	if c.compiled = compiled; err == nil {
		return nil
	}
	e := api.Errorf(api.ErrExecutorNotFound,
		"the pinned toolspec of %q cannot be used here: %v", c.call.Tool, err)
	e.Phase = api.PhasePreValidation
	return e
}

// findTool returns the pinned tool with a name, and whether there is one.
func findTool(r api.AdmissionRequest, name string) (api.Tool, bool) {
	return api.Catalog{Tools: r.Tools}.Find(name)
}

// prepare completes a decision with the parts that only calls of the tool's kind have.
func (a *Admitter) prepare(c *oneCall) *api.Error {
	kind, ok := a.config.Executors[c.compiled.Spec.Entry.Type()].(executor.DecisionPreparer)
	if !ok {
		return nil
	}
	return kind.PrepareDecision(c.AdmissionRequest, c.compiled, c.arguments, &c.decision)
}

// hasVariables rejects a call whose tool requires a variable that the run does not have.
func (a *Admitter) hasVariables(c *oneCall) *api.Error {
	for _, name := range c.compiled.Spec.Requires.Variables {
		if !slices.Contains(c.Variables, name) {
			e := api.Errorf(api.ErrPreconditionFailed,
				"tool %q needs the run variable %q; start the run with --var %s=…",
				c.call.Tool, name, name)
			e.Phase = api.PhasePreValidation
			return e
		}
	}
	return nil
}

// notShown reports arguments that were copied from output with hidden sensitive values, such as the
// result of a dry run.
func notShown(tool api.Tool, arguments json.RawMessage) []api.Problem {
	if !slices.Contains(callview.ArgumentMask(tool).Values(arguments), redaction.Word) {
		return nil
	}
	return []api.Problem{{Path: "$", Rule: "sensitive", Message: redaction.Word +
		" stands for a sensitive value that is not shown; give the value itself"}}
}

func argumentsError(tool string, problems []api.Problem) *api.Error {
	if extra := len(problems) - maxProblems; extra > 0 {
		problems = append(problems[:maxProblems:maxProblems], api.Problem{Path: "$", Rule: "more",
			Message: fmt.Sprintf("and %d more faults", extra)})
	}
	e := api.Errorf(api.ErrValidation, "the arguments of %s do not fit", tool)
	e.Problems, e.Phase = problems, api.PhasePreValidation
	return e
}

// notFound returns the error for a call of a tool that the run does not have.
func (a *Admitter) notFound(r api.AdmissionRequest, name string) *api.Error {
	e := api.Errorf(api.ErrToolNotFound, "there is no tool %q",
		display.Shorten(name, 2*api.MaxToolName))
	e.Phase = api.PhasePreValidation
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
		e.Message += "; there are: " + display.Shorten(strings.Join(r.Known, ", "), maxNames)
	}
	return e
}

// active returns the names of the callable tools except besides.
func (a *Admitter) active(r api.AdmissionRequest, besides string) []string {
	return slices.DeleteFunc(a.config.Catalog().Active(), func(n string) bool {
		return n == besides || !r.AnyTool && !slices.Contains(r.Known, n)
	})
}
