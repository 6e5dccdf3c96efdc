package admission

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// needApproval marks an admitted call as waiting for a person's approval, which its tool, its plan
// or a policy rule requires. approvers are those of policy rules.
func (a *Admitter) needApproval(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision,
	tool api.Tool, compiled *toolspecs.Compiled, reason, rule string,
	approvers ...api.ApproverRule) *api.ApprovalNeed {
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(c.Arguments)
	}
	text, partial := compiled.ApprovalText(arguments)
	var hider *redaction.Hider // the reason may repeat sensitive arguments, as the text may
	hider = hider.With(redaction.Word, callview.ArgumentMask(tool).Values(arguments)...)
	need := &api.ApprovalNeed{Reason: hider.Text(reason), Rule: rule, Text: hider.Text(text),
		Partial: partial,
		Digest:  api.ApprovalDigest(rand.Text(), r.Run, c.ID, tool, arguments, v.Plan),
		Within:  api.DefaultApprovalTimeout,
		Notify:  a.config.Notify, Approvers: approvers}
	if plan := callview.RedactPlan(v.Plan, callview.ArgumentMask(tool), arguments); plan != nil {
		need.Text += "\nintent: " + display.Shorten(plan.Intent, maxIntent)
	}
	if declared := compiled.Spec.Approval; declared != nil {
		need.Within = cmp.Or(declared.Timeout, need.Within)
		need.ByCaller = declared.ByCaller && rule == ""
		need.Approvers = append(need.Approvers, findApprovers(declared, compiled,
			newFacts(r, c, v, tool, compiled))...)
	}
	return need
}

// findApprovers returns who may decide about a call by its toolspec, if that requires approval.
func findApprovers(declared *toolspecs.Approval, compiled *toolspecs.Compiled,
	facts *policies.Facts) []api.ApproverRule {
	if len(declared.Approvers) == 0 {
		return nil
	}
	if _, needs := compiled.NeedsApproval(facts); !needs {
		return nil
	}
	return []api.ApproverRule{{Any: declared.Approvers}}
}

// maxIntent bounds the intent of an execution plan as shown to people, in characters.
const maxIntent = 500

// approvals completes the decisions on calls whose tool or plan requires approval. Calls that the
// run makes itself need none: approving the original call also approves the calls that undo or
// verify it. allowed are those that rules allow without the approval that their tools require.
func (a *Admitter) approvals(r api.AdmissionRequest, decisions []api.AdmissionDecision,
	allowed []bool) []api.AdmissionDecision {
	for i, v := range decisions {
		if complete(v) || !r.Calls[i].IsGoverned() || allowed[i] && r.Calls[i].Ask == "" {
			continue
		}
		tool, _ := findTool(r, r.Calls[i].Tool)
		compiled, err := a.config.Specs.Of(tool)
		if err != nil {
			continue
		}
		if reason, needs := needsApproval(r, r.Calls[i], v, tool, compiled); needs {
			decisions[i].Approval = a.needApproval(r, r.Calls[i], v, tool, compiled,
				executor.ValidText(reason), "")
		}
	}
	return decisions
}

// complete reports whether a decision needs no look at the toolspec's approval any more.
func complete(v api.AdmissionDecision) bool {
	return v.Error != nil || v.Result != nil || v.Approval != nil
}

// needsApproval reports whether a call's plan or tool requires approval, and why.
func needsApproval(r api.AdmissionRequest, c api.Call, v api.AdmissionDecision, tool api.Tool,
	compiled *toolspecs.Compiled) (reason string, needs bool) {
	switch {
	case c.Ask != "":
		return display.Shorten(c.Ask, api.MaxAsk), true
	case compiled.Spec.Approval == nil:
		return "", false
	}
	return compiled.NeedsApproval(newFacts(r, c, v, tool, compiled))
}

// Edit implements the activity api.AdmitEditActivity: it admits a call that waits for approval
// again, with a person's changes to its arguments. The arguments are validated and checked like
// those of any other call. The decision requires no approval, because the edit is one; but who
// edits has to be an approver of the edited call, too. Edit runs as a local activity of the update
// that contains the edit. Errors are those of Admit.
func (a *Admitter) Edit(ctx context.Context, r api.EditRequest) (api.AdmissionDecision, error) {
	c := r.Admit.Calls[0]
	tool, _ := findTool(r.Admit, c.Tool)
	present := json.RawMessage(c.Arguments)
	arguments, err := applyChanges(present, r.Decision.Arguments)
	if err == nil && len(arguments) > maxHooked {
		err = fmt.Errorf("the arguments have %d bytes in all, and may have %d", len(arguments),
			maxHooked)
	}
	if err != nil {
		fault := api.Errorf(api.ErrValidation, "%v", err)
		fault.Phase = api.PhasePreValidation
		return api.AdmissionDecision{ID: c.ID, Error: fault}, nil
	}
	c.Arguments = string(arguments)
	r.Admit.Calls, r.Admit.Final = []api.Call{c}, true
	decisions, err := a.Admit(ctx, r.Admit)
	if err != nil {
		return api.AdmissionDecision{}, err
	}
	v := decisions[0]
	if v.Error != nil {
		return v, nil
	}
	if v.Approval != nil {
		if refused := people.RefuseDecision(*v.Approval, r.Decision,
			r.Admit.Caller); refused != nil {
			v.Error = api.Errorf(api.ErrPolicyViolation, "%s", refused.Message)
			v.Error.Phase = api.PhasePreExecution
			a.dropReservation(ctx, r.Admit, v)
			return v, nil
		}
	}
	if len(v.Arguments) == 0 {
		v.Arguments = arguments
	}
	v.Approval = nil
	v.Notes = append(v.Notes, noteOfEdit(r.Decision, tool, present, v.Arguments))
	return v, nil
}

// noteOfEdit describes who changed which arguments of a call, and how. It omits sensitive values,
// and names within them.
func noteOfEdit(d api.Decision, tool api.Tool, before, after json.RawMessage) string {
	var hider *redaction.Hider
	hider = hider.With(redaction.Word, slices.Concat(callview.ArgumentMask(tool).Values(before),
		callview.ArgumentMask(tool).Values(after))...)
	old, now := decodeMembers(callview.RedactArguments(tool, before)),
		decodeMembers(callview.RedactArguments(tool, after))
	var changes []string
	for _, change := range jsontext.Differences(decodeMembers(before), decodeMembers(after)) {
		text := noteOfChange(old, now, change.Path)
		if !slices.Contains(changes, text) { // several members of a sensitive object
			changes = append(changes, text)
		}
	}
	if changes == nil {
		changes = []string{"none"}
	}
	return fmt.Sprintf("%s approved this call with changed arguments: %s",
		display.Shorten(d.By, maxEditor), display.Shorten(hider.Text(strings.Join(changes, ", ")), maxNote))
}

// noteOfChange describes what a path leads to in redacted arguments. A path that leads into a
// sensitive value ends there.
func noteOfChange(before, after any, path []string) string {
	for i, name := range path {
		old, _ := before.(map[string]any)
		now, _ := after.(map[string]any)
		was := old[name]
		is, stays := now[name]
		before, after = was, is
		switch at := jsontext.Name(path[:i+1]); {
		case !stays:
			return at + " removed"
		case is == redaction.Word || was == redaction.Word || i == len(path)-1:
			return at + "=" + display.Shorten(jsonvalue.Plain(jsontext.Encode(is, nil)), maxNoted)
		}
	}
	return ""
}

// decodeMembers returns the arguments of a call; an empty object for a call without arguments.
func decodeMembers(arguments json.RawMessage) map[string]any {
	value, _ := jsonvalue.Decode(arguments) // validated arguments are an object
	if members, ok := value.(map[string]any); ok {
		return members
	}
	return map[string]any{}
}

// maxNoted bounds a changed argument in the note of a call, and maxNote all of them, in characters.
const (
	maxNoted = 40
	maxNote  = 300
)

// maxEditor bounds the editor's name in the note of a call, in characters.
const maxEditor = 100

// applyChanges returns arguments with changes applied, which are a JSON merge patch.
func applyChanges(arguments, changes json.RawMessage) (json.RawMessage, error) {
	value, fault := jsontext.Parse(string(changes))
	if fault != nil && fault.Rule == jsontext.RuleDuplicate {
		return nil, fmt.Errorf("the changed arguments: %w", fault)
	}
	patch, ok := value.(map[string]any)
	if fault != nil || !ok {
		return nil, fmt.Errorf(
			"the changed arguments must be an object, such as {\"path\": \"a.md\"}")
	}
	whole, _ := jsonvalue.Decode(arguments) // validated arguments are an object
	return jsonvalue.Encode(jsontext.Merge(whole, patch))
}

// Limit implements the activity api.DescribeLimitActivity: it returns what a person is asked when a
// run reaches a limit. It runs as a local activity, so that history records the question.
func (a *Admitter) Limit(_ context.Context, r api.LimitRequest) (api.ApprovalNeed, error) {
	need := people.LimitNeed(r)
	need.Notify = a.config.Notify
	return need, nil
}
