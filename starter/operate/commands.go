// Package operate holds the commands that set up, run and check servers and workers.
package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// Commands returns the commands of this package. A new command is one file and one line here.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		setupCommand(a),
		doctorCommand(a),
		devCommand(a),
		codecCommand(a),
		payloadCommand(a),
	}
}
