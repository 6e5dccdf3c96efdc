// Package decide holds the commands with which people answer, approve and evaluate.
package decide

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// Commands returns the commands of this package. A new command is one file and one line here.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		approvalsCommand(a),
		approveCommand(a),
		denyCommand(a),
		answerCommand(a),
		evaluateCommand(a),
	}
}
