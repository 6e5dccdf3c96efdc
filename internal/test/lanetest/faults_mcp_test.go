package lanetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// mcpWord is the first argument of the test program if it is an MCP server. The second is stdio or
// the address of an HTTP server.
const mcpWord = "mcp-ledger"

const stdioWord = "stdio"

const bookSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

// mcpMain serves the tool book. The effects of the program are files, those of the HTTP server are
// at the ledger.
func mcpMain(args []string) error {
	if args[0] == stdioWord {
		if os.Getenv(ledgerAddress) != "" {
			if _, err := askLedger(http.MethodPost,
				"/programs/"+strconv.Itoa(os.Getpid())); err != nil {
				return err
			}
		}
		effect := func(n int) error { return writeEffect(os.Getenv(noteFolder), n) }
		return mcpServer(kindStdio, effect).Run(context.Background(), &mcp.StdioTransport{})
	}
	server := mcpServer(kindHTTP, effectAt)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("{}") // ready
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return http.Serve(listener, mux)
}

func mcpServer(kind string, effect func(int) error) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "book", Description: "Books a seat.",
		InputSchema: json.RawMessage(bookSchema)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return bookSeat(ctx, r, kind, effect)
		})
	return server
}

func bookSeat(ctx context.Context, r *mcp.CallToolRequest, kind string,
	effect func(int) error) (*mcp.CallToolResult, error) {
	var in numbered
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	way, err := beginAt(kind, in.N)
	if err != nil {
		return nil, err
	}
	if way == mcpExitsBefore {
		os.Exit(3)
	}
	result := &mcp.CallToolResult{}
	if err := effect(in.N); err != nil {
		result.IsError = true
		result.Content = []mcp.Content{&mcp.TextContent{Text: err.Error()}}
		return result, nil
	}
	text := strconv.Itoa(in.N)
	switch way {
	case mcpExitsAfter:
		os.Exit(3)
	case mcpFails:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "broken"}
	case mcpFloods:
		text += strings.Repeat("x", tooMuch)
	case mcpSlow:
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	}
	result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return result, nil
}

// pin returns the pin of the tool book.
func (f *faultLab) pin(program string) string {
	f.t.Helper()
	conn, err := mcpclient.Connect(f.ctx,
		&mcpclient.Server{Argv: []string{program, mcpWord, stdioWord}}, mcpclient.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	tool, ok, err := conn.Tool(f.ctx, "book")
	if err != nil || !ok {
		f.t.Fatalf("the tool book: %v, %v", ok, err)
	}
	return tool.Digest()
}

// startMCP starts the MCP server that listens, at the address where it was before.
func (f *faultLab) startMCP() {
	f.t.Helper()
	program, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	f.mcp = testserver.Start(f.t, &struct{}{}, f.env, program, mcpWord, f.mcpAddress)
}

// freeAddress returns an address at which nothing listens.
func (f *faultLab) freeAddress() string {
	f.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		f.t.Fatal(err)
	}
	return listener.Addr().String()
}

// program returns the process of an MCP server program that a worker has started; zero if there is
// none.
func (f *faultLab) program() int {
	pid := f.ledger.lastProgram(f.random.IntN(faultWorkers))
	if pid == 0 {
		return 0
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Logf("MCP server %d: %v", pid, err)
	}
	if !bytes.Contains(arguments, []byte("\x00"+mcpWord+"\x00"+stdioWord+"\x00")) {
		return 0
	}
	return pid
}
