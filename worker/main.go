// Command worker executes Switchyard's runs and their tool calls. It serves the shipped tools and
// the toolspecs of a folder. An application with tools in Go builds its own worker in the same few
// lines.
package main

import (
	"os"
	"strings"

	_ "github.com/switchyard/switchyard/payloads/s3"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
	"github.com/switchyard/switchyard/worker/tools"
)

func main() {
	var allowed []string
	if list := os.Getenv("SWITCHYARD_HTTP_ALLOW"); list != "" {
		allowed = strings.Split(list, ",")
	}
	os.Exit(host.Main(host.Config{
		Specs:     toolspecs.LoadShipped(),
		Functions: tools.All(tools.Config{HTTP: tools.HTTPConfig{Allow: allowed}}),
		Inside:    allowed,
	}))
}
