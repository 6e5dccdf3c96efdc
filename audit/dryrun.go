package audit

import (
	"context"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// Withheld returns the calls that a dry run and its sub-agents have withheld so far, in the order
// of Tree. The arguments are not redacted. Parameters and errors are those of Events.
func Withheld(
	ctx context.Context,
	c client.Client,
	workflowID, runID string,
) ([]api.WithheldCall, error) {
	ch := &chain{client: c, workflowID: workflowID, runID: runID}
	byID := map[string]api.WithheldCall{}
	ch.withheld = func(w api.WithheldCall) { byID[w.Path] = w }
	var records []api.Record
	for event, err := range ch.events(ctx) {
		if err != nil {
			return nil, err
		}
		if ofDryRun(event.Record) {
			records = append(records, *event.Record)
		}
	}
	slices.SortStableFunc(records, ByCall)
	var calls []api.WithheldCall
	for _, r := range records {
		if r.DryRun {
			calls = append(calls, byID[r.CallID])
			continue
		}
		below, err := withheldBelow(ctx, c, r)
		if err != nil {
			return nil, err
		}
		calls = append(calls, below...)
	}
	return calls, nil
}

// ofDryRun reports whether a record is that of a withheld call, or of a sub-agent, which may have
// withheld calls.
func ofDryRun(r *api.Record) bool {
	return r != nil && (r.DryRun || r.Child != nil && r.Child.RunID != "")
}

// withheldBelow returns the calls that the sub-agent of a call withheld.
func withheldBelow(ctx context.Context, c client.Client, r api.Record) ([]api.WithheldCall, error) {
	calls, err := Withheld(ctx, c, r.Child.WorkflowID, r.Child.RunID)
	for i := range calls {
		calls[i].Path = api.CallPath(r.CallID, calls[i].Path)
	}
	return calls, err
}
