package admission

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// turnAdmission is what the gates of one admission work on: the calls of a turn, and the decisions
// about them so far, in their order. Gates may leave out the last calls, about which the run asks
// again.
type turnAdmission struct {
	api.AdmissionRequest
	decisions    []api.AdmissionDecision
	reservations *reservations
}

// turnGates are what the calls of a turn pass together, in this order (requirements E2 and E3). A
// gate decides about calls that earlier ones let through. Its error ends the admission, which is
// then repeated.
var turnGates = []func(*Admitter, context.Context, *turnAdmission) error{
	(*Admitter).passAlone,     // each call through callGates, then the budget of the run and repeats
	(*Admitter).beforeCalls,   // the hooks of the agent, which may change arguments or answer
	(*Admitter).applyPolicies, // the rules, with what ledgers know, and the approvals
	(*Admitter).withhold,      // dry runs
	(*Admitter).fitRecord,     // the size of the marker in history
	(*Admitter).batch,         // calls that one activity makes
	(*Admitter).release,       // reservations in ledgers that no decision uses
	(*Admitter).pinPolicies,   // the rules that a run has from now on
}

// oneCall is a call on its way through callGates.
type oneCall struct {
	api.AdmissionRequest
	call api.Call
	// written are the arguments as the model wrote them.
	written  string
	tool     api.Tool
	compiled *toolspecs.Compiled
	// arguments are the validated ones, from the gate that checks them on.
	arguments json.RawMessage
	decision  api.AdmissionDecision
}

// callGates are what a call passes alone, in this order. The first error refuses the call.
var callGates = []func(*Admitter, *oneCall) *api.Error{
	(*Admitter).exists,         // the run has a tool of that name
	(*Admitter).isActive,       // which is not disabled; an inline one suits its lane
	(*Admitter).hasSpec,        // and whose pinned toolspec this worker can use
	(*Admitter).fits,           // the arguments as the model wrote them are not too large
	(*Admitter).takePlan,       // the execution plan is one, and is there if it has to be
	(*Admitter).hasVariables,   // the run has what the tool requires
	(*Admitter).checkArguments, // the arguments are valid, and not too large with defaults
	(*Admitter).prepare,        // what calls of the tool's kind need besides
	(*Admitter).route,          // the task queue, with the key of the lane
}

// preValidate takes a call through callGates.
func (a *Admitter) preValidate(r api.AdmissionRequest, c api.Call) api.AdmissionDecision {
	one := &oneCall{AdmissionRequest: r, call: c, written: c.Arguments,
		decision: api.AdmissionDecision{ID: c.ID}}
	for _, pass := range callGates {
		if fault := pass(a, one); fault != nil {
			one.decision.Error = fault
			break
		}
	}
	one.decision.Plan = one.call.Plan
	return one.decision
}

func (a *Admitter) fits(c *oneCall) *api.Error {
	return tooLarge(c.call.Tool, []byte(c.call.Arguments))
}

// checkArguments checks the arguments without the execution plan.
func (a *Admitter) checkArguments(c *oneCall) *api.Error {
	arguments, notes, problems := c.compiled.Arguments(c.call.Arguments, c.Mode)
	c.decision.Notes = notes
	problems = append(problems, notShown(c.tool, json.RawMessage(arguments))...)
	if len(problems) > 0 {
		return argumentsError(c.call.Tool, problems)
	}
	if fault := tooLarge(c.call.Tool, arguments); fault != nil {
		return fault
	}
	c.arguments = json.RawMessage(arguments)
	// If an inline call's arguments differ from the plan, history records them only here.
	if !bytes.Equal(arguments, []byte(c.written)) || c.tool.Lane == api.LaneInline &&
		c.Caller.Type == api.CallerPlan {
		c.decision.Arguments = c.arguments
	}
	c.decision.Notes = append(c.decision.Notes, deprecation(c.tool)...)
	c.decision.Tokens = tokens.Count(string(arguments))
	c.decision.ExpectedTokens = c.compiled.Spec.Execution.ExpectedTokens
	return nil
}
