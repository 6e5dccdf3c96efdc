package gateway

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/gateway/login"
	"github.com/switchyard/switchyard/starter/cli"
)

// logoutCommand ends sessions of the console.
func logoutCommand(a *cli.App) *cobra.Command {
	file, all := "console-sessions.yaml", false
	cmd := &cobra.Command{
		Use: "logout [NAME]", Short: "End the console sessions of a person, or of everyone",
		Long: `Ends the sessions of the console that a person, or with --all everyone, has now. The name is the
one that records have, such as key:ci for the API key ci. The person can log in again; revoke the
API key, or remove the person's roles, to prevent that. The file has to be the one that
gateway.yaml names as console.ended_sessions; a gateway without one ends no sessions. Gateways that
run take over the change within seconds, and end open pages as well.`,
		Example: `  starter gateway logout ada
  starter gateway logout key:ci --file /etc/switchyard/console-sessions.yaml
  starter gateway logout --all`,
		Args: cli.Arguments(0, "the person's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return cli.UsageError(cmd, "name a person, or pass --all")
			}
			name := strings.Join(args, "")
			if err := login.EndSessions(file, name, time.Now()); err != nil {
				return cli.Errorf(cli.ExitUsage, "%w", err)
			}
			if all {
				name = "everyone"
			}
			return a.Println("recorded in " + file + " that the sessions of " + name +
				" end; gateways with this file end them within seconds")
		},
	}
	cmd.Flags().StringVar(&file, "file", file, "`file` that says which sessions have ended")
	cmd.Flags().BoolVar(&all, "all", false, "end the sessions of everyone")
	return cmd
}
