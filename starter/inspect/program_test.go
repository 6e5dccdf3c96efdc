package inspect

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// inspectProgram has only the commands of this package.
var inspectProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
