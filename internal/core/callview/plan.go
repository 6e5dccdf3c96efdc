package callview

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// RedactPlan returns the plan with the values of the call's sensitive arguments replaced in its
// texts, because a caller may repeat them there. If the arguments are not valid JSON, the texts are
// removed.
func RedactPlan(p *api.ExecutionPlan, mask *redaction.Mask,
	arguments json.RawMessage) *api.ExecutionPlan {
	if p == nil || mask == nil {
		return p
	}
	shown := *p
	if _, err := jsonvalue.Decode(arguments); err != nil {
		shown.Intent, shown.Rollback, shown.Preconditions, shown.ExpectedOutcomes = redaction.Word, "",
			nil, nil
		return &shown
	}
	var none *redaction.Hider
	return HidePlan(p, none.With(redaction.Word, mask.Values(arguments)...))
}

// HidePlan returns the plan with its texts hidden by the hider. The plan may be nil.
func HidePlan(p *api.ExecutionPlan, hider *redaction.Hider) *api.ExecutionPlan {
	if p == nil || hider == nil {
		return p
	}
	shown := *p
	shown.Intent, shown.Rollback = hider.Text(p.Intent), hider.Text(p.Rollback)
	shown.Preconditions, shown.ExpectedOutcomes = hider.Texts(p.Preconditions),
		hider.Texts(p.ExpectedOutcomes)
	return &shown
}
