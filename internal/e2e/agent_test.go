package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/internal/testserver"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/client"
)

// TestLibrarian proves that the example agent answers from real documents with real tools, each an activity.
func TestLibrarian(t *testing.T) {
	server := testserver.NewServer(t)
	var ready map[string]any
	testserver.Start(t, &ready, []string{"OPENAI_API_KEY=", "LIBRARY=../.."}, testserver.Bin(t, "librarian"), "--address", server.Address,
		"--tools", "../../examples/librarian/tools", "--dir", "../..")
	agent, err := toolspecs.LoadAgent("../../examples/librarian/agent.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	run, err := server.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "librarian-1", TaskQueue: switchyard.DefaultTaskQueue},
		switchyard.AgentWorkflow, switchyard.RunInput{Agent: agent, Prompt: "What now?"})
	if err != nil {
		t.Fatal(err)
	}
	var result switchyard.RunResult
	err = run.Get(ctx, &result)
	out, _ := json.MarshalIndent(result, "", " ")
	t.Logf("%s %v", out, err)
	if result.Outcome != switchyard.OutcomeAnswered {
		t.Fatalf("outcome %q", result.Outcome)
	}
}
