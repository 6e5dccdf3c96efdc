package api

import "testing"

// A failed call may have had an effect if it started and did not report that it failed.
func TestMayHaveActed_DependsOnStartAndError(t *testing.T) {
	acted := map[ErrorType]bool{ErrTimeout: true, ErrWorkerLost: true, ErrOutcomeUnknown: true,
		ErrInvalidOutput: true}
	for _, kind := range ErrorTypes() {
		e := Error{Type: kind, Phase: PhaseExecution}
		if e.MayHaveActed() != acted[kind] {
			t.Errorf("%s: %t", kind, e.MayHaveActed())
		}
		e.NotStarted = true
		early := Error{Type: kind, Phase: PhasePreExecution}
		if e.MayHaveActed() || early.MayHaveActed() {
			t.Errorf("%s: a call that did not begin took effect", kind)
		}
		unclear := Error{Type: kind, Phase: PhaseExecution, Unclear: true}
		late := Error{Type: kind, Phase: PhasePostExecution}
		if !unclear.MayHaveActed() || !late.MayHaveActed() {
			t.Errorf("%s: a call that may have taken effect did not", kind)
		}
	}
}
