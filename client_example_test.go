package switchyard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// Connect as the Temporal CLI does: with TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE and
// so on.
func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := switchyard.Dial(ctx, switchyard.Options{Caller: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
}

// Call one tool once. The same order number never charges twice, whoever repeats the call.
func ExampleClient_Call() {
	ctx := context.Background()
	client, err := switchyard.Dial(ctx, switchyard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	run, err := client.Call(ctx, "charge", map[string]any{"order": 4711, "cents": 2450},
		switchyard.StartOptions{ID: "charge-4711"})
	if err != nil {
		log.Fatal(err)
	}
	var receipt struct {
		Number string `json:"number"`
	}
	err = run.Output(ctx, &receipt)
	var call *switchyard.Error
	switch {
	case errors.As(err, &call) && call.Type == api.ErrOutcomeUnknown:
		fmt.Println("look up the payment before you try again")
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(receipt.Number)
	}
}

// Run the agent of a file and print its answer.
func ExampleClient_Run() {
	ctx := context.Background()
	client, err := switchyard.Dial(ctx, switchyard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	agent, err := agents.Load("agent.yaml", agents.Known{}) // the workers know the tools
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Run(ctx, agent, "Two lamps, please.",
		switchyard.StartOptions{Conversation: "customer-42", Wait: true})
	if err != nil {
		log.Fatal(err)
	}
	result, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Answer)
}

// Run a plan: the second call uses the result of the first.
func ExampleClient_Plan() {
	ctx := context.Background()
	client, err := switchyard.Dial(ctx, switchyard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	run, err := client.Plan(ctx, &switchyard.Plan{Name: "nightly", Calls: []api.PlanCall{
		{ID: "total", Tool: "calculator", Arguments: json.RawMessage(`{"expression":"6*7"}`)},
		{ID: "say", Tool: "echo", Arguments: json.RawMessage(`{"text":"total: ${total}"}`)},
	}}, switchyard.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Result(ctx))
}

// Call a tool for many inputs, at most 10 at a time. After a crash the same program starts what is
// missing.
func ExampleClient_RunAll() {
	ctx := context.Background()
	client, err := switchyard.Dial(ctx, switchyard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var starts []switchyard.Start
	for i := range 1000 {
		starts = append(starts, switchyard.Start{Tool: "echo",
			Arguments:    map[string]any{"text": fmt.Sprint("page ", i)},
			StartOptions: switchyard.StartOptions{ID: fmt.Sprint("pages-", i)}})
	}
	for i, end := range client.RunAll(ctx, starts, 10) {
		fmt.Println(i, string(end.Result.Output), end.Err)
	}
}

// Follow a run, and go on after the last event that was handled if the connection is lost.
func ExampleRun_Follow() {
	ctx := context.Background()
	client, err := switchyard.Dial(ctx, switchyard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	run, last := client.Open("demo-1a2b3c4d"), 0
	for {
		var failure error
		for event, err := range run.Follow(ctx, last) {
			if failure = err; err != nil {
				break
			}
			fmt.Println(event.Sequence, event.Type, event.Summary)
			last = event.Sequence
		}
		if !errors.Is(failure, &switchyard.RequestError{Type: switchyard.ServerUnreachable}) {
			return
		}
	}
}

// Decide about all calls that wait for approval.
func ExampleRun_Approve() {
	ctx := context.Background()
	client, err := switchyard.Dial(ctx, switchyard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	waiting, err := client.Approvals(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range waiting {
		run := client.Open(call.WorkflowID)
		if call.Tool == "refund" {
			err = run.Approve(ctx, call, "ada@example.com", "as agreed")
		} else {
			err = run.Deny(ctx, call, "ada@example.com", "not before Monday")
		}
		if err != nil { // someone else was faster, or the run has ended
			log.Print(err)
		}
	}
}
