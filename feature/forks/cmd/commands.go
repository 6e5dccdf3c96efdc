// Package cmd has what starter has of forks: the command that forks a run, and what show says about
// the source of a fork and the forks of a run.
package cmd

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// Feature is forks as the program starter lists it.
var Feature = cli.Feature{
	Commands: func(a *cli.App) []*cobra.Command { return []*cobra.Command{forkCommand(a)} },
	Show:     show,
}
