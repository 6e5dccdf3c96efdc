package switchyard

import "time"

// ApprovalTimeout is what comes of an approval that nobody decided in time.
type ApprovalTimeout string

const (
	// ApprovalDenies ends the call as approval_timeout. It is the default.
	ApprovalDenies ApprovalTimeout = "deny"
	// ApprovalEscalates keeps the approval open for as long again and tells of it once more, marked as escalated; after that
	// the call ends as approval_timeout.
	ApprovalEscalates ApprovalTimeout = "escalate"
)

// ApprovalNeed says that a call must not run before a person has approved it. It stands in the call's verdict.
type ApprovalNeed struct {
	// Reason is why, in words: what the tool or the rule says.
	Reason string `json:"reason"`
	// Rule is the policy rule that asks; empty where the toolspec does.
	Rule string `json:"rule,omitempty"`
	// Text shows the call to people, with sensitive arguments redacted.
	Text string `json:"text"`
	// Digest identifies the exact call: run, call id, tool with its digest, and the validated arguments. A decision names it.
	Digest string `json:"digest"`
	// Within is how long a decision may take, OnTimeout what comes then.
	Within    Duration        `json:"within"`
	OnTimeout ApprovalTimeout `json:"on_timeout,omitempty"`
	// Notify says that the worker's webhook is to be told.
	Notify bool `json:"notify,omitempty"`
}

// Approval is a call that waits for a person's decision. It stands in the run's memory and is rebuilt from history, so that
// nobody need be connected.
type Approval struct {
	ApprovalNeed
	// Call is the call's id, unique in its run.
	Call string `json:"call"`
	Tool string `json:"tool"`
	// Edited says who changed the arguments last; empty where they are the caller's.
	Edited    string    `json:"edited,omitempty"`
	Asked     time.Time `json:"asked,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Escalated bool      `json:"escalated,omitempty"`
}
