package runs

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// runsProgram has only the commands of this package.
var runsProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
