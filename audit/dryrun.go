package audit

import (
	"context"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// Withheld returns the calls that a run and the sub-agents below it withheld because they are dry runs, in the order of Tree, as
// far as the run has come. Their arguments are as history has them: sensitive values are among them. Parameters and errors are
// those of Events.
func Withheld(ctx context.Context, c client.Client, workflowID, runID string) ([]api.WithheldCall, error) {
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

// ofDryRun reports whether an event ends a call that was withheld, or one of a sub-agent, which may have withheld some.
func ofDryRun(r *api.Record) bool {
	return r != nil && (r.DryRun || r.Child != nil && r.Child.RunID != "")
}

// withheldBelow returns the withheld calls of the sub-agent that executed a call.
func withheldBelow(ctx context.Context, c client.Client, r api.Record) ([]api.WithheldCall, error) {
	calls, err := Withheld(ctx, c, r.Child.WorkflowID, r.Child.RunID)
	for i := range calls {
		calls[i].Path = api.CallPath(r.CallID, calls[i].Path)
	}
	return calls, err
}
