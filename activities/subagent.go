package activities

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxPrompt bounds the prompt of one sub-agent, maxPrompts all prompts in the decisions of one
// admission, in bytes as written into history.
const (
	maxPrompt  = 256 << 10
	maxPrompts = 2 * maxPrompt
)

// admitAgent completes the decision on a call of an agent tool with the agent's prompt and the part
// of the run's budget that the call reserves.
func admitAgent(r api.AdmissionRequest, compiled *toolspecs.Compiled, arguments json.RawMessage,
	v *api.AdmissionDecision) *api.Error {
	if r.Depth >= api.MaxDepth {
		e := api.Errorf(api.ErrPreconditionFailed,
			"this run is a sub-agent %d deep already, and none may be deeper", r.Depth)
		e.Phase = api.PhasePreValidation
		return e
	}
	prompt, err := compiled.AgentPrompt(arguments)
	if err == nil && encodedSize(prompt) > maxPrompt {
		err = api.Errorf(api.ErrValidation,
			"what the agent would be asked has %d bytes; at most %d fit into history",
			encodedSize(prompt), maxPrompt)
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
	if len(compiled.Spec.Entry.Agent.Tools) > 0 {
		v.Claim = 1
	}
	return nil
}

// encodedSize returns the size of a text in history, in bytes.
func encodedSize(text string) int {
	data, err := json.Marshal(text)
	if err != nil {
		return len(text)
	}
	return len(data)
}
