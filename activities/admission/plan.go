package admission

import (
	"github.com/switchyard/switchyard/api"
)

// takePlan removes the execution plan from a call's arguments, or returns why the call cannot
// proceed. It keeps a plan that was removed before.
func (a *Admitter) takePlan(one *oneCall) *api.Error {
	c := &one.call
	rest, plan, problems := one.compiled.TakePlan(c.Arguments)
	c.Arguments = rest
	if len(problems) > 0 {
		return planError(c.Tool, "the execution plan of the call to %s is not one", problems)
	}
	if plan != nil {
		c.Plan = plan
	}
	if c.Plan == nil && one.compiled.NeedsPlan() && !c.OfRun() {
		return planError(c.Tool, "a call to %s has to carry an execution plan", []api.Problem{{
			Path: "$." + api.PlanArgument, Rule: api.RuleRequired,
			Message: `write it among the arguments, such as {"intent": "what the call is for"}`}})
	}
	return nil
}

func planError(tool, format string, problems []api.Problem) *api.Error {
	e := api.Errorf(api.ErrInvalidExecutionPlan, format, tool)
	e.Problems, e.Phase = problems, api.PhasePreExecution
	return e
}
