package policyrules

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// DescribeClearings describes clearings in a list.
func DescribeClearings(list []api.Clearing) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return strings.Join(texts, ", ")
}

// ClearedLabels returns the labels that the call and its approval have cleared.
func ClearedLabels(r api.Record) (all []api.Clearing) {
	if r.Result != nil {
		all = r.Result.Cleared
	}
	if r.Approval != nil {
		all = slices.Concat(all, r.Approval.Cleared)
	}
	return all
}

// EmittedLabels returns the labels that an executed call gives its run, of those of its tool: all
// of them, without those whose conditions are known to be false.
func EmittedLabels(o api.CallOutcome, labels []string) []string {
	if o.Error != nil || o.Result == nil {
		return labels
	}
	parts := o.Result.Parts
	if len(parts) == 0 {
		parts = []api.CallOutcome{o}
	}
	return slices.DeleteFunc(slices.Clone(labels), func(label string) bool {
		return !slices.ContainsFunc(parts, func(p api.CallOutcome) bool {
			return p.Error != nil || p.Result == nil ||
				!slices.Contains(p.Result.NotEmitted, label)
		})
	})
}

// AddClearings has the approval clear labels, and tells the people who decide.
func AddClearings(n *api.ApprovalNeed, labels []api.Clearing) {
	if n.Clears = labels; len(labels) > 0 {
		n.Text += "\napproving the call clears labels of the run: " + DescribeClearings(labels)
	}
}
