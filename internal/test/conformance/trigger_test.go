package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// triggered is the toolspec that test_trigger_tool_change changes.
const triggered = `name: triggered
version: 1.0.%d
description: Changes each time.
entry: {type: function, handler: echo}
`

// addTaskTools adds the tools of the suite's scenarios of tasks.
func addTaskTools(s *mcp.Server) {
	type named struct {
		Name string `json:"name"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets."}, func(_ context.Context,
		_ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: "Hello, " + in.Name + "!"}}}, nil, nil
	})
	type computation struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label,omitempty"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "slow_compute", Description: "Takes a while."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in computation) (*mcp.CallToolResult, any,
			error) {
			select {
			case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
			case <-ctx.Done():
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
				Text: "computed " + in.Label}}}, nil, ctx.Err()
		})
	mcp.AddTool(s, &mcp.Tool{Name: "failing_job", Description: "Fails after a second."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any,
			error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			return nil, nil, errors.New("the job failed")
		})
}

// triggers starts an MCP server with the tools by which the suite changes the lists of tools and
// prompts, and returns its URL. They replace the tools of the SDK's conformance server, which
// change the lists of that server.
func triggers(t *testing.T, tools, config string) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "triggers", Version: "1"}, nil)
	var changes atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "test_trigger_tool_change",
		Description: "Changes the folder of tools."}, func(context.Context, *mcp.CallToolRequest,
		struct{}) (*mcp.CallToolResult, any, error) {
		err := os.WriteFile(filepath.Join(tools, "triggered.yaml"), fmt.Appendf(nil, triggered,
			changes.Add(1)), 0o600)
		return &mcp.CallToolResult{}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "test_trigger_prompt_change",
		Description: "Changes gateway.yaml."}, func(context.Context, *mcp.CallToolRequest,
		struct{}) (*mcp.CallToolResult, any, error) {
		data, err := os.ReadFile(config)
		if err == nil {
			err = os.WriteFile(config, fmt.Appendf(data, "# change %d\n", changes.Add(1)), 0o600)
		}
		return &mcp.CallToolResult{}, nil, err
	})
	addTaskTools(s)
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(server.Close)
	return server.URL
}
