package main

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/switchyard/switchyard/tool"
)

// cart is the Go type of a tool of the kind stateful. Every run has a cart of its own.
type cart struct{ items map[string]int }

type cartInput struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

func carts() tool.Stateful {
	return tool.NewStateful("cart", newCart, tool.NewMethod("add", (*cart).add))
}

func newCart(context.Context, tool.StartInfo) (*cart, error) {
	return &cart{items: map[string]int{}}, nil
}

// add adds items to the cart and returns its content.
func (c *cart) add(_ context.Context, in cartInput) (map[string]int, error) {
	c.items[in.Item] += in.Quantity
	return maps.Clone(c.items), nil
}

// Snapshot returns the state. With Snapshot and Restore a cart survives the loss of its worker.
func (c *cart) Snapshot(context.Context) ([]byte, error) { return json.Marshal(c.items) }

// Restore restores the state that Snapshot returned.
func (c *cart) Restore(_ context.Context, snapshot []byte) error {
	return json.Unmarshal(snapshot, &c.items)
}
