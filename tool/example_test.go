package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/tool"
)

// A function tool with typed arguments and a typed output.
func ExampleNewFunction() {
	type input struct {
		Name string `json:"name"`
	}
	greet := tool.NewFunction("greet", func(_ context.Context, in input) (string, error) {
		return "Hello, " + in.Name, nil
	})
	// A worker registers it: host.Config{Functions: []tool.Function{greet}}.
	output, err := greet.Call(context.Background(), json.RawMessage(`{"name":"Ada"}`))
	fmt.Println(output, err)
	// Output: Hello, Ada <nil>
}

type counter struct{ n int }

type addInput struct {
	By int `json:"by"`
}

func newCounter(context.Context, tool.StartInfo) (*counter, error) { return &counter{}, nil }

func (c *counter) Add(_ context.Context, in addInput) (int, error) {
	c.n += in.By
	return c.n, nil
}

func (c *counter) Value(context.Context, struct{}) (int, error) { return c.n, nil }

// A stateful type: each run that calls one of its tools has its own counter. Its toolspecs have
// entry: {type: stateful, instance: counter, method: add}, and the same with method: value.
func ExampleNewStateful() {
	counters := tool.NewStateful("counter", newCounter,
		tool.NewMethod("add", (*counter).Add),
		tool.NewMethod("value", (*counter).Value))
	// A worker registers it: host.Config{Stateful: []tool.Stateful{counters}}.
	ctx := context.Background()
	_, calls, err := counters.Start(ctx, tool.StartInfo{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		output, err := calls["add"](ctx, json.RawMessage(`{"by":2}`))
		fmt.Println(output, err)
	}
	fmt.Println(calls["value"](ctx, nil))
	// Output:
	// 2 <nil>
	// 4 <nil>
	// 4 <nil>
}

// A hook that blocks calls of one tool.
func ExampleNewBeforeCall() {
	hook := tool.NewBeforeCall("no_deploys", func(_ context.Context, c tool.HookCall) (
		tool.HookDecision, error,
	) {
		if c.Tool == "deploy" {
			return tool.HookDecision{Block: "deployments are frozen"}, nil
		}
		return tool.HookDecision{}, nil
	})
	// A worker registers it: host.Config{Hooks: []tool.Hook{hook}}.
	decision, err := hook.Funcs().BeforeCall(context.Background(),
		tool.HookCall{Tool: "deploy"})
	fmt.Println(decision.Block, err)
	// Output: deployments are frozen <nil>
}

// A tool that asks a person during a call. WithAsk stands in for the worker.
func ExampleAsk() {
	book := tool.NewFunction("book", func(ctx context.Context, _ struct{}) (string, error) {
		reply, err := tool.Ask(ctx, "Book seat 4A?", json.RawMessage(`{"type":"boolean"}`))
		switch {
		case err != nil:
			return "", err
		case reply.Decline || string(reply.Value) != "true":
			return "not booked", nil
		}
		return "booked", nil
	})
	ctx := tool.WithAsk(context.Background(),
		func(context.Context, string, json.RawMessage) (tool.Reply, error) {
			return tool.Reply{Value: json.RawMessage("true")}, nil
		})
	output, err := book.Call(ctx, nil)
	fmt.Println(output, err)
	// Output: booked <nil>
}
