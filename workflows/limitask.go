package workflows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// grantable are the limits of which a person can grant a run more.
var grantable = []string{limitTurns, limitCalls, limitTokens, limitCost, limitWallTime}

// atLimit ends the run at a limit as its agent says, with a last answer or at once, unless there is an error already.
func (r *agentRun) atLimit(ctx workflow.Context, limit string, err error) (api.RunResult, error) {
	if err != nil {
		return api.RunResult{}, err
	}
	if r.agent.Limits.OnReached == api.LimitStops {
		return r.end(api.RunResult{Outcome: api.OutcomeLimit, Limit: limit}, "")
	}
	return r.summarise(ctx, limit)
}

// granted asks a person for more of a limit that the run has reached, where the agent says so. It reports whether the run goes
// on: with more, or to another limit that it has reached meanwhile. The error is that of a cancelled run.
func (r *agentRun) granted(ctx workflow.Context, limit string) (bool, error) {
	if !r.asksAt(limit) {
		return false, nil
	}
	o, err := r.askMore(ctx, limit)
	if err == nil {
		err = workflow.Await(ctx, func() bool { return o.over || r.timeOver && limit != limitWallTime })
	}
	switch {
	case err != nil:
		return false, err
	case !o.over:
		r.pipeline.control.approvals.withdraw(ctx, o.Call, "the run's wall time is over")
		return true, nil
	case o.grant == nil:
		return false, nil
	}
	r.limits = r.limits.Extended(*o.grant, r.pipeline.usage, r.turn-r.before, workflow.Now(ctx).Sub(r.started))
	r.pipeline.limits = r.limits
	r.timeOver = r.timeOver && limit != limitWallTime
	return true, nil
}

// asksAt reports whether a person is asked for more of a limit.
func (r *agentRun) asksAt(limit string) bool {
	return r.agent.Limits.OnReached == api.LimitAsks && slices.Contains(grantable, limit)
}

// askMore asks a person for more of a limit, in one recorded step.
func (r *agentRun) askMore(ctx workflow.Context, limit string) (*approval, error) {
	r.answerOpenCalls()
	request := api.LimitRequest{Run: r.pipeline.origin.Run, Agent: r.agent.Name, Limit: limit, Limits: r.limits, Usage: r.pipeline.usage,
		Turns: r.turn - r.before, Took: api.Duration(workflow.Now(ctx).Sub(r.started)), Asked: r.asked}
	var need api.ApprovalNeed
	if err := workflow.ExecuteLocalActivity(saying(withLocalOptions(ctx), "asking for more of the limit of "+limit), api.DescribeLimitActivity, request).Get(ctx, &need); err != nil {
		return nil, err
	}
	r.asked++
	return r.pipeline.control.approvals.askLimit(ctx, need), nil
}

// carriedLimits are the run's limits where they may not be its agent's any more.
func (r *agentRun) continuedLimits() *api.Limits {
	if r.asked == 0 {
		return nil
	}
	return &r.limits
}

// askLimit asks for more of a limit. Earlier such approvals are over: a digest tells one from the next.
func (a *approvals) askLimit(ctx workflow.Context, need api.ApprovalNeed) *approval {
	delete(a.known, api.LimitCall)
	a.ask(ctx, api.Call{ID: api.LimitCall}, api.AdmissionDecision{ID: api.LimitCall, Approval: &need})
	return a.known[api.LimitCall]
}

// unfit returns what keeps a decision from being one on what waits: a call is not granted anything, and a run at a limit needs
// more of just that limit.
func (o *approval) unfit(d api.Decision) *api.ReplyError {
	message := ""
	switch {
	case o.Limit == "" && d.Grant != nil:
		message = fmt.Sprintf("call %q waits for approval; only a run at a limit is granted something", d.Call)
	case o.Limit != "" && d.Kind == api.DecisionEdit:
		message = "a run at a limit has no arguments to change; grant it more, or deny it"
	case o.Limit != "" && d.Kind == api.DecisionApprove && d.Grant.Of(o.Limit) <= 0:
		message = fmt.Sprintf("the run has reached its limit of %s; say how much more of it the run may use. What can be granted: %s", o.Limit, strings.Join(grantable, ", "))
	default:
		return nil
	}
	return &api.ReplyError{Type: api.DecisionUnfit, Message: message}
}
