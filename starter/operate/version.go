package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/starter/cli"
)

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", GroupID: cli.GroupServer,
		Short: "Print the version of starter",
		Long: `Prints the version, the commit and its time, and the Go version that starter was built
with. Include it in bug reports. The flag --version of a worker prints the same of the worker.`,
		Example: `  starter version
  starter version --output json`,
		Args: cli.Arguments(0),
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			if a.Format.JSON() {
				return cli.WriteJSON(a.Out, info, false)
			}
			return a.Println("starter " + info.String())
		},
	}
}
