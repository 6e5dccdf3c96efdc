package gateway

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
)

// keyVariable is the environment variable from which clients take their API key.
const keyVariable = "SWITCHYARD_API_KEY"

// clientNames are the clients whose configuration can be printed.
var clientNames = []string{"claude", "cursor", "vscode", "codex"}

// serverName is what clients accept as the name of a server.
var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

const connectHelp = `Prints the configuration with which an MCP client connects to the gateway, and where it belongs:
claude (Claude Code), cursor, vscode, codex.

With --key the client sends an API key, which it takes from the environment variable
SWITCHYARD_API_KEY, or asks for (vscode). Without it the client logs in at the issuer that the
gateway names, or needs no authentication on this machine.`

// setting is what a client needs to know.
type setting struct {
	name, url string
	key       bool
}

func connectCommand(a *cli.App) *cobra.Command {
	c := setting{}
	cmd := &cobra.Command{
		Use: "connect CLIENT", Short: "Print the configuration of an MCP client",
		Long: connectHelp,
		Example: `  starter gateway connect claude
  starter gateway connect vscode --url https://tools.example.org/mcp/billing --key`,
		Args: cli.Arguments(1, "the client"), ValidArgs: clientNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(clientNames, args[0]) {
				return cli.UsageError(cmd, "there is no configuration for %q; choose one of %s",
					args[0], strings.Join(clientNames, ", "))
			}
			c.url = strings.TrimSuffix(c.url, "/") // the gateway serves exactly one spelling
			u, err := url.Parse(c.url)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return cli.UsageError(cmd, "--url %q is not an address such as "+
					"https://tools.example.org/mcp", c.url)
			}
			if !serverName.MatchString(c.name) {
				return cli.UsageError(cmd, "--name %q: use at most 40 letters, digits, - and _",
					c.name)
			}
			text, err := c.configuration(args[0])
			if err != nil {
				return err
			}
			return a.Println(text)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.url, "url", "http://127.0.0.1:8090/mcp", "`URL` of the gateway")
	f.StringVar(&c.name, "name", "switchyard", "`name` of the server in the client")
	f.BoolVar(&c.key, "key", false, "send an API key")
	return cmd
}

// configuration returns the configuration of a client, and where it belongs.
func (c setting) configuration(client string) (string, error) {
	switch client {
	case "claude":
		return c.claude()
	case "cursor":
		return c.document("Put this into .cursor/mcp.json of a project, or ~/.cursor/mcp.json:",
			map[string]any{"mcpServers": c.entry(false, "${env:"+keyVariable+"}")})
	case "vscode":
		document := map[string]any{"servers": c.entry(true, "${input:switchyard-key}")}
		if c.key {
			document["inputs"] = []any{map[string]any{"type": "promptString",
				"id": "switchyard-key", "description": "API key of the Switchyard gateway",
				"password": true}}
		}
		return c.document("Put this into .vscode/mcp.json of a workspace:", document)
	}
	lines := []string{"# Put this into ~/.codex/config.toml:", "[mcp_servers." + c.name + "]",
		fmt.Sprintf("url = %q", c.url)}
	if c.key {
		lines = append(lines, fmt.Sprintf("bearer_token_env_var = %q", keyVariable))
	}
	return strings.Join(lines, "\n"), nil
}

// entry returns the server by its name; typed adds the kind of transport.
func (c setting) entry(typed bool, key string) map[string]any {
	server := map[string]any{"url": c.url}
	if typed {
		server["type"] = "http"
	}
	if c.key {
		server["headers"] = map[string]string{"Authorization": "Bearer " + key}
	}
	return map[string]any{c.name: server}
}

func (c setting) claude() (string, error) {
	header := ""
	if c.key {
		header = ` --header "Authorization: Bearer $` + keyVariable + `"`
	}
	command := "claude mcp add --transport http " + c.name + " '" +
		strings.ReplaceAll(c.url, "'", "%27") + "'" + header
	return c.document("Run this command:\n\n  "+command+
		"\n\nOr put this into .mcp.json of a project:",
		map[string]any{"mcpServers": c.entry(true, "${"+keyVariable+"}")})
}

func (c setting) document(where string, document any) (string, error) {
	data, err := json.MarshalIndent(document, "", "  ")
	return where + "\n\n" + string(data), err
}
