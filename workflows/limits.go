package workflows

import (
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// The limits of requirement A4, as RunResult.Limit names them.
const (
	limitTurns    = "turns"
	limitCalls    = "calls"
	limitTokens   = "tokens"
	limitCost     = "cost"
	limitWallTime = "wall_time"
	// limitConversation: the conversation is too long for the model, or for the run to continue as new, and cannot be made
	// shorter.
	limitConversation = "conversation"
	// limitRepeats: calls failed in the same way again and again.
	limitRepeats = "repeats"
)

// reached returns the limit that keeps the run from another turn, or nothing.
func (r *agentRun) reached() string {
	if r.timeOver {
		return limitWallTime
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
		{limitTurns, float64(r.turn - r.before), float64(l.Turns)},
		{limitCalls, float64(u.Calls), float64(l.Calls)},
		{limitTokens, float64(u.InputTokens + u.OutputTokens), float64(l.Tokens)},
		{limitCost, u.Cost, l.Cost},
	} {
		if limit.max > 0 && limit.used >= limit.max {
			return limit.name
		}
	}
	return r.reserved(l)
}

// reserved returns the limit of which a sub-agent has no more left than its next step and the answer that sums up may take, as its
// last step tells: what each of many uses beyond its share is used beyond the budget of the run above. It returns nothing where there
// is more, and for a run that works for nobody, or makes no such answer.
func (r *agentRun) reserved(l api.Limits) string {
	if r.in.Parent == nil || l.OnReached != "" && l.OnReached != api.LimitWrapsUp {
		return ""
	}
	u, last := r.pipeline.usage, r.last
	switch {
	case l.Tokens > 0 && u.InputTokens+u.OutputTokens+2*(last.InputTokens+last.OutputTokens) > l.Tokens:
		return limitTokens
	case l.Cost > 0 && u.Cost+2*last.Cost > l.Cost*costSlack:
		return limitCost
	}
	return ""
}

// costSlack keeps the error of adding up fractions from being taken for a limit that is reached.
const costSlack = 1 + 1e-9

// watchWallTime cancels the running turn when the run's wall time, counted from the start of its chain, has passed.
func (r *agentRun) watchWallTime(ctx workflow.Context, stopTurns func()) {
	if r.limits.WallTime == 0 {
		return
	}
	left := r.wallTimeLeft(ctx)
	if left <= 0 {
		r.timeOver = true
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for limit := api.Duration(0); limit < r.limits.WallTime; left = r.wallTimeLeft(ctx) {
			// While the timer ran, a person may have granted more.
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

// wallTimeLeft is what is left of the run's wall time, which has a limit.
func (r *agentRun) wallTimeLeft(ctx workflow.Context) time.Duration {
	return r.limits.WallTime.Std() - workflow.Now(ctx).Sub(r.started)
}

// summarise ends the run with one more model step, without tools, that answers with what is known.
func (r *agentRun) summarise(ctx workflow.Context, limit string) (api.RunResult, error) {
	r.answerOpenCalls()
	response, err := r.ask(ctx, api.SummaryStepID, limit)
	if err != nil {
		if errors.Is(err, errFull) {
			err = r.modelError(err, "the summary at the limit of "+limit)
		}
		return api.RunResult{}, err
	}
	return r.end(api.RunResult{Outcome: api.OutcomeLimit, Limit: limit, Answer: response.Message.Text}, response.Stop)
}

// answerOpenCalls gives every call of the last turn that has no answer one: models refuse a conversation with gaps.
func (r *agentRun) answerOpenCalls() {
	messages := r.conversation.messages
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
			r.conversation.add(api.CallOutcome{ID: c.ID, Tool: c.Tool, Error: e}.Message())
		}
	}
}
