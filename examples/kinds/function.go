package main

import (
	"context"
	"fmt"
	"math"
)

type priceInput struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

type priceOutput struct {
	Item  string  `json:"item"`
	Total float64 `json:"total"`
}

var prices = map[string]float64{"lamp": 24.5, "desk": 180, "chair": 75.25}

// price is the handler of a tool of the kind function.
func price(_ context.Context, in priceInput) (priceOutput, error) {
	each, ok := prices[in.Item]
	if !ok {
		return priceOutput{}, fmt.Errorf("the shop has no %q; it has lamp, desk and chair", in.Item)
	}
	total := each * float64(in.Quantity)
	if in.Quantity >= 10 {
		total *= 0.9
	}
	return priceOutput{Item: in.Item, Total: math.Round(total*100) / 100}, nil
}
