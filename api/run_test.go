package api_test

import (
	"math"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// A price that is not set is that of the input.
func TestCost_PricesEveryTokenOnce(t *testing.T) {
	used := api.Usage{InputTokens: 1_000_000, CachedTokens: 600_000, WrittenTokens: 100_000,
		OutputTokens: 200_000}
	cases := []struct {
		price api.Price
		want  float64
	}{
		{api.Price{}, 0},
		{api.Price{Input: 3, Output: 15}, 6},
		{api.Price{Input: 3, Output: 15, CachedInput: 0.3, CacheWrite: 3.75}, 0.9 + 0.18 + 0.375 +
			3},
	}
	for _, c := range cases {
		if got := c.price.Cost(used); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", c.price, got, c.want)
		}
	}
	var sum api.Usage
	sum.AddStep(used)
	sum.Add(api.Usage{Turns: 9, Calls: 2, Failed: 1, InputTokens: 1, CachedTokens: 1,
		WrittenTokens: 1, OutputTokens: 1, Cost: 1})
	if want := (api.Usage{Turns: 1, Calls: 2, Failed: 1, InputTokens: 1_000_001,
		CachedTokens: 600_001, WrittenTokens: 100_001, OutputTokens: 200_001,
		Cost: 1}); sum != want {
		t.Errorf("sum %+v", sum)
	}
}
