package activities

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// limitRetries makes the failure of a call that timed out final after DefaultAttempts, if its
// retries
// are the default ones of a tool that reads from a network service: each attempt at a service that
// hangs takes the whole timeout.
func (t attempt) limitRetries(e *api.Error, spec *toolspecs.Spec) *api.Error {
	if e.Type == api.ErrTimeout && spec.SpreadsReads() &&
		t.info.Attempt >= toolspecs.DefaultAttempts {
		e.Retryable = false
	}
	return e
}

// shortestWait is the part of a wait that is certain. The rest is random, so that the calls that a
// service failed at once do not return at once.
const shortestWait = 0.7

// retryWait returns the wait before the next attempt: what the service asked for, or else that of
// the retry policy with jitter. Zero leaves it to the policy, as for inline calls.
func (t attempt) retryWait(e *api.Error) time.Duration {
	p := t.info.RetryPolicy
	if !e.Retryable || e.RetryAfter > 0 || t.inline != nil || p == nil || p.InitialInterval <= 0 {
		return e.RetryAfter.Std()
	}
	wait := float64(p.InitialInterval) *
		math.Pow(max(p.BackoffCoefficient, 1), float64(t.info.Attempt-1))
	if p.MaximumInterval > 0 {
		wait = min(wait, float64(p.MaximumInterval))
	}
	return time.Duration(wait * (shortestWait + (1-shortestWait)*rand.Float64()))
}

// maxAttempts returns the number of attempts that the call has at most.
func (t attempt) maxAttempts(spec *toolspecs.Spec) int {
	if p := t.info.RetryPolicy; p != nil && p.MaximumAttempts > 0 {
		return int(p.MaximumAttempts)
	}
	if spec.Execution.Effect == api.EffectOnce {
		return 1
	}
	return max(spec.Execution.Retry.MaxAttempts, 1)
}
