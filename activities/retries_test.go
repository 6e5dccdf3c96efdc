package activities

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// TestRetryWait_IsThatOfThePolicyWithJitter states the waits between attempts.
func TestRetryWait_IsThatOfThePolicyWithJitter(t *testing.T) {
	policy := &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2,
		MaximumInterval: 5 * time.Second}
	for _, c := range []struct {
		name    string
		attempt int32
		policy  *temporal.RetryPolicy
		inline  *api.InlineCall
		failure api.Error
		from    time.Duration
		to      time.Duration
	}{
		{"first", 1, policy, nil, api.Error{Retryable: true}, 700 * time.Millisecond, time.Second},
		{"third", 3, policy, nil, api.Error{Retryable: true}, 2800 * time.Millisecond,
			4 * time.Second},
		{"bounded", 9, policy, nil, api.Error{Retryable: true}, 3500 * time.Millisecond,
			5 * time.Second},
		{"as asked for", 1, policy, nil, api.Error{Retryable: true,
			RetryAfter: api.Duration(time.Minute)}, time.Minute, time.Minute},
		{"no attempt follows", 1, policy, nil, api.Error{}, 0, 0},
		{"inline", 1, policy, &api.InlineCall{}, api.Error{Retryable: true}, 0, 0},
		{"no policy", 1, nil, nil, api.Error{Retryable: true}, 0, 0},
	} {
		call := attempt{info: activity.Info{Attempt: c.attempt, RetryPolicy: c.policy},
			inline: c.inline}
		seen := map[time.Duration]bool{}
		for range 100 {
			got := call.retryWait(&c.failure)
			seen[got] = true
			if got < c.from || got > c.to {
				t.Fatalf("%s: %s is not between %s and %s", c.name, got, c.from, c.to)
			}
		}
		if c.from < c.to && len(seen) < 50 {
			t.Errorf("%s: only %d different waits of 100", c.name, len(seen))
		}
	}
}

// TestTimeouts_OfReadsEndAfterThreeAttempts states that a service that hangs is not asked as often
// as one that restarts.
func TestTimeouts_OfReadsEndAfterThreeAttempts(t *testing.T) {
	spread, err := toolspecs.Spec{Name: "read", Version: "1.0.0", Description: "Reads.",
		Entry: toolspecs.Entry{Kind: toolspecs.RESTEntry{BaseURL: "https://example.com",
			Path: "/"}}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	own := spread.Spec
	own.Execution.Retry.MaxAttempts = 9
	for _, c := range []struct {
		name    string
		spec    toolspecs.Spec
		kind    api.ErrorType
		attempt int32
		again   bool
	}{
		{"second timeout", spread.Spec, api.ErrTimeout, 2, true},
		{"third timeout", spread.Spec, api.ErrTimeout, 3, false},
		{"third network error", spread.Spec, api.ErrExecution, 3, true},
		{"third timeout with its own retries", own, api.ErrTimeout, 3, true},
	} {
		call := attempt{info: activity.Info{Attempt: c.attempt}}
		got := call.limitRetries(&api.Error{Type: c.kind, Retryable: true}, &c.spec)
		if got.Retryable != c.again {
			t.Errorf("%s: retryable is %t", c.name, got.Retryable)
		}
	}
}
