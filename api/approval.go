package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// ApprovalTimeout is what comes of an approval that nobody decided in time.
type ApprovalTimeout string

const (
	// ApprovalDenies ends the call as approval_timeout. It is the default.
	ApprovalDenies ApprovalTimeout = "deny"
	// ApprovalEscalates keeps the approval open for as long again and tells of it once more, marked as escalated; after that
	// the call ends as approval_timeout.
	ApprovalEscalates ApprovalTimeout = "escalate"
)

// DefaultApprovalTimeout is how long a decision may take where nothing else is said.
const DefaultApprovalTimeout = Duration(24 * time.Hour)

// MaxApprovalText bounds what people are shown of a call that waits for approval, in bytes.
const MaxApprovalText = 4 << 10

// ApprovalNeed says that a call must not run before a person has approved it. It stands in the call's verdict.
type ApprovalNeed struct {
	// Reason is why, in words: what the tool or the rule says.
	Reason string `json:"reason"`
	// Rule is the policy rule that asks; empty where the toolspec does.
	Rule string `json:"rule,omitempty"`
	// Limit is set where it is no call that waits, but a run that has reached that limit of its own.
	Limit string `json:"limit,omitempty"`
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

// ApprovalDigest identifies a call of a run: any other call, of the same run or of another, and the same call with other
// arguments, another execution plan or of another version of the tool, has another digest. The salt is kept from all who are shown the
// digest: without it, they could find out a short sensitive argument by trying. So the same call asked about anew has another one too.
func ApprovalDigest(salt, run, call string, tool Tool, arguments json.RawMessage, plan *ExecutionPlan) string {
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

// Approval is a call that waits for a person's decision. It stands in the run's memory and is rebuilt from history, so that
// nobody need be connected.
type Approval struct {
	ApprovalNeed
	// Call is the call's id, unique in its run.
	Call      string    `json:"call_id"`
	Tool      string    `json:"tool"`
	Asked     time.Time `json:"asked,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Escalated bool      `json:"escalated,omitempty"`
}

// approvalTimer begins the summary of the timer of an approval.
const approvalTimer = "approval of "

// ApprovalTimer is the summary, in history, of the timer that bounds the approval of a call.
func ApprovalTimer(call string) string { return approvalTimer + call }

// TimedApproval returns the call whose approval a timer with that summary bounds; empty for any other timer.
func TimedApproval(summary string) (call string) {
	call, _ = strings.CutPrefix(summary, approvalTimer)
	if call == summary {
		return ""
	}
	return call
}

// Waited is how long nobody has decided when the approval's time is over.
func (a Approval) Waited() Duration {
	if a.Escalated {
		return 2 * a.Within
	}
	return a.Within
}

// Verdicts of people on a call that waits for approval, and what becomes of one that nobody decided.
const (
	DecisionApprove DecisionKind = "approve"
	DecisionDeny    DecisionKind = "deny"
	// DecisionEdit approves the call with other arguments.
	DecisionEdit DecisionKind = "edit"
	// DecisionTimeout: nobody decided in time. DecisionWithdrawn: the call was over before anybody did.
	DecisionTimeout   DecisionKind = "timeout"
	DecisionWithdrawn DecisionKind = "withdrawn"
)

// DecisionKind says what became of an approval.
type DecisionKind string

// Decision is what a person says to a call that waits for approval.
type Decision struct {
	// Call is the call's id, and Digest that of what the person has seen of it.
	Call   string `json:"call_id"`
	Digest string `json:"digest,omitempty"`
	// Kind is approve, deny or edit.
	Kind DecisionKind `json:"decision"`
	// Arguments, of an edit, is an object: what it names takes the place of the call's own arguments, null takes one out, and
	// all others stay.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Grant, of the approval of a run at a limit, is how much more it may use.
	Grant *Grant `json:"grant,omitempty"`
	// By is who decides; a decision of nobody is refused.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Check returns what is wrong with a decision whatever the approval; nil if nothing is. That it names nobody is for the run to
// refuse, which keeps that.
func (d Decision) Check() *ReplyError {
	edits := d.Kind == DecisionEdit
	return malformedReply(
		replyFault{d.Call == "", "the decision does not say which call it is about"},
		replyFault{!edits && d.Kind != DecisionApprove && d.Kind != DecisionDeny, "a decision is approve, deny or edit"},
		replyFault{len(d.By) > maxBy, "the name of who decides is too long"},
		replyFault{d.Named() && IsBlankIdentity(d.By), "the name of who decides has no letter and no digit"},
		replyFault{len(d.Reason) > maxReason, "the reason is too long"},
		replyFault{len(d.Call) > maxReason, "the call's id is too long"},
		replyFault{len(d.Digest) > maxBy, "the digest is too long"},
		replyFault{edits && len(d.Arguments) == 0, "an edit says which arguments it changes"},
		replyFault{!edits && len(d.Arguments) > 0, "only an edit has arguments"},
		replyFault{len(d.Arguments) > MaxPayload/2, "the changed arguments are too large"},
		replyFault{d.Grant != nil && d.Kind != DecisionApprove, "only an approval grants something"},
		replyFault{d.Grant.negative(), "what is granted cannot be less than nothing"},
	)
}

// Named reports whether the decision says whose it is.
func (d Decision) Named() bool { return strings.TrimSpace(d.By) != "" }

// Decided is what became of an approval; it stands in the call's record.
type Decided struct {
	// Asked is since when the call waited, Why what it was asked for, and Rule the policy rule that asked.
	Asked  time.Time `json:"asked,omitzero"`
	Why    string    `json:"why,omitempty"`
	Rule   string    `json:"rule,omitempty"`
	Digest string    `json:"digest,omitempty"`
	// Decision is approve, deny, edit, timeout or withdrawn; empty while the call waits.
	Decision DecisionKind `json:"decision,omitempty"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	At       time.Time    `json:"at,omitzero"`
	// Escalated is when nobody had decided in time, where the approval stayed open for as long again.
	Escalated time.Time `json:"escalated,omitzero"`
	// Edited are, of an edit, the arguments that it made, with sensitive ones redacted.
	Edited json.RawMessage `json:"edited,omitempty"`
	// Grant is what a run at a limit was granted.
	Grant *Grant `json:"grant,omitempty"`
}

// decisionWords say what was decided, before the name of who did.
var decisionText = map[DecisionKind]string{DecisionApprove: "approved", DecisionDeny: "denied", DecisionEdit: "approved with changed arguments",
	DecisionTimeout: "not decided in time", DecisionWithdrawn: "withdrawn", "": "waits for approval"}

// Note says in a few words what was decided, by whom, and why.
func (d Decided) Note() string {
	note := decisionText[d.Decision]
	if d.By != "" {
		note += " by " + Shorten(d.By, maxBy)
	}
	if d.Reason != "" {
		note += ": " + Shorten(d.Reason, maxReason)
	}
	return note
}

// Note says in a few words what a person decided.
func (d Decision) Note() string {
	return Decided{Decision: d.Kind, By: d.By, Reason: d.Reason}.Note()
}

// Denied is the error of a call that a person did not approve.
func (d Decision) Denied() *Error {
	e := Errorf(ErrApprovalDenied, "%s", d.Note())
	e.Phase = PhasePreExecution
	return e
}

// NotApproved is the error of a call that nobody approved in time; it waited for so long.
func NotApproved(tool string, waited Duration) *Error {
	e := Errorf(ErrApprovalTimeout, "nobody approved the call of %s within %s", tool, waited)
	e.Phase = PhasePreExecution
	return e
}

// Why a decision was refused, beside those of a reply.
const (
	// DecisionMismatch: the decision is about another call than the one that waits: its digest is another.
	DecisionMismatch ReplyErrorType = "approval_mismatch"
	// DecisionUnnamed: it does not say whose it is.
	DecisionUnnamed ReplyErrorType = "approval_unnamed"
	// DecisionClosed: the approval has been decided, or its time is over. An approval takes one decision.
	DecisionClosed ReplyErrorType = "approval_closed"
	// DecisionUnknown: the run has no such approval.
	DecisionUnknown ReplyErrorType = "approval_unknown"
	// DecisionUnfit: the changed arguments are refused; the approval stays open.
	DecisionUnfit ReplyErrorType = "edit_unfit"
	// DecisionBusy: another edit of the call is being checked.
	DecisionBusy ReplyErrorType = "approval_busy"
)

// EditRequest is the input of EditActivity: a call that waits for approval is admitted anew with changed arguments.
type EditRequest struct {
	// Admit has the one call, with the arguments that it has now.
	Admit AdmissionRequest `json:"admit"`
	// Decision is the edit.
	Decision Decision `json:"decision"`
}
