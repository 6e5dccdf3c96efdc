// Command kinds is the worker of the examples, one folder per kind of tool: a small shop. It
// registers a Go function and two stateful Go types. It also serves the shop's HTTP API and MCP
// server, so that the examples need no network.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
	"github.com/switchyard/switchyard/worker/tools"
)

// stockURL is the environment variable with the URL of the HTTP API, which tools/stock.yaml reads.
const stockURL = "SHOP_STOCK_URL"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "mcp" {
		exit(serveMCP())
	}
	if os.Getenv(stockURL) == "" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			exit(err)
		}
		go func() { exit(http.Serve(listener, stockAPI())) }()
		if err := os.Setenv(stockURL, "http://"+listener.Addr().String()); err != nil {
			exit(err)
		}
	}
	os.Exit(host.Main(host.Config{
		Specs:     toolspecs.LoadShipped(),
		Functions: append(tools.All(tools.Config{}), tool.NewFunction("price", price)),
		Stateful:  []tool.Stateful{carts(), shells()},
		Hooks:     hooks(),
	}))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kinds:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
