// Package gateway holds the commands of the gateway for MCP clients.
package gateway

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// Commands returns the commands of this package. A new command is one file and one line here.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{gatewayCommand(a)}
}
