package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/workflow"
)

// exhausted says which budget of the run's principal is used up.
type exhausted string

func (e exhausted) Error() string { return string(e) }

// findReachedLimit returns the limit that prevents another turn, or "".
func (r *agentRun) findReachedLimit() string {
	if r.timeOver {
		return budget.LimitWallTime
	}
	if r.stopped != "" {
		return r.stopped
	}
	l, u := r.limits, r.pipeline.usage
	if l.Turns == 0 {
		l.Turns = api.DefaultTurns
	}
	for _, limit := range []struct {
		name      string
		used, max float64
	}{
		{budget.LimitTurns, float64(r.turn - r.before), float64(l.Turns)},
		{budget.LimitCalls, float64(u.Calls), float64(l.Calls)},
		{budget.LimitTokens, float64(u.InputTokens + u.OutputTokens), float64(l.Tokens)},
		{budget.LimitCost, u.Cost, l.Cost},
	} {
		if limit.max > 0 && limit.used >= limit.max {
			return limit.name
		}
	}
	return r.findReservedLimit(l)
}

// handleNoAnswer ends a run whose model step has no answer because a limit was reached, or returns
// the
// error.
func (r *agentRun) handleNoAnswer(err error) (done bool, result *api.RunResult, _ error) {
	if errors.Is(err, errFull) {
		r.stopped = budget.LimitConversation
		return false, nil, nil
	}
	if e, is := errors.AsType[exhausted](err); is {
		result, err = r.complete(&api.RunResult{Outcome: api.OutcomeLimit,
			Limit: budget.LimitPrincipal, Answer: string(e)}, "")
		return true, result, err
	}
	return false, nil, err
}

// findReservedLimit returns the limit of which a sub-agent has no more left than its next step and
// the
// summarising answer may need, estimated from its last step. What a sub-agent uses beyond its share
// exceeds the budget of the parent run. It returns "" where more is left, for a run without a
// parent, and for one that makes no such answer.
func (r *agentRun) findReservedLimit(l api.Limits) string {
	if r.in.Parent == nil || l.OnReached != "" && l.OnReached != api.LimitWrapsUp {
		return ""
	}
	u, last := r.pipeline.usage, r.last
	switch {
	case l.Tokens > 0 && u.InputTokens+u.OutputTokens+
		2*(last.InputTokens+last.OutputTokens) > l.Tokens:
		return budget.LimitTokens
	case l.Cost > 0 && u.Cost+2*last.Cost > l.Cost*costSlack:
		return budget.LimitCost
	}
	return ""
}

// costSlack tolerates the rounding errors of summed costs.
const costSlack = 1 + 1e-9

// turns returns the context of the turns, and the function that cancels it. It is the run's own
// context if the run has no limit of wall time, which is all that cancels turns.
func (r *agentRun) turns(ctx workflow.Context) (turns workflow.Context, stopTurns func()) {
	if r.limits.WallTime == 0 {
		return ctx, func() {}
	}
	turns, stopTurns = workflow.WithCancel(ctx)
	r.watchWallTime(ctx, stopTurns)
	return turns, stopTurns
}

// watchWallTime cancels the running turn when the run's wall time, counted from the start of its
// chain, has passed.
func (r *agentRun) watchWallTime(ctx workflow.Context, stopTurns func()) {
	left := r.wallTimeLeft(ctx)
	if left <= 0 {
		r.timeOver = true
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for limit := api.Duration(0); limit < r.limits.WallTime; left = r.wallTimeLeft(ctx) {
			// A person may have granted more while the timer ran.
			limit = r.limits.WallTime
			options := workflow.TimerOptions{Summary: "wall time of the run"}
			if workflow.NewTimerWithOptions(ctx, left, options).Get(ctx, nil) != nil {
				return
			}
		}
		r.timeOver = true
		stopTurns()
	})
}

// wallTimeLeft returns the rest of the run's wall time; the run must have a limit.
func (r *agentRun) wallTimeLeft(ctx workflow.Context) time.Duration {
	return r.limits.WallTime.Std() - workflow.Now(ctx).Sub(r.started)
}

// summarise ends the run with one more model step, without tools, that answers from what is known.
func (r *agentRun) summarise(ctx workflow.Context, limit string) (*api.RunResult, error) {
	r.answerOpenCalls()
	response, err := r.ask(ctx, api.SummaryStepID, limit)
	if err != nil {
		if errors.Is(err, errFull) {
			err = r.modelError(err, "the summary at the limit of "+limit)
		}
		return nil, err
	}
	return r.complete(&api.RunResult{Outcome: api.OutcomeLimit, Limit: limit,
		Answer: response.Message.Text}, response.Stop)
}

// answerOpenCalls answers every call of the last turn that has no answer: models reject a
// conversation with gaps.
func (r *agentRun) answerOpenCalls() {
	messages := r.conversation.Messages
	answered := map[string]bool{}
	last := len(messages) - 1
	for last >= 0 && messages[last].Role == api.RoleTool {
		answered[messages[last].CallID] = true
		last--
	}
	if last < 0 {
		return
	}
	for _, c := range messages[last].Calls {
		if !answered[c.ID] {
			e := api.Errorf(api.ErrCancelled, "the run reached a limit before this call ran")
			r.conversation.Add(api.CallOutcome{ID: c.ID, Tool: c.Tool, Error: e}.Message())
		}
	}
}

// grantable lists the limits of which a person can grant more.
var grantable = []string{budget.LimitTurns, budget.LimitCalls, budget.LimitTokens, budget.LimitCost,
	budget.LimitWallTime}

// atLimit ends the run at a limit as its agent declares, with a last answer or at once. An err that
// is already set takes precedence.
func (r *agentRun) atLimit(ctx workflow.Context, limit string, err error) (*api.RunResult, error) {
	if err != nil {
		return nil, err
	}
	if r.agent.Limits.OnReached == api.LimitStops {
		return r.complete(&api.RunResult{Outcome: api.OutcomeLimit, Limit: limit}, "")
	}
	return r.summarise(ctx, limit)
}

// extendLimit asks a person for more of a limit that the run has reached, if the agent declares
// that.
// It reports whether the run continues: with more, or up to another limit reached meanwhile. It
// returns an error only if the run is cancelled.
func (r *agentRun) extendLimit(ctx workflow.Context, limit string) (bool, error) {
	if !r.asksAt(limit) {
		return false, nil
	}
	o, err := r.askMore(ctx, limit)
	if err == nil {
		r.pipeline.publishState(ctx)
		err = workflow.Await(ctx, func() bool {
			return o.over || r.timeOver &&
				limit != budget.LimitWallTime
		})
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
	r.limits = people.ExtendLimits(r.limits, *o.grant, r.pipeline.usage, r.turn-r.before,
		workflow.Now(ctx).Sub(r.started))
	r.pipeline.Limits = r.limits
	r.timeOver = r.timeOver && limit != budget.LimitWallTime
	return true, nil
}

// asksAt reports whether a person is asked for more of a limit.
func (r *agentRun) asksAt(limit string) bool {
	return r.agent.Limits.OnReached == api.LimitAsks && slices.Contains(grantable, limit)
}

// needSize is about how many bytes the description of a reached limit has.
const needSize = 4 << 10

// askMore requests more of a limit from a person, in one recorded step.
func (r *agentRun) askMore(ctx workflow.Context, limit string) (*approval, error) {
	r.answerOpenCalls()
	request := api.LimitRequest{Run: r.pipeline.origin.Run, Agent: r.agent.Name, Limit: limit,
		Limits: r.limits, Usage: r.pipeline.usage,
		Turns: r.turn - r.before, Took: api.Duration(workflow.Now(ctx).Sub(r.started)),
		Asked: r.asked}
	var need api.ApprovalNeed
	var err error
	cancelled := r.pipeline.sizes.Task.Record(ctx, needSize, func() int {
		err = workflow.ExecuteLocalActivity(withSummary(withLocalOptions(ctx),
			"asking for more of the limit of "+limit), api.DescribeLimitActivity, request).Get(ctx,
			&need)
		return measureJSON(need)
	})
	if err := cmp.Or(cancelled, err); err != nil {
		return nil, err
	}
	r.asked++
	return r.pipeline.control.approvals.askLimit(ctx, need), nil
}

// continuedLimits returns the limits that continue-as-new carries; nil if they are still those of
// the agent.
func (r *agentRun) continuedLimits() *api.Limits {
	if r.asked == 0 {
		return nil
	}
	return &r.limits
}

// noticeWallTime compares the clock with the wall time limit. Inline work keeps the workflow task
// busy, so that the timer may not have been delivered.
func (r *agentRun) noticeWallTime(ctx workflow.Context, stopTurns func()) {
	limit := r.limits.WallTime.Std()
	if r.pipeline.inlineOn && limit > 0 && workflow.Now(ctx).Sub(r.started) >= limit {
		r.timeOver = true
		stopTurns()
	}
}
