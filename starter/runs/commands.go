// Package runs holds the commands that start, follow and control runs.
package runs

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// Commands returns the commands of this package. A new command is one file and one line here.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		runCommand(a),
		planCommand(a),
		callCommand(a),
		watchCommand(a),
		sendCommand(a),
		pauseCommand(a),
		resumeCommand(a),
		closeCommand(a),
		cancelCommand(a),
		scheduleCommand(a),
	}
}
