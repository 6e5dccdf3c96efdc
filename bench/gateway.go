package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveHTTP is the argument that makes this program an MCP server on a free port, with the tool
// payload.
const serveHTTP = "serve-http"

// serveDirect is the main function of that server: what a client would use without the gateway.
func serveDirect() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "payload", Description: "Answers with a text."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in payloadInput) (*mcp.CallToolResult,
			any, error) {
			out, err := payload(ctx, in)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil,
				err
		})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	corpusOnce()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{
		"endpoint": "http://" + listener.Addr().String()}); err != nil {
		return err
	}
	return http.Serve(listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return server
	}, nil))
}

// mcpProcess is an MCP server in a process of its own: a gateway, or the server of the tool.
type mcpProcess struct {
	*process
	Endpoint string `json:"endpoint"`
}

func startMCP(name string, args ...string) (p *mcpProcess, err error) {
	p = &mcpProcess{}
	p.process, err = launch(p, name, args...)
	return p, err
}

// manyRequests are limits that no figure reaches.
const manyRequests = `
limits: {requests_per_second: 1000000, burst: 1000000, in_flight: 100000}
`

// startGateway starts a gateway with the lab's tools.
func startGateway(l *lab) (p *mcpProcess, end func(), err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, err
	}
	tools, config := filepath.Join(dir, "tools"), filepath.Join(dir, "gateway.yaml")
	err = errors.Join(os.Mkdir(tools, 0o700),
		os.WriteFile(filepath.Join(tools, "tools.yaml"), []byte(toolSpecs), 0o600),
		os.WriteFile(config, []byte(manyRequests), 0o600))
	if err == nil {
		p, err = startMCP(filepath.Join(l.bin, "starter"), "gateway", "--address", l.address,
			"--tools", tools, "--config", config, "--listen", "127.0.0.1:0", "--drain", "1s",
			"--output", "json")
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, func() {
		p.end(syscall.SIGTERM)
		_ = os.RemoveAll(dir)
	}, nil
}

// startBoth starts a gateway and the MCP server of the tool.
func startBoth(l *lab) (gateway, server *mcpProcess, end func(), err error) {
	gateway, endGateway, err := startGateway(l)
	if err != nil {
		return nil, nil, nil, err
	}
	program, err := os.Executable()
	if err == nil {
		server, err = startMCP(program, serveHTTP)
	}
	if err != nil {
		endGateway()
		return nil, nil, nil, err
	}
	return gateway, server, func() {
		server.end(syscall.SIGTERM)
		endGateway()
	}, nil
}

// connect begins a session, with a stream for notifications or without one.
func (p *mcpProcess) connect(ctx context.Context, stream bool) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	return c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.Endpoint,
		HTTPClient:           &http.Client{Transport: &http.Transport{DisableKeepAlives: !stream}},
		DisableStandaloneSSE: !stream},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
}

// calls returns a function that makes a call of a tool in a session.
func calls(ctx context.Context, s *mcp.ClientSession, tool string) timed {
	return func() (time.Duration, error) {
		began := time.Now()
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool,
			Arguments: map[string]any{"size": turnSize}})
		if err == nil && (result.IsError || result.GetMeta()["io.github.switchyard/error"] != nil ||
			len(result.Content) != 1) {
			err = fmt.Errorf("the tool %s answered %+v", tool, result.Content)
		}
		return time.Since(began), err
	}
}

// gatewayPairs is the number of pairs of calls behind a median.
const gatewayPairs = 200

// measureGateway alternates calls through the gateway with the same calls to the tool's MCP server.
// Both answer the same client over HTTP.
func measureGateway(ctx context.Context, l *lab) (map[string]float64, error) {
	return gatewayCalls(ctx, l, gatewayPairs)
}

func gatewayCalls(ctx context.Context, l *lab, pairs int) (map[string]float64, error) {
	gateway, server, end, err := startBoth(l)
	if err != nil {
		return nil, err
	}
	defer end()
	ours, err := gateway.connect(ctx, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ours.Close() }()
	theirs, err := server.connect(ctx, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	values := map[string]float64{}
	for name, tool := range map[string]string{"gateway_inline_ms": "payload_inline",
		"gateway_call_ms": "payload"} {
		if values[name], err = difference(pairs, calls(ctx, ours, tool), calls(ctx, theirs,
			"payload")); err != nil {
			return nil, err
		}
	}
	return values, nil
}

const (
	gatewayClients = 50
	// callingFor is how long the clients make calls.
	callingFor = 5 * time.Second
)

// measureGatewayThroughput compares the calls per second that clients get through the gateway with
// those of the tool's MCP server. Server, worker, gateway and clients share the machine.
func measureGatewayThroughput(ctx context.Context, l *lab) (map[string]float64, error) {
	return measureCallRates(ctx, l, gatewayClients, callingFor)
}

func measureCallRates(ctx context.Context, l *lab, clients int,
	d time.Duration) (map[string]float64, error) {
	gateway, server, end, err := startBoth(l)
	if err != nil {
		return nil, err
	}
	defer end()
	rates := map[string]float64{}
	for _, side := range []struct {
		tool, name string
		server     *mcpProcess
	}{{"payload", "server", server}, {"payload_inline", "inline", gateway},
		{"payload", "activity", gateway}} {
		if rates[side.name], err = side.server.rate(ctx, side.tool, clients, d); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(os.Stderr, "  %d clients: %.0f calls/s to the server, %.0f inline and %.0f as "+
		"activities through the gateway\n", clients, rates["server"], rates["inline"],
		rates["activity"])
	return map[string]float64{"gateway_throughput_ratio": rates["inline"] / rates["server"]}, nil
}

// rate returns the calls per second of clients that each make one call after the other for d, after
// a call to warm up.
func (p *mcpProcess) rate(ctx context.Context, tool string, clients int,
	d time.Duration) (float64, error) {
	sessions := make([]*mcp.ClientSession, clients)
	for i := range sessions {
		var err error
		if sessions[i], err = p.connect(ctx, true); err != nil {
			return 0, err
		}
		defer func() { _ = sessions[i].Close() }()
		if _, err := calls(ctx, sessions[i], tool)(); err != nil {
			return 0, err
		}
	}
	var made atomic.Int64
	began := time.Now()
	err := each(ctx, clients, clients, func(ctx context.Context, i int) error {
		call := calls(ctx, sessions[i], tool)
		for time.Since(began) < d {
			if _, err := call(); err != nil {
				return err
			}
			made.Add(1)
		}
		return nil
	})
	return float64(made.Load()) / time.Since(began).Seconds(), err
}
