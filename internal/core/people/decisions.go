// Package people checks and describes what people send to runs: decisions, replies, messages and
// controls.
package people

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Qualify returns which approver of each rule the one who decides is, or the first rule of which
// he is none.
func Qualify(n api.ApprovalNeed, d api.Decision) (as []api.Approver, missing *api.ApproverRule) {
	for _, rule := range n.Approvers {
		i := slices.IndexFunc(rule.Any, func(a api.Approver) bool { return fits(a, d) })
		if i < 0 {
			return nil, &rule
		}
		as = append(as, rule.Any[i])
	}
	return as, nil
}

// RefuseDecision returns why a decision about a call of that caller does not count because of who
// made it and what that person has seen; nil if it counts.
//
// The caller is known by an authenticated name. Names that programs on the Temporal server give
// themselves are compared as well if the call has approvers.
func RefuseDecision(n api.ApprovalNeed, d api.Decision, caller api.Caller) *api.ReplyError {
	if isUnseen(n, d) {
		return &api.ReplyError{Type: api.DecisionNotAllowed, Message: fmt.Sprintf("call %q is not approved by "+
			"its text alone, which does not show all arguments in full: decide in the console or "+
			"with starter approve", d.Call)}
	}
	who := display.Shorten(d.By, maxBy) + authNote(d.Auth)
	known := caller.Auth != "" || len(n.Approvers) > 0
	if !n.ByCaller && known && d.By == caller.Identity() {
		return &api.ReplyError{Type: api.DecisionOwnCall, Message: fmt.Sprintf(
			"%s is the caller of call %q: another person has to decide about it", who, d.Call)}
	}
	_, missing := Qualify(n, d)
	if missing == nil {
		return nil
	}
	by := "its tool"
	if missing.Rule != "" {
		by = fmt.Sprintf("the policy %q", missing.Rule)
	}
	message := fmt.Sprintf("%s may not decide about call %q: %s requires %s", who, d.Call, by,
		missing)
	if d.Auth == "" {
		message += "; a name without authentication is not accepted, so decide through the gateway"
	}
	return &api.ReplyError{Type: api.DecisionNotAllowed, Message: message, Approvers: n.Approvers}
}

// isUnseen reports whether who approves by the text of the call has not seen all of it.
func isUnseen(n api.ApprovalNeed, d api.Decision) bool {
	return d.ByText && n.Partial && d.Kind != api.DecisionDeny
}

// maxClaims bounds the claims of a decision as JSON, in bytes, maxRoles its roles.
const (
	maxClaims = 16 << 10
	maxRoles  = 10
)

// CheckDecision returns why a decision is invalid for any approval; nil if it is valid. A blank
// identity is left to the run, which records the refusal.
func CheckDecision(d api.Decision) *api.ReplyError {
	edits := d.Kind == api.DecisionEdit
	return malformedReply(
		replyFault{d.Call == "", "the decision names no call"},
		replyFault{!edits && d.Kind != api.DecisionApprove && d.Kind != api.DecisionDeny,
			"a decision must be approve, deny or edit"},
		replyFault{len(d.By) > maxBy, "the name of the person who decides is too long"},
		replyFault{IsNamed(d) && isBlankIdentity(d.By),
			"the name of the person who decides has neither letter nor digit"},
		replyFault{!isAuthMethod(d.Auth), noAuthMethod},
		replyFault{len(d.Reason) > maxReason, "the reason is too long"},
		replyFault{len(d.Call) > maxReason, "the call's id is too long"},
		replyFault{len(d.Digest) > maxBy, "the digest is too long"},
		replyFault{edits && len(d.Arguments) == 0, "an edit needs changed arguments"},
		replyFault{!edits && len(d.Arguments) > 0, "only an edit can have arguments"},
		replyFault{jsonvalue.PayloadSize(d.Arguments) > api.MaxPayload/2, "the changed arguments are too large"},
		replyFault{d.Grant != nil && d.Kind != api.DecisionApprove,
			"only an approval can grant a higher limit"},
		replyFault{isNegative(d.Grant), "granted amounts cannot be negative"},
		replyFault{len(d.Roles) > maxRoles || len(encodeClaims(d.Claims)) > maxClaims,
			"the roles and claims of the person who decides are too large"},
	)
}

func encodeClaims(claims map[string]any) []byte {
	data, _ := json.Marshal(claims) // they are JSON values
	return data
}

// IsNamed reports whether the decision has an identity.
func IsNamed(d api.Decision) bool { return strings.TrimSpace(d.By) != "" }

// decisionTexts has the verb for each decision.
var decisionTexts = map[api.DecisionKind]string{api.DecisionApprove: "approved", api.DecisionDeny: "denied",
	api.DecisionEdit:    "approved with changed arguments",
	api.DecisionTimeout: "not decided in time", api.DecisionWithdrawn: "withdrawn",
	"": "waits for approval"}

// DecidedNote returns the decision, who made it and why, in a few words.
func DecidedNote(d api.Decided) string {
	note := decisionTexts[d.Decision]
	if more := grantText(d.Grant); more != "" {
		note += " with " + more
	}
	if d.By != "" {
		note += " by " + display.Shorten(d.By, maxBy) + authNote(d.Auth)
	}
	if d.Reason != "" {
		note += ": " + display.Shorten(d.Reason, maxReason)
	}
	return note
}

// DecisionNote returns the decision in a few words.
func DecisionNote(d api.Decision) string {
	return DecidedNote(api.Decided{Decision: d.Kind, By: d.By, Auth: d.Auth, Reason: d.Reason,
		Grant: d.Grant})
}

// DenialError is the error of a call that a person denied.
func DenialError(d api.Decision) *api.Error {
	e := api.Errorf(api.ErrApprovalDenied, "%s", DecisionNote(d))
	e.Phase = api.PhasePreExecution
	return e
}

// NotApproved is the error of a call without a decision within the time waited.
func NotApproved(tool string, waited api.Duration) *api.Error {
	e := api.Errorf(api.ErrApprovalTimeout, "the call of %s was not approved within %s", tool, waited)
	e.Phase = api.PhasePreExecution
	return e
}

// NoticeCommand returns the command line that shows what waits and decides it; empty if there is
// nothing left to decide.
func NoticeCommand(n api.Notice) string {
	if n.Event == api.NoticeDecided {
		return ""
	}
	command := "starter approve " + display.ShellWord(n.WorkflowID) + " " + display.ShellWord(n.Call)
	if n.Limit != "" {
		command += " --grant " + n.Limit + "=AMOUNT"
	}
	return command
}
