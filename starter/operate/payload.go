package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

func payloadCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "payload", GroupID: cli.GroupServer,
		Short:   "Read values from the payload store",
		Long:    `Large values can be kept in a payload store beside the server. This command reads them there.`,
		Example: "  starter payload get sha256:0f3a… --payload-store file:///var/lib/switchyard/payloads",
		Args:    a.UnknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{
		Use: "get REFERENCE", Short: "Print a truncated result in full",
		Long: `Prints the full value of a result that was truncated in its run. The note of the call names the
reference. The value is read from the payload store and verified against the reference; no
server is contacted. Text is printed as it is, other values as JSON.`,
		Example: `  starter payload get sha256:0f3a… --payload-store file:///var/lib/switchyard/payloads
  starter payload get sha256:0f3a… --output json | jq .`,
		Args: cli.Arguments(1, "REFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			storage, err := a.Connection.Storage()
			if err != nil {
				return err
			}
			value, err := storage.Get(cmd.Context(), args[0])
			if err != nil {
				return cli.Errorf(cli.ExitFailed, "%w", err)
			}
			if a.Format.JSON() {
				return a.Println(string(value))
			}
			return a.Println(cli.ReadableJSON(value))
		},
	}
	cmd.AddCommand(get)
	return cmd
}
