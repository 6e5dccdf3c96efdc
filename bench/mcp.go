package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// serveMCP is the argument that makes this program an MCP server with one tool that answers at
// once.
const serveMCP = "serve-mcp"

type pingInput struct {
	Text string `json:"text"`
}

func serve(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ping", Description: "Returns its text."},
		func(_ context.Context, _ *mcp.CallToolRequest, in pingInput) (*mcp.CallToolResult, any,
			error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}},
				nil, nil
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

// pingSpec declares the pinned tool of this program's MCP server.
func pingSpec(ctx context.Context) (toolspecs.Spec, error) {
	program, err := os.Executable()
	if err != nil {
		return toolspecs.Spec{}, err
	}
	entry := toolspecs.MCPEntry{Argv: []string{program, serveMCP},
		Session: toolspecs.SessionShared}
	spec := toolspecs.Spec{Name: "ping", Version: "1.0.0", Description: "Returns its text.",
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectRead}}
	server, err := mcpclient.Connect(ctx, entry.MCPServer(), mcpclient.Options{})
	if err != nil {
		return spec, err
	}
	defer server.Close()
	tool, found, err := server.Tool(ctx, spec.Name)
	if err == nil && !found {
		err = errors.New("the MCP server does not list its tool")
	}
	entry.Pin = tool.Digest()
	spec.InputSchema, spec.Entry = tool.InputSchema, toolspecs.Entry{Kind: entry}
	return spec, err
}

const mcpCalls = 100

// measureMCP compares a plan of sequential calls of an MCP tool with their parts: as many empty
// activities of a hand-written workflow, and as many calls of the same server with the SDK alone.
// The difference per call is the cost of Switchyard. The three run close together, so that other
// load affects all of them.
func measureMCP(ctx context.Context, l *lab) (map[string]float64, error) {
	direct, err := newDirect(ctx)
	if err != nil {
		return nil, err
	}
	defer direct.close()
	plan := chains("ping", `{"text":"hello"}`, 1, mcpCalls)
	var rest []float64
	for i := range l.pairs + 1 {
		_, ours, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.PlanWorkflow, plan)
		if err != nil {
			return nil, err
		}
		_, empty, err := l.runToEnd(ctx, handQueue, "handEmpty", handInput{Turns: mcpCalls})
		if err != nil {
			return nil, err
		}
		called, err := direct.calls(ctx, mcpCalls)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first one warms up
			rest = append(rest, float64((ours-empty-called).Microseconds())/1000/mcpCalls)
		}
	}
	slices.Sort(rest)
	return map[string]float64{"mcp_overhead_ms": rest[len(rest)/2]}, nil
}

// direct is a session with the MCP server by the SDK alone.
type direct struct{ session *mcp.ClientSession }

func newDirect(ctx context.Context) (*direct, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(program,
		serveMCP)}, nil)
	return &direct{session}, err
}

func (d *direct) calls(ctx context.Context, n int) (time.Duration, error) {
	began := time.Now()
	for range n {
		result, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: "ping",
			Arguments: map[string]any{"text": "hello"}})
		if err != nil {
			return 0, err
		}
		if result.IsError {
			return 0, errors.New("the MCP server answered with an error")
		}
	}
	return time.Since(began), nil
}

func (d *direct) close() {
	if err := d.session.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: the MCP server exited with", err)
	}
}
