package admission

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// withhold answers the admitted calls of a dry run that may have side effects without executing
// them. It runs after all other admission checks, so that invalid calls are rejected as in any
// other run.
func (a *Admitter) withhold(_ context.Context, all *turnAdmission) error {
	for i, v := range all.decisions {
		if v.Error != nil || v.Result != nil || !all.DryRun && !v.Plan.IsDryRun() {
			continue
		}
		if tool, _ := findTool(all.AdmissionRequest,
			all.Calls[i].Tool); policyrules.Withholds(tool) {
			all.decisions[i] = withheld(tool, all.Calls[i], v)
		}
	}
	return nil
}

// withheld returns the admission decision on a call that is not executed.
func withheld(tool api.Tool, c api.Call, v api.AdmissionDecision) api.AdmissionDecision {
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(c.Arguments)
	}
	told := api.WithheldEffect{DryRun: true, Tool: c.Tool,
		Arguments: callview.RedactArguments(tool, arguments),
		Lane:      tool.Lane}
	if v.Route.Key != "" {
		told.Lane += "/" + v.Route.Key
	}
	if v.Approval != nil {
		told.Approval = v.Approval.Reason
	}
	output, err := jsonvalue.Encode(told)
	if err != nil {
		v.Error = api.Errorf(api.ErrExecution,
			"the withheld call cannot be written as JSON: %v", err)
		v.Error.Phase = api.PhasePreExecution
		return omitExecution(v)
	}
	result := api.Result{Output: output, Notes: append(v.Notes[:len(v.Notes):len(v.Notes)],
		"dry run: nothing was done")}
	result.Tokens = tokens.Count(result.ForModel())
	v.Result = &result
	v = omitExecution(v)
	v.DryRun = true
	return v
}
