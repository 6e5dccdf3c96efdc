// Package inspect holds the commands that show what runs did and do.
package inspect

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// Commands returns the commands of this package. A new command is one file and one line here.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		listCommand(a),
		showCommand(a),
		auditCommand(a),
		recordsCommand(a),
		reportCommand(a),
		timelineCommand(a),
		tracesCommand(a),
		lanesCommand(a),
		budgetsCommand(a),
		conversationCommand(a),
	}
}
