package activities

import (
	"cmp"
	"encoding/json"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
)

// needApproval says that an admitted call waits for a person: because of what the tool says, or of a policy rule.
func (a *Activities) needApproval(r switchyard.AdmitRequest, c switchyard.Call, v switchyard.Verdict, tool switchyard.Tool, compiled *toolspecs.Compiled, reason, rule string) *switchyard.ApprovalNeed {
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(c.Arguments)
	}
	need := &switchyard.ApprovalNeed{Reason: reason, Rule: rule, Text: compiled.ApprovalText(arguments),
		Digest: switchyard.ApprovalDigest(r.Run, c.ID, tool, arguments), Within: switchyard.DefaultApprovalTimeout}
	if declared := compiled.Spec.Approval; declared != nil {
		need.Within, need.OnTimeout = cmp.Or(declared.Timeout, need.Within), declared.OnTimeout
	}
	return need
}
