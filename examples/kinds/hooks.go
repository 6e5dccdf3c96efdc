package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
)

// hooks returns the hooks that hooks/agent.yaml names.
func hooks() []tool.Hook {
	return []tool.Hook{
		tool.NewBeforeRun("open", func(_ context.Context, r tool.HookRun) (string,
			error) {
			if strings.TrimSpace(r.Prompt) == "" {
				return "say what you want to buy", nil
			}
			return "", nil
		}),
		tool.NewMemoryRetrieve("customer", func(context.Context, tool.HookRun) (string,
			error) {
			return "The customer has bought lamps before, and wants round sums.", nil
		}),
		tool.NewBeforeCall("order", checkOrder),
		tool.NewAfterCall("rounded", rounded),
		tool.NewMemoryWrite("ledger", func(ctx context.Context, e tool.HookEnd) error {
			call, _ := callcontext.From(ctx)
			slog.InfoContext(ctx, "remembered", "run", call.Run, "outcome", e.Outcome, "calls",
				e.Usage.Calls)
			return nil
		}),
	}
}

// checkOrder rejects orders that are too large, changes "lamps" to "lamp", and answers the price of
// a catalogue.
func checkOrder(_ context.Context, c tool.HookCall) (tool.HookDecision, error) {
	var order priceInput
	if err := json.Unmarshal(c.Arguments, &order); err != nil {
		return tool.HookDecision{}, err
	}
	item, plural := strings.CutSuffix(order.Item, "s")
	switch {
	case order.Quantity > 100:
		return tool.HookDecision{Block: fmt.Sprintf("%d pieces are too many for one order; "+
			"100 are the most", order.Quantity)}, nil
	case order.Item == "catalogue":
		return tool.HookDecision{Override: json.RawMessage(`{"item":"catalogue","total":0}`)},
			nil
	case !plural:
		return tool.HookDecision{}, nil
	}
	order.Item = item
	arguments, err := json.Marshal(order)
	return tool.HookDecision{Arguments: arguments}, err
}

// rounded removes the cents from a price.
func rounded(_ context.Context, _ tool.HookCall, output json.RawMessage) (json.RawMessage,
	error) {
	var price priceOutput
	if err := json.Unmarshal(output, &price); err != nil {
		return nil, err
	}
	price.Total = float64(int(price.Total))
	return json.Marshal(price)
}
