// Package agent prepares calls of tools that are agents. The run executes them as child workflows.
package agent

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxPrompt bounds the prompt of one sub-agent, in bytes as written into history.
const maxPrompt = 256 << 10

// Executor prepares calls of tools of the kind agent.
type Executor struct{}

// Execute implements executor.Executor. It always returns an error, because the run executes such
// calls as child workflows.
func (Executor) Execute(_ context.Context, spec *toolspecs.Spec,
	_ json.RawMessage) (executor.Answer, error) {
	return executor.Answer{}, api.Errorf(api.ErrExecutorNotFound,
		"tool %q is an agent, which runs as a child workflow and not as an activity", spec.Name)
}

// PrepareDecision implements executor.DecisionPreparer: it completes the decision on a call with
// the agent's prompt and the part of the run's budget that the call reserves.
func (Executor) PrepareDecision(r api.AdmissionRequest, tool *toolspecs.Compiled,
	args json.RawMessage, v *api.AdmissionDecision) *api.Error {
	if e := executor.TooDeep(r); e != nil {
		return e
	}
	prompt, err := tool.AgentPrompt(args)
	if err == nil && executor.EncodedSize(prompt) > maxPrompt {
		err = api.Errorf(api.ErrValidation,
			"what the agent would be asked has %d bytes; at most %d fit into history",
			executor.EncodedSize(prompt), maxPrompt)
	}
	if err != nil {
		e := *api.AsError(err)
		e.Phase = api.PhasePreValidation
		return &e
	}
	if r.Spent != "" {
		e := api.Errorf(api.ErrBudgetExceeded,
			"the run's budget of %s is used up, so that nothing is left for a sub-agent", r.Spent)
		e.Phase = api.PhasePreExecution
		return e
	}
	v.Prompt = prompt
	if len(tool.Spec.Entry.Common().Agent.Tools) > 0 {
		v.Claim = 1
	}
	return nil
}
