package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

func payloadCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "payload REFERENCE", GroupID: cli.GroupServer,
		Short: "Print a truncated result in full",
		Long: `Prints the full value of a result that was truncated in its run. The note of the call names the
reference. The value is read from the payload store and verified against the reference; no
server is contacted. Text is printed as it is, other values as JSON.`,
		Example: `  starter payload sha256:0f3a… --payload-store file:///var/lib/switchyard/payloads
  starter payload sha256:0f3a… --output json | jq .`,
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
}
