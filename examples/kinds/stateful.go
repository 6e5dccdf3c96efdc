package main

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/switchyard/switchyard"
)

// cart is the Go type of the tool of the kind stateful. Every run that calls the tool has a cart of its own.
type cart struct{ items map[string]int }

type cartInput struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

func carts() switchyard.Stateful {
	return switchyard.NewStateful("cart", newCart, (*cart).add)
}

func newCart(context.Context, switchyard.StartInfo) (*cart, error) {
	return &cart{items: map[string]int{}}, nil
}

// add puts pieces into the cart and tells what is in it.
func (c *cart) add(_ context.Context, in cartInput) (map[string]int, error) {
	c.items[in.Item] += in.Quantity
	return maps.Clone(c.items), nil
}

// Snapshot and Restore are all it takes for a cart to survive its worker.
func (c *cart) Snapshot(context.Context) ([]byte, error) { return json.Marshal(c.items) }

// Restore takes what Snapshot gave.
func (c *cart) Restore(_ context.Context, snapshot []byte) error {
	return json.Unmarshal(snapshot, &c.items)
}
