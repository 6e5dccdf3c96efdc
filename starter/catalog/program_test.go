package catalog

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// catalogProgram has only the commands of this package.
var catalogProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
