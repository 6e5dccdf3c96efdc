package operate

import (
	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

func payloadCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "payload", GroupID: cli.GroupServer, Short: "Read what is in the payload store",
		Long:    "Large values can be kept in a payload store beside the server; this reads them there.",
		Example: "  starter payload get sha256:0f3a… --payload-store file:///var/lib/switchyard/payloads",
		Args:    a.UnknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{
		Use: "get REFERENCE", Short: "Print a result that a run holds a part of",
		Long: `Prints the whole of a result that was cut in its run: its note names the reference. It is read from the payload store, and
checked against the reference; no server is asked. Text is printed as it is, anything else as JSON.`,
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
