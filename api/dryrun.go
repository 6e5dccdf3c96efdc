package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// WithheldEffect describes what a call of a dry run would have done. It is the output of the call's
// result.
type WithheldEffect struct {
	// DryRun is always true: it distinguishes this output from the tool's.
	DryRun bool   `json:"dry_run"`
	Tool   string `json:"would_call"`
	// Arguments are the validated arguments with sensitive values redacted.
	Arguments json.RawMessage `json:"arguments"`
	// Lane is the lane the call would have run on, with the key's part for a keyed lane.
	Lane string `json:"lane"`
	// Approval is why a person would have had to approve the call; empty if not.
	Approval string `json:"approval,omitempty"`
}

// DryRunNote is a system message to the model of a dry run.
const DryRunNote = "This is a dry run. Tools that only read are called. Every other call is withheld: nothing is done, and you are told " +
	"what it would have done. Go on as if it had succeeded, and say in your answer what you would have done."

// Withholds reports whether a dry run withholds the tool's calls because they may change something.
// A sub-agent is not withheld: its run is a dry run too.
func (t Tool) Withholds() bool { return t.Effect != EffectRead && t.Kind != KindAgent }

// IsDryRun reports whether an execution plan makes its call a dry run. A nil plan does not.
func (p *ExecutionPlan) IsDryRun() bool { return p != nil && p.DryRun }

// WithheldCall is a call that a dry run did not make, with what is needed to make it.
type WithheldCall struct {
	// Path leads to the call from the run on: its id, behind those of the calls whose sub-agents made it.
	Path    string `json:"path"`
	Tool    string `json:"tool"`
	Version string `json:"version"`
	// Digest names the exact toolspec.
	Digest string `json:"digest"`
	// Arguments are the validated ones.
	Arguments json.RawMessage `json:"arguments"`
	// Plan is the call's execution plan.
	Plan *ExecutionPlan `json:"plan,omitempty"`
	// Ask is what the rules said for which a person would have had to approve the call; empty where none did.
	Ask string `json:"ask,omitempty"`
	// Mask says which parts of the arguments are not shown.
	Mask *Mask `json:"-"`
}

// FromDryRun says of a plan's run which dry run withheld its calls, and who let them go.
type FromDryRun struct {
	WorkflowID string `json:"workflow_id"`
	Run        string `json:"run_id"`
	// Digest is the plan's, by PlanDigest.
	Digest string `json:"digest"`
	By     string `json:"by"`
}

// PlanOfDryRun returns the plan that makes the calls that a dry run withheld: exactly those, each with its toolspec as it was
// then, one after the other. A call that a rule would have had a person approve waits for that in the plan as well: the rules of
// the agent are not there any more.
func PlanOfDryRun(name string, calls []WithheldCall) (Plan, error) {
	plan := Plan{Name: name}
	taken := map[string]bool{}
	for _, c := range calls {
		arguments, err := c.planned()
		if err != nil {
			return Plan{}, fmt.Errorf("call %s of %s: %w", c.Path, c.Tool, err)
		}
		call := PlanCall{ID: planID(c.Path, taken), Tool: c.Tool, Arguments: arguments, Digest: c.Digest, Ask: c.Ask}
		if n := len(plan.Calls); n > 0 {
			call.DependsOn = []string{plan.Calls[n-1].ID}
		}
		plan.Calls = append(plan.Calls, call)
	}
	return plan, nil
}

// planned returns the call's arguments as a plan writes them: without references, and with the execution plan, which is no dry
// run any more.
func (c WithheldCall) planned() (json.RawMessage, error) {
	value, err := DecodeJSON(c.Arguments)
	if err != nil {
		return nil, err
	}
	if arguments, ok := value.(map[string]any); ok && c.Plan != nil {
		plan := *c.Plan
		plan.DryRun = false
		data, err := EncodeJSON(plan)
		if err != nil {
			return nil, err
		}
		if arguments[PlanArgument], err = DecodeJSON(data); err != nil {
			return nil, err
		}
	}
	return EncodeJSON(escapeReferences(value))
}

// planID makes the id of a plan's call of a call's path, other than those that are taken.
func planID(path string, taken map[string]bool) string {
	base := "call-" + strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '-'
	}, path)
	base = base[:min(len(base), MaxToolName-len("-9999"))]
	id := base
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	taken[id] = true
	return id
}

// PlanDigest identifies the calls of a plan, in their order.
func PlanDigest(p Plan) (string, error) {
	data, err := EncodeJSON(p.Calls)
	return Digest(data), err
}

// Shown returns the plan with the values of sensitive arguments redacted, also in execution plans; calls are those that it was
// made of.
func (p Plan) Shown(calls []WithheldCall) Plan {
	p.Calls = slices.Clone(p.Calls)
	for i, c := range calls {
		c.Plan, c.Arguments = c.Plan.Redacted(c.Mask, c.Arguments), c.Mask.Redact(c.Arguments)
		arguments, err := c.planned()
		if err != nil {
			arguments = redactedJSON
		}
		p.Calls[i].Arguments = arguments
	}
	return p
}
