package toolspecs

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// TestReads_AreRetriedWhileAServiceRestarts states which tools spread their retries, and over which
// time.
func TestReads_AreRetriedWhileAServiceRestarts(t *testing.T) {
	second := api.Duration(time.Second)
	rest := Entry{Kind: RESTEntry{BaseURL: "https://example.com", Path: "/"}}
	for _, c := range []struct {
		name      string
		spec      Spec
		attempts  int
		atMost    time.Duration
		spreading bool
	}{
		{"a read", Spec{Entry: rest}, 7, 30 * time.Second, true},
		{"a short timeout", Spec{Entry: rest, Execution: ExecutionSpec{Timeout: 5 * second}}, 7,
			5 * time.Second, true},
		{"a tiny timeout", Spec{Entry: rest, Execution: ExecutionSpec{
			Timeout: api.Duration(10 * time.Millisecond)}}, 7, 50 * time.Millisecond, true},
		{"a long timeout", Spec{Entry: rest, Execution: ExecutionSpec{Timeout: 300 * second}}, 7,
			30 * time.Second, true},
		{"its own retries", Spec{Entry: rest, Execution: ExecutionSpec{
			Retry: api.Retry{MaxAttempts: 7}}}, 7, 30 * time.Second, false},
		{"inline", Spec{Entry: rest, Execution: ExecutionSpec{Lane: api.LaneInline}}, 3,
			time.Second, false},
		{"idempotent", Spec{Entry: rest, Execution: ExecutionSpec{
			Effect: api.EffectIdempotent}}, 3, time.Second, false},
		{"a function", Spec{Entry: Entry{Kind: FunctionEntry{}}, Execution: ExecutionSpec{
			Effect: api.EffectRead}}, 3, time.Second, false},
	} {
		s := compile(t, c.spec).Spec
		r := s.Execution.Retry
		total, wait := time.Duration(0), r.InitialInterval.Std()
		for range r.MaxAttempts - 1 {
			total += min(wait, r.MaxInterval.Std())
			wait = time.Duration(float64(wait) * r.Backoff)
		}
		if r.MaxAttempts != c.attempts || total > c.atMost || s.SpreadsReads() != c.spreading ||
			c.spreading && total < c.atMost*9/10 && c.atMost > time.Second {
			t.Errorf("%s: %+v, %s in all, spread: %t", c.name, r, total, s.SpreadsReads())
		}
	}
}
