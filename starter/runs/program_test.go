package runs

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// runsProgram has the commands of this package alone.
var runsProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
