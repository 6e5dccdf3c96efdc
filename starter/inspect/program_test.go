package inspect

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// inspectProgram has the commands of this package alone.
var inspectProgram = cli.Program{Commands: []func(*cli.App) []*cobra.Command{Commands}}
