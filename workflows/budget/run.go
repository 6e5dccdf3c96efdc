package budget

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"go.temporal.io/sdk/workflow"
)

// Run is the budget of a run and of its sub-agents. A run without limits has the zero Run.
type Run struct {
	Limits  api.Limits
	Started time.Time
}

// Spent returns the name of the limit that leaves nothing for sub-agents; empty if there is none.
func (b *Run) Spent(used api.Usage) string {
	switch {
	case b.Limits.Tokens > 0 && used.InputTokens+used.OutputTokens >= b.Limits.Tokens:
		return LimitTokens
	case b.Limits.Cost > 0 && used.Cost >= b.Limits.Cost:
		return LimitCost
	}
	return ""
}

// Divide returns the share of each sub-agent and plan tool of a turn: equal parts of what is left
// after every admitted call of the turn has been counted; of calls, the share of each claimed call.
// The runs are concurrent, so their shares together must not exceed what is left. It is nil for a
// turn without sub-agents and plan tools.
func (b *Run) Divide(used api.Usage, decisions []api.AdmissionDecision) (share *api.Limits) {
	admitted, runs, claims := 0, 0, 0
	for _, v := range decisions {
		if v.Error != nil {
			continue
		}
		admitted++
		claims += v.Claim
		if v.Prompt != "" || v.Claim > 0 {
			runs++
		}
	}
	if runs == 0 {
		return nil
	}
	share = new(api.Limits)
	if l := b.Limits.Calls; l > 0 {
		share.Calls = max((l-used.Calls-admitted)/max(claims, 1), 1)
	}
	if l := b.Limits.Tokens; l > 0 {
		share.Tokens = max((l-used.InputTokens-used.OutputTokens)/runs, 1)
	}
	if l := b.Limits.Cost; l > 0 {
		share.Cost = (l - used.Cost) / float64(runs)
	}
	return share
}

// Lend returns the limits of a sub-agent: of each limit the lower one of its own and its share. The
// limits of turns and repetitions are its own.
func (b *Run) Lend(ctx workflow.Context, own, share api.Limits) api.Limits {
	return api.Limits{
		Turns:      own.Turns,
		Repeats:    own.Repeats,
		OnReached:  own.OnReached,
		AskTimeout: own.AskTimeout,
		Calls:      policyrules.LowerLimit(own.Calls, share.Calls),
		Tokens:     policyrules.LowerLimit(own.Tokens, share.Tokens),
		Cost:       policyrules.LowerLimit(own.Cost, share.Cost),
		WallTime:   policyrules.LowerLimit(own.WallTime, b.WallTimeLeft(ctx)),
	}
}

// WallTimeLeft returns what is left of the wall time, at least a millisecond; zero without a limit.
func (b *Run) WallTimeLeft(ctx workflow.Context) api.Duration {
	if b.Limits.WallTime <= 0 {
		return 0
	}
	return max(b.Limits.WallTime-api.Duration(workflow.Now(ctx).Sub(b.Started)),
		api.Duration(time.Millisecond))
}
