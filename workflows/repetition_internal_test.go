package workflows

import (
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The bounds of repetition, for the tests outside of the package.
const (
	MaxRequeues = maxRequeues
	MaxFollows  = maxFollows
)

// A call that workers returned is scheduled again up to twenty times. A call with effect once that
// did not start, and may succeed, is scheduled again twice.
func TestRequeues_AreBounded(t *testing.T) {
	once := api.Tool{Name: "t", Lane: "general", Effect: api.EffectOnce}
	read, stateful := once, once
	read.Effect, stateful.Dispatch = api.EffectRead, api.DispatchInstance
	returned, unsent := &api.Error{NotStarted: true, Requeue: true},
		&api.Error{Type: api.ErrExecution,
			NotStarted: true, Retryable: true}
	unprovided := &api.Error{Type: api.ErrPreconditionFailed, NotStarted: true, Retryable: true}
	for name, test := range map[string]struct {
		tool      api.Tool
		err       *api.Error
		want, own int
	}{
		"returned":                {once, returned, maxRequeues, maxRequeues},
		"returned, read":          {read, returned, maxRequeues, maxRequeues},
		"not started":             {once, unsent, maxRestarts, maxRestarts},
		"not started, read":       {read, unsent, 0, 0},
		"not started, stateful":   {stateful, unsent, maxRestarts, maxRestarts},
		"not provided, read":      {read, unprovided, 0, maxRequeues},
		"not started, for good":   {once, &api.Error{NotStarted: true}, 0, 0},
		"started, may be cured":   {once, &api.Error{Retryable: true}, 0, 0},
		"started, outcome is not": {once, &api.Error{Type: api.ErrOutcomeUnknown}, 0, 0},
	} {
		for purpose, want := range map[api.Purpose]int{"": test.want, api.PurposeUndo: test.own} {
			n := 0
			for requeues(test.tool, test.err, purpose, n) {
				n++
			}
			if n != want {
				t.Errorf("%s, %s: scheduled again %d times, want %d", name, purpose, n, want)
			}
		}
	}
}

// The tool must declare verify.
func TestVerifiable_NeedsUnknownOutcomeOfOnceTool(t *testing.T) {
	tool := api.Tool{Effect: api.EffectOnce, Verify: &api.Verify{}}
	unknown := api.Error{Type: api.ErrOutcomeUnknown, Phase: api.PhaseExecution}
	repeatable, stateful, person, silent := tool, tool, tool, tool
	repeatable.Effect, stateful.Dispatch, person.Dispatch, silent.Verify = api.EffectIdempotent,
		api.DispatchInstance, api.DispatchQuestion, nil
	if !isVerified(tool, &unknown) || isVerified(repeatable, &unknown) ||
		!isVerified(stateful, &unknown) || isVerified(person, &unknown) ||
		isVerified(silent, &unknown) {
		t.Error("which tools' calls are verified")
	}
	for _, kind := range api.ErrorTypes() {
		want := kind == api.ErrOutcomeUnknown
		if got := isVerified(tool, &api.Error{Type: kind, Phase: api.PhaseExecution}); got != want {
			t.Errorf("%s: %t", kind, got)
		}
	}
}
