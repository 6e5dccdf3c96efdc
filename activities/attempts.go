package activities

import (
	"context"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
)

// addEarlier adds to the failure of an attempt what an earlier attempt may have done. The run
// learns of the last attempt only: a call that took effect and lost its answer, and was then
// refused, would be told as not done and would not be undone.
//
// An attempt that had no effect says so in a heartbeat, so that a call whose attempts all failed
// before they did anything ends as not done. An attempt that says nothing may have acted. One that
// may have acted says that, too: the server reports the last heartbeat if no worker takes the next
// attempt.
func (p *pulse) addEarlier(ctx context.Context, t attempt, effect api.Effect,
	failure *api.Error) *api.Error {
	if failure == nil || effect != api.EffectIdempotent {
		return failure
	}
	if p.harmlessBefore() < t.info.Attempt-1 {
		failure = failures.AfterEffect(failure)
	}
	if p != nil && failure.Retryable {
		p.save(ctx, func() {
			if p.acted = p.acted || failure.MayHaveActed(); !p.acted {
				p.harmless = t.info.Attempt
			}
		})
	}
	return failure
}

// harmlessBefore returns the number of attempts that are known to have had no effect.
func (p *pulse) harmlessBefore() int32 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.harmless
}
