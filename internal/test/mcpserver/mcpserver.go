// Package mcpserver has the MCP servers of tests: one with a tool for everything a server may do,
// and several that misbehave. A test binary runs them as programs if its TestMain calls Main first.
package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// word is the first argument of a test binary that runs as a server; the second is its mode.
const word = "mcp-server"

// Modes of a server that is a program.
const (
	// Good is a server without faults.
	Good = "good"
	// Many has five hundred tools, ten to a page.
	Many = "many"
	// broken lists a tool whose schema is invalid.
	broken = "broken"
	// Older supports no version of the protocol after 2025-11-25.
	Older = "older"
	// Hang reads and never answers.
	Hang = "hang"
	// Garbage answers every request with something that is not a message.
	Garbage = "garbage"
	// Dies writes to standard error and exits with code 3.
	Dies = "dies"
	// Huge answers everything with an endless line.
	Huge = "huge"
	// Endless lists 5,000 other tools on each page, and has no last page.
	Endless = "endless"
	// EndlessPages lists one tool on each page, and has no last page.
	EndlessPages = "endless pages"
)

// Argv returns the argv of a server: this test binary.
func Argv(mode string, more ...string) []string {
	return append([]string{os.Args[0], word, mode}, more...)
}

// Main runs a server and does not return if this process was started by an Argv.
func Main() {
	if len(os.Args) < 3 || os.Args[1] != word {
		return
	}
	Run(os.Args[2], os.Args[3:]...)
}

// Run is the main function of a server, and does not return.
func Run(mode string, args ...string) {
	if err := run(mode, args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(mode string, args []string) error {
	switch mode {
	case Hang:
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case Garbage:
		return answerEverything(func(w *bufio.Writer) {
			fmt.Fprintln(w, "Server listening on port 3000 \x1b[31m")
		})
	case Huge:
		return answerEverything(func(w *bufio.Writer) { endless(w) })
	case Dies:
		fmt.Fprintln(os.Stderr, "no configuration found")
		os.Exit(3)
	}
	return New(mode, args...).Run(context.Background(), &mcp.StdioTransport{})
}

func answerEverything(answer func(*bufio.Writer)) error {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	for in.Scan() {
		answer(out)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return in.Err()
}

// endless writes 100 MB without an end of line.
func endless(w io.Writer) {
	fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
	part := strings.Repeat("x", 1<<20)
	for range 100 {
		if _, err := io.WriteString(w, part); err != nil {
			return
		}
	}
}

// New returns a server of one of the modes Good, Many, Older, Endless, EndlessPages and broken.
// args are those of a program.
func New(mode string, args ...string) *mcp.Server {
	options := &mcp.ServerOptions{PageSize: 10}
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, options)
	switch mode {
	case Many:
		for i := range 500 {
			add(server, fmt.Sprintf("tool_%03d", i), "One of many.", echo)
		}
	case Older:
		server.AddReceivingMiddleware(noDiscovery)
	case broken:
		server.AddReceivingMiddleware(brokenList)
	case Endless:
		server.AddReceivingMiddleware(endlessList(5_000))
	case EndlessPages:
		server.AddReceivingMiddleware(endlessList(1))
	}
	addTools(server, args)
	return server
}

// noDiscovery rejects the first request of newer clients.
func noDiscovery(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "server/discover" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
				Message: "method not found"}
		}
		return next(ctx, method, r)
	}
}

// brokenList adds a tool with an invalid schema to the list.
func brokenList(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
			again := *list
			again.Tools = append([]*mcp.Tool{{Name: "shapeless", Description: "Has no schema.",
				InputSchema: "a string"}}, list.Tools...)
			return &again, nil
		}
		return result, err
	}
}

// endlessList replaces the list of tools by one without end, with size tools to a page.
func endlessList(size int) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			list, ok := r.GetParams().(*mcp.ListToolsParams)
			if !ok {
				return next(ctx, method, r)
			}
			first, _ := strconv.Atoi(list.Cursor)
			page := &mcp.ListToolsResult{NextCursor: strconv.Itoa(first + size)}
			for i := range size {
				page.Tools = append(page.Tools, &mcp.Tool{Name: fmt.Sprint("tool_", first+i),
					InputSchema: json.RawMessage(schema)})
			}
			return page, nil
		}
	}
}

// Handler returns a server's HTTP handler, with sessions and streams that can be resumed.
func Handler(server *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
}

// until blocks until ctx ends, but no longer than a test can take.
func until(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return nil
	}
}
