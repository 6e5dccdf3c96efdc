package api

// Purpose says why a run itself makes a call. It is empty for a call that the run's model, plan or
// caller asked for.
type Purpose string

// The purposes of calls.
const (
	// PurposeUndo is that of a call that undoes its target call.
	PurposeUndo Purpose = "undo"
	// PurposeVerify is that of a call that determines whether its target call took effect.
	PurposeVerify Purpose = "verify"
	// PurposeCheck is that of a call that evaluates the run's answer. It has no target call.
	PurposeCheck Purpose = "check"
)

// CallPurpose is the purpose of a call, with the call that it is about.
type CallPurpose struct {
	Purpose Purpose `json:"purpose,omitempty"`
	// TargetCallID is the ID of the call that is undone or verified, or its path if the run of a
	// sub-agent made it.
	TargetCallID string `json:"target_call_id,omitempty"`
	// TargetTool is the tool of a call that is undone.
	TargetTool string `json:"target_tool,omitempty"`
}

// OfRun reports whether the run itself makes the call.
func (p CallPurpose) OfRun() bool { return p.Purpose != "" }

// Governed reports whether policies and approvals apply to the call. They do not apply to calls that
// undo or verify another one.
func (p CallPurpose) Governed() bool {
	return p.Purpose != PurposeUndo && p.Purpose != PurposeVerify
}
