package lanes

import (
	"maps"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// LaneKeys is the workflow that knows which keys of a keyed lane are open. It receives
// api.OpenKeySignal. Its history defines the order of the requests, which slot holders and readers
// of the lane follow. It ends when it is cancelled.
func LaneKeys(ctx workflow.Context, in api.KeysInput) error {
	open := maps.Clone(in.Open)
	if open == nil {
		open = api.OpenKeys{}
	}
	orders := workflow.GetSignalChannel(ctx, api.OpenKeySignal)
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(orders, func(workflow.ReceiveChannel, bool) {
		for {
			var o api.KeyOrder
			if !orders.ReceiveAsync(&o) {
				return
			}
			open.Apply(o)
		}
	})
	selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
	for ctx.Err() == nil {
		selector.Select(ctx)
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, api.LaneKeysWorkflow,
				api.KeysInput{Lane: in.Lane, Open: open})
		}
	}
	return ctx.Err()
}
