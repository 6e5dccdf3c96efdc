package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// operateProgram has only the commands of this package.
var operateProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
