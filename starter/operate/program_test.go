package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// operateProgram has the commands of this package alone.
var operateProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
