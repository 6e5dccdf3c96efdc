package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/api"
)

// hooks are what hooks/agent.yaml names.
func hooks() []activities.Hook {
	return []activities.Hook{
		activities.NewBeforeRun("open", func(_ context.Context, r activities.HookRun) (string, error) {
			if strings.TrimSpace(r.Prompt) == "" {
				return "say what you want to buy", nil
			}
			return "", nil
		}),
		activities.NewMemoryRetrieve("customer", func(context.Context, activities.HookRun) (string, error) {
			return "The customer has bought lamps before, and wants round sums.", nil
		}),
		activities.NewBeforeCall("order", checkOrder),
		activities.NewAfterCall("rounded", rounded),
		activities.NewMemoryWrite("ledger", func(ctx context.Context, e activities.HookEnd) error {
			call, _ := api.ContextOf(ctx)
			slog.InfoContext(ctx, "remembered", "run", call.Run, "outcome", e.Outcome, "calls", e.Usage.Calls)
			return nil
		}),
	}
}

// checkOrder stops orders that are too large, reads "lamps" as "lamp", and knows what a catalogue costs.
func checkOrder(_ context.Context, c activities.HookCall) (activities.HookDecision, error) {
	var order priceInput
	if err := json.Unmarshal(c.Arguments, &order); err != nil {
		return activities.HookDecision{}, err
	}
	item, plural := strings.CutSuffix(order.Item, "s")
	switch {
	case order.Quantity > 100:
		return activities.HookDecision{Block: fmt.Sprintf("%d pieces are too many for one order; 100 are the most", order.Quantity)}, nil
	case order.Item == "catalogue":
		return activities.HookDecision{Override: json.RawMessage(`{"item":"catalogue","total":0}`)}, nil
	case !plural:
		return activities.HookDecision{}, nil
	}
	order.Item = item
	arguments, err := json.Marshal(order)
	return activities.HookDecision{Arguments: arguments}, err
}

// rounded leaves the cents out of a price.
func rounded(_ context.Context, _ activities.HookCall, output json.RawMessage) (json.RawMessage, error) {
	var price priceOutput
	if err := json.Unmarshal(output, &price); err != nil {
		return nil, err
	}
	price.Total = float64(int(price.Total))
	return json.Marshal(price)
}
