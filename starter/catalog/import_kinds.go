package catalog

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

func importMCPCommand(a *cli.App, catalog *specfiles.Flags) *cobra.Command {
	var flags importFlags
	var o imports.MCPOptions
	var entry toolspecs.MCPEntry
	var oauth oauthFlags
	auth, logins := "", ""
	cmd := &cobra.Command{
		Use: "mcp --url URL | -- PROGRAM [ARGUMENT…]", Short: "Create pinned toolspecs from the tools of an MCP server",
		Long: `Connects to an MCP server, over HTTP or as a program over its standard input and output, and
writes a toolspec for each tool it lists, or for those that --name selects. Every tool is
pinned: if its description or schema changes on the server, calls are rejected until 'starter
tools accept' has shown the difference.

The program sees PATH, HOME, LANG, TMPDIR and the variables of --env. The server's hints about
effects are not trusted: tools get effect: once until you change it.`,
		Example: `  starter tools import mcp --prefix fs_ -- npx -y @modelcontextprotocol/server-filesystem .
  starter tools import mcp --url https://mcp.example.com/mcp --auth bearer=env:MCP_TOKEN
  starter tools import mcp --url https://mcp.example.com/mcp --oauth --answer-within 10m
  starter tools import mcp --url http://localhost:3001/mcp --allow localhost`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // a toolspec with url has no argv, not even an empty one
				entry.Argv = args
			}
			if (entry.URL == "") == (len(args) == 0) {
				return cli.UsageError(cmd, "pass either --url or a program after --")
			}
			err := flags.check(cmd)
			if err != nil {
				return err
			}
			if entry.Auth, err = parseAuth(auth); err != nil {
				return cli.UsageError(cmd, "--auth %v", err)
			}
			if entry.Auth, err = oauth.readAuth(cmd, entry.Auth); err != nil {
				return err
			}
			servers := mcpServersFor(a, cmd, logins)
			defer servers.close()
			listed, err := servers.tools(entry)
			if err != nil {
				return importError(cmd.Context(), entry, err)
			}
			o.Names, o.Effect = flags.names, flags.overrides.Effect
			return writeImported(a, cmd, &flags, catalog, imports.MCP(entry, listed, o))
		},
	}
	flags.add(cmd.Flags(), "tag")
	cmd.Flags().StringVar(&entry.URL, "url", "", "streamable-HTTP `address` of the server")
	cmd.Flags().StringVar(&auth, "auth", "", "authentication as `TYPE=SECRET`: bearer=env:NAME, basic=…, header:X-Key=…, query:key=…")
	oauth.add(cmd.Flags())
	loginsFlag(cmd.Flags(), &logins)
	cmd.Flags().StringSliceVar(&entry.Allow, "allow", nil, "non-public `hosts` or ranges that may be reached, such as localhost")
	cmd.Flags().StringSliceVar(&entry.Env, "env", nil, "`variables` of the environment that the program may see")
	cmd.Flags().DurationVar((*time.Duration)(&entry.AnswerWithin), "answer-within", 0, "`time` that a person has to answer the server's questions during a call; some servers list more tools then (default: no questions)")
	cmd.Flags().BoolVar(&o.Output, "with-output", false, "declare output schemas too, if the server does")
	return cmd
}

// mcpServersFor returns the connections of a command. A person logs in at the terminal.
func mcpServersFor(a *cli.App, cmd *cobra.Command, logins string) mcpServers {
	login := func(ctx context.Context, address string) (string, error) {
		return askLogin(ctx, a, address)
	}
	return mcpServers{ctx: cmd.Context(), note: noteTo(a), login: login, logins: loginsIn(logins)}
}

func importFunctionsCommand(a *cli.App, catalog *specfiles.Flags) *cobra.Command {
	var flags importFlags
	output := false
	cmd := &cobra.Command{
		Use: "functions FILE|-", Short: "Create function tools from function definitions of model providers",
		Long: `Reads functions in the format of OpenAI, Anthropic or Google, one or a list, as JSON or YAML.
The tool's name is the handler that your worker registers. A function with method, host and
endpoint becomes a REST tool.`,
		Example: `  starter tools import functions functions.json`,
		Args:    cli.Arguments(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			read := func(name string, data []byte) (imports.Result, error) {
				return imports.Functions(name, data,
					imports.FunctionOptions{Names: flags.names, Output: output})
			}
			return importFile(a, cmd, args[0], &flags, catalog, read)
		},
	}
	flags.add(cmd.Flags(), "tag")
	cmd.Flags().BoolVar(&output, "with-output", false, "declare output schemas too, if the functions do")
	return cmd
}

func importRegistryCommand(a *cli.App, catalog *specfiles.Flags) *cobra.Command {
	var flags importFlags
	connect := false
	cmd := &cobra.Command{
		Use: "registry FILE|-", Short: "Create toolspecs from a TOML tool registry",
		Long: `Reads a registry with one [[tool]] per tool. The kind BUILTIN becomes function, NATIVE stateful,
REST rest, MCP mcp. docs/toolspec.md lists the keys. MCP tools are pinned: --connect starts or
reaches the servers that the registry names. Without --connect, MCP tools are not imported.`,
		Example: `  starter tools import registry registry.toml
  starter tools import registry registry.toml --connect`,
		Args: cli.Arguments(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := imports.RegistryOptions{Names: flags.names}
			servers := mcpServers{ctx: cmd.Context(), note: noteTo(a)}
			defer servers.close()
			if connect {
				o.Ask = servers.tools
			}
			read := func(name string, data []byte) (imports.Result, error) {
				return imports.Registry(name, data, o)
			}
			return importFile(a, cmd, args[0], &flags, catalog, read)
		},
	}
	flags.add(cmd.Flags(), "tag")
	cmd.Flags().BoolVar(&connect, "connect", false, "connect to the MCP servers of the registry and import their tools")
	return cmd
}
