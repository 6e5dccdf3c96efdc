package main

import (
	"github.com/spf13/cobra"
)

func (a *app) payloadCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "payload", Short: "Read what is in the payload store",
		Long:    "Large values can be kept in a payload store beside the server; this reads them there.",
		Example: "  starter payload get sha256:0f3a… --payload-store file:///var/lib/switchyard/payloads",
		Args:    a.unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	get := &cobra.Command{
		Use: "get REFERENCE", Short: "Print a result that a run holds a part of",
		Long: `Prints the whole of a result that was cut in its run: its note names the reference. It is read from the payload store, and
checked against the reference; no server is asked. Text is printed as it is, anything else as JSON.`,
		Example: `  starter payload get sha256:0f3a… --payload-store file:///var/lib/switchyard/payloads
  starter payload get sha256:0f3a… --output json | jq .`,
		Args: arguments(1, "REFERENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			storage, err := a.connection.storage()
			if err != nil {
				return err
			}
			value, err := storage.Get(cmd.Context(), args[0])
			if err != nil {
				return failure(exitFailed, "%w", err)
			}
			if a.format.json() {
				return a.println(string(value))
			}
			return a.println(readable(value))
		},
	}
	cmd.AddCommand(get)
	return cmd
}
