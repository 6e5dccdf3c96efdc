package switchyard

import "encoding/json"

// Withheld is what a call that a dry run did not make would have done. It is the output of the call's result.
type Withheld struct {
	// DryRun is always true: it tells the answer from one of the tool.
	DryRun bool   `json:"dry_run"`
	Tool   string `json:"would_call"`
	// Arguments are the validated ones, sensitive values redacted.
	Arguments json.RawMessage `json:"arguments"`
	// Lane is where the call would have run, of a keyed lane with the key's part.
	Lane string `json:"lane"`
	// Approval is why a person would have had to approve it; empty where nobody would.
	Approval string `json:"approval,omitempty"`
}

// DryRunNote is told to the model of a dry run before its first turn.
const DryRunNote = "This is a dry run. Tools that only read are called. Every other call is withheld: nothing is done, and you are told " +
	"what it would have done. Go on as if it had succeeded, and say in your answer what you would have done."

// Withholds reports whether a dry run does not make the tool's calls: they might change something. An agent's run is a dry run
// itself.
func (t Tool) Withholds() bool { return t.Effect != EffectRead && t.Kind != KindAgent }

// IsDryRun reports whether an execution plan makes its call a dry run. It may be called on nil.
func (p *ExecutionPlan) IsDryRun() bool { return p != nil && p.DryRun }
