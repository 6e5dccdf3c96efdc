// Package plan prepares calls of tools that are plans. The run executes them as child workflows.
package plan

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// Executor prepares calls of tools of the kind plan.
type Executor struct{}

// Execute implements executor.Executor. It always returns an error, because the run executes such
// calls as child workflows.
func (Executor) Execute(_ context.Context, spec *toolspecs.Spec,
	_ json.RawMessage) (executor.Answer, error) {
	return executor.Answer{}, api.Errorf(api.ErrExecutorNotFound,
		"tool %q is a plan, which runs as a child workflow and not as an activity", spec.Name)
}

// PrepareDecision implements executor.DecisionPreparer: it checks that the call's arguments fit
// into the plan, and has the call claim the plan's calls of the run's budget.
func (Executor) PrepareDecision(r api.AdmissionRequest, tool *toolspecs.Compiled,
	args json.RawMessage, v *api.AdmissionDecision) *api.Error {
	if e := executor.TooDeep(r); e != nil {
		return e
	}
	filled, err := tool.FillPlan(args)
	if err != nil {
		e := *api.AsError(err)
		e.Phase = api.PhasePreValidation
		return &e
	}
	v.Claim = len(filled.Calls)
	return nil
}
