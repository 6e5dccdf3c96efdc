package activities

import (
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
)

// takePlan takes a call's execution plan off its arguments, or says why the call cannot go on with what is there. A plan that
// was taken off before stays.
func takePlan(c *switchyard.Call, compiled *toolspecs.Compiled) *switchyard.Error {
	rest, plan, problems := compiled.TakePlan(c.Arguments)
	c.Arguments = rest
	if len(problems) > 0 {
		return planError(c.Tool, "the execution plan of the call to %s is not one", problems)
	}
	if plan != nil {
		c.Plan = plan
	}
	if c.Plan == nil && compiled.NeedsPlan() && !c.OfRun() {
		return planError(c.Tool, "a call to %s has to carry an execution plan", []switchyard.Problem{{
			Path: "$." + switchyard.PlanArgument, Rule: switchyard.RuleRequired, Message: `write it among the arguments, such as {"intent": "what the call is for"}`}})
	}
	return nil
}

func planError(tool, format string, problems []switchyard.Problem) *switchyard.Error {
	e := switchyard.Errorf(switchyard.ErrInvalidExecutionPlan, format, tool)
	e.Problems, e.Phase = problems, switchyard.PhasePreExecution
	return e
}
