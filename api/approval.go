package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// DefaultApprovalTimeout is the default time for a decision.
const DefaultApprovalTimeout = Duration(24 * time.Hour)

// MaxApprovalText bounds the text that shows a waiting call to people, in bytes.
const MaxApprovalText = 4 << 10

// ApprovalNeed says that a person has to approve a call before it runs. It is part of the admission
// decision.
type ApprovalNeed struct {
	// Reason is the reason that the tool or the rule gives.
	Reason string `json:"reason"`
	// Rule is the policy rule that asks; empty if the toolspec does.
	Rule string `json:"rule,omitempty"`
	// Limit is set if a run at that limit waits, not a call.
	Limit string `json:"limit,omitempty"`
	// Text shows the call, with sensitive arguments redacted.
	Text string `json:"text"`
	// Partial says that Text does not show every argument in full. The call is not approved by
	// somebody who has seen Text alone.
	Partial bool `json:"partial,omitempty"`
	// Digest identifies the exact call: run, call id, tool with its digest, and the validated
	// arguments. A decision has to repeat it.
	Digest string `json:"digest"`
	// Within is the time for a decision. Without one the call ends with approval_timeout.
	Within Duration `json:"within"`
	// Notify has the worker send a Notice to its webhook.
	Notify bool `json:"notify,omitempty"`
	// Approvers are who may decide: someone who fits one approver of each rule. Empty is everyone
	// but the caller.
	Approvers []ApproverRule `json:"approvers,omitempty"`
	// ByCaller lets the caller decide.
	ByCaller bool `json:"by_caller,omitempty"`
	// Clears are the labels that the approval removes from the run or replaces.
	Clears []Clearing `json:"clears,omitempty"`
}

// ApprovalDigest identifies a call of a run. Any other call, other arguments, another execution
// plan or another version of the tool gives another digest. The salt is never shown: without it a
// short sensitive argument could be found by trying values. A call that is asked about again
// therefore has another digest.
func ApprovalDigest(salt, run, call string, tool Tool, arguments json.RawMessage,
	plan *ExecutionPlan) string {
	parts := []string{salt, run, call, tool.Name, tool.Digest, string(arguments)}
	if plan != nil {
		written, _ := json.Marshal(plan) // it has texts and numbers alone
		parts = append(parts, string(written))
	}
	var b []byte
	for _, part := range parts {
		b = appendField(b, part)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Approval is a call that waits for a person's decision. It is part of the run's state and rebuilt
// from history.
type Approval struct {
	ApprovalNeed
	// Call is the id of the call.
	Call  string    `json:"call_id"`
	Tool  string    `json:"tool"`
	Asked time.Time `json:"asked,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Decisions about a call that waits for approval, and ends without one.
const (
	DecisionApprove DecisionKind = "approve"
	DecisionDeny    DecisionKind = "deny"
	// DecisionEdit approves the call with other arguments.
	DecisionEdit DecisionKind = "edit"
	// DecisionTimeout: there was no decision in time. DecisionWithdrawn: the call ended before a
	// decision.
	DecisionTimeout   DecisionKind = "timeout"
	DecisionWithdrawn DecisionKind = "withdrawn"
)

// DecisionKind is how an approval ended.
type DecisionKind string

// Decision is a person's decision about a call.
type Decision struct {
	// Call is the id of the call, and Digest that of the call as the person saw it.
	Call   string `json:"call_id"`
	Digest string `json:"digest,omitempty"`
	// Kind is approve, deny or edit.
	Kind DecisionKind `json:"decision"`
	// Arguments of an edit is a JSON merge patch (RFC 7396) for the call's arguments: its members
	// replace theirs, also in objects within; null removes one, and all others stay.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Grant is how much more a run at a limit may use.
	Grant *Grant `json:"grant,omitempty"`
	// ByText says that the person has seen the text of the approval, and nothing else of the call.
	ByText bool `json:"by_text,omitempty"`
	// By identifies who decides and must not be blank. Auth is how By was authenticated.
	By     string     `json:"by,omitempty"`
	Auth   AuthMethod `json:"auth,omitempty"`
	Reason string     `json:"reason,omitempty"`
	// Roles and Claims are those of By.
	Roles  []UserRole     `json:"roles,omitempty"`
	Claims map[string]any `json:"claims,omitempty"`
}

// Decided is how an approval ended. It is part of the call's record.
type Decided struct {
	// Asked is since when the call waited, Why the reason, and Rule the policy rule that asked.
	Asked  time.Time `json:"asked,omitzero"`
	Why    string    `json:"why,omitempty"`
	Rule   string    `json:"rule,omitempty"`
	Digest string    `json:"digest,omitempty"`
	// Decision is approve, deny, edit, timeout or withdrawn; empty while the call waits.
	Decision DecisionKind `json:"decision,omitempty"`
	By       string       `json:"by,omitempty"`
	// Auth is how By was authenticated; empty if the name is what the deciding program said.
	Auth   AuthMethod `json:"auth,omitempty"`
	Reason string     `json:"reason,omitempty"`
	// As are the approvers that By is, one for each rule that restricts who may decide.
	As []Approver `json:"as,omitempty"`
	At time.Time  `json:"at,omitzero"`
	// Original has the arguments before an edit, Edited those after it, both redacted.
	Original json.RawMessage `json:"original,omitempty"`
	Edited   json.RawMessage `json:"edited,omitempty"`
	// Grant is the grant to a run at a limit.
	Grant *Grant `json:"grant,omitempty"`
	// Cleared are the labels that the approval has removed from the run or replaced.
	Cleared []Clearing `json:"cleared,omitempty"`
}

// Reasons for which a decision is refused, besides those of a reply.
const (
	// DecisionMismatch: the digest is not that of the waiting call.
	DecisionMismatch ReplyErrorType = "approval_mismatch"
	// DecisionUnnamed: the decision has no identity.
	DecisionUnnamed ReplyErrorType = "approval_unnamed"
	// DecisionOwnCall: the caller of the call has decided about it.
	DecisionOwnCall ReplyErrorType = "approval_own_call"
	// DecisionNotAllowed: who has decided is none of the approvers.
	DecisionNotAllowed ReplyErrorType = "approval_not_allowed"
	// DecisionClosed: the approval has been decided, or its time is over. An approval takes one
	// decision.
	DecisionClosed ReplyErrorType = "approval_closed"
	// DecisionUnknown: the run has no such approval.
	DecisionUnknown ReplyErrorType = "approval_unknown"
	// DecisionUnfit: the edited arguments are refused; the approval stays open.
	DecisionUnfit ReplyErrorType = "edit_unfit"
	// DecisionBusy: another edit of the call is being checked.
	DecisionBusy ReplyErrorType = "approval_busy"
)

// NoticeEvent is what a Notice reports about an approval.
type NoticeEvent string

const (
	// NoticeWaiting: a call, or a run at a limit, waits for a person's decision.
	NoticeWaiting NoticeEvent = "waiting"
	// NoticeDecided: there is nothing left to decide.
	NoticeDecided NoticeEvent = "decided"
)

// Notice is what the workers' webhook receives about an approval: the input of
// NotifyApprovalActivity and the body of its request.
type Notice struct {
	Event NoticeEvent `json:"event"`
	// At is the time by the run's clock. Notices may arrive late, repeatedly and out of order.
	At         time.Time `json:"at"`
	WorkflowID string    `json:"workflow_id"`
	// Run is the id of the first execution of the run's chain.
	Run string `json:"run_id"`
	// Call is the id of the call and Tool its tool. For a run at a limit Call is LimitCall, and
	// Limit names the limit.
	Call  string `json:"call_id"`
	Tool  string `json:"tool,omitempty"`
	Limit string `json:"limit,omitempty"`
	// Text shows the call with sensitive arguments redacted. Reason is why it waits, Rule the
	// policy rule that asks.
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Digest string `json:"digest"`
	// Approvers are who may decide; empty is everyone but the caller.
	Approvers []ApproverRule `json:"approvers,omitempty"`
	// Until is the end of the time for a decision.
	Until time.Time `json:"until"`
	// Links decide in a browser. The worker that sends the notice makes them.
	Links *NoticeLinks `json:"links,omitempty"`
	// Decided is set if there is nothing left to decide.
	Decided *NoticeDecision `json:"decided,omitempty"`
	// Command is the command line that shows the call and decides it; empty if there is nothing
	// left to decide.
	Command string `json:"command,omitempty"`
}

// NoticeLinks are the addresses of pages that decide about a call. Approve and Deny are signed:
// whoever has them can decide. Page needs a login.
type NoticeLinks struct {
	Approve string `json:"approve,omitempty"`
	Deny    string `json:"deny,omitempty"`
	Page    string `json:"page"`
}

// NoticeDecision is the decision and who made it.
type NoticeDecision struct {
	Decision DecisionKind `json:"decision"`
	By       string       `json:"by,omitempty"`
	Auth     AuthMethod   `json:"auth,omitempty"`
	Reason   string       `json:"reason,omitempty"`
}
