package toolspecs

import (
	"cmp"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Defaults of a spec's execution facts.
const (
	defaultTimeout = api.Duration(30 * time.Second)
	// DefaultHeartbeat is that of calls that are safe to repeat: they resume soon after a crash.
	DefaultHeartbeat = api.Duration(3 * time.Second)
	// defaultOnceHeartbeat is that of calls with effect once. A false alarm costs more than a late
	// one, so it covers thirty seconds without the server, the last heartbeat before and the
	// reconnection after them.
	defaultOnceHeartbeat = api.Duration(time.Minute)
	// DefaultMaxResult bounds a result in bytes: what a model sees and what goes into history.
	DefaultMaxResult = 32 << 10
	DefaultSlowAfter = api.Duration(5 * time.Second)
	// defaultInlineTimeout and maxInlineTimeout are shorter, because an inline call blocks its
	// run's workflow task.
	defaultInlineTimeout = api.Duration(2 * time.Second)
	maxInlineTimeout     = api.MaxInlineTimeout
	// defaultWithin is that of dependencies.
	defaultWithin = api.Duration(10 * time.Second)
	onInvalidFail = "fail"
)

// defaultRetry is the retry policy of tools that do not declare one, except for those of
// spreadReads. Tools with effect once have one attempt.
var defaultRetry = api.Retry{
	MaxAttempts:     DefaultAttempts,
	InitialInterval: api.Duration(200 * time.Millisecond),
	Backoff:         2,
	MaxInterval:     api.Duration(10 * time.Second),
}

const (
	// readSpread is the time over which failed reads of network services are repeated by default: a
	// service that restarts is back by then.
	readSpread = api.Duration(30 * time.Second)
	// readAttempts are the attempts in that time. Each wait is twice the one before.
	readAttempts = 7
)

// spreadReads sets the default retries of a tool that reads from a network service. Inline calls
// are not spread, because they delay the run's other work.
func (s *Spec) spreadReads() {
	e := &s.Execution
	if e.Effect == api.EffectRead && e.Lane != api.LaneInline && e.Retry == (api.Retry{}) {
		e.Retry = spreadRetry(cmp.Or(e.Timeout, defaultTimeout))
	}
}

// spreadRetry returns retries over readSpread, or over the tool's timeout if that is shorter.
func spreadRetry(timeout api.Duration) api.Retry {
	spread := min(readSpread, timeout)
	first := (spread / (1<<(readAttempts-1) - 1)).Std().Round(time.Millisecond)
	return api.Retry{MaxAttempts: readAttempts, Backoff: 2, MaxInterval: spread,
		InitialInterval: max(api.Duration(first), api.Duration(time.Millisecond))}
}

// SpreadsReads reports whether the retries of calls are the default ones of a tool that reads from
// a network service.
func (s *Spec) SpreadsReads() bool {
	return s.Execution.Effect == api.EffectRead &&
		s.Execution.Retry == spreadRetry(s.Execution.Timeout)
}

// DefaultAttempts is the number of attempts of calls that are safe to repeat.
const DefaultAttempts = 3

// withDefaults returns s with every default filled in. Values that are set stay; the function is
// idempotent.
func (s Spec) withDefaults() Spec {
	s.Status = cmp.Or(s.Status, api.StatusActive)
	s.Approval = s.Approval.withDefaults()
	if s.Entry.Kind != nil {
		s.Entry.Kind = s.Entry.Kind.withDefaults(&s)
	}
	s.Execution = s.Execution.withDefaults(s.Entry)
	if s.Batch != nil {
		batch := *s.Batch
		batch.Max = cmp.Or(batch.Max, api.DefaultBatch)
		s.Batch = &batch
	}
	s.Requires.Dependencies = slices.Clone(s.Requires.Dependencies)
	for i, d := range s.Requires.Dependencies {
		s.Requires.Dependencies[i].Within = cmp.Or(d.Within, defaultWithin)
	}
	return s
}

func (e ExecutionSpec) withDefaults(entry Entry) ExecutionSpec {
	e.Access = cmp.Or(e.Access, api.AccessShared)
	e.Effect = cmp.Or(e.Effect, api.EffectOnce)
	if e.Lane == "" {
		e.Lane, e.laneless = e.usualLane(entry), entry.movesWithCategory()
	}
	if e.Lane == api.LaneInline && entry.takesSlots() {
		e.Timeout = cmp.Or(e.Timeout, defaultInlineTimeout)
	}
	e.Timeout = cmp.Or(e.Timeout, defaultTimeout)
	e.Heartbeat = cmp.Or(e.Heartbeat, usualHeartbeat(e.Effect))
	e.MaxResult = cmp.Or(e.MaxResult, DefaultMaxResult)
	e.SlowAfter = cmp.Or(e.SlowAfter, DefaultSlowAfter)
	e.OnInvalidOutput = cmp.Or(e.OnInvalidOutput, onInvalidFail)
	e.Retry = retryWithDefaults(e.Retry, e.Effect)
	return e
}

func usualHeartbeat(effect api.Effect) api.Duration {
	if effect == api.EffectOnce {
		return defaultOnceHeartbeat
	}
	return DefaultHeartbeat
}

func retryWithDefaults(r api.Retry, effect api.Effect) api.Retry {
	attempts := defaultRetry.MaxAttempts
	if effect == api.EffectOnce {
		attempts = 1
	}
	r.MaxAttempts = cmp.Or(r.MaxAttempts, attempts)
	r.InitialInterval = cmp.Or(r.InitialInterval, defaultRetry.InitialInterval)
	r.Backoff = cmp.Or(r.Backoff, defaultRetry.Backoff)
	r.MaxInterval = cmp.Or(r.MaxInterval, max(defaultRetry.MaxInterval, r.InitialInterval))
	return r
}
