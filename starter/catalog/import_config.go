package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

func importConfigCommand(a *cli.App, catalog *specfiles.Flags) *cobra.Command {
	var flags importFlags
	var only []string
	output, logins := false, ""
	cmd := &cobra.Command{
		Use:   "mcp-config FILE|-",
		Short: "Create toolspecs of the MCP servers that an MCP client has configured",
		Long: `Reads the MCP servers of a configuration as Claude, Cursor (mcpServers) and VS Code (servers)
write it, adds them to servers.yaml in the folder of --out, connects to each one, and writes a
pinned toolspec for each of its tools. Names begin with the name of the server and _, or with
--prefix. Servers that servers.yaml already declares are used as it declares them.

Values that are secret are not copied: servers.yaml refers to environment variables of the
worker, and notes name them. Other values of env are copied.`,
		Example: `  starter tools import mcp-config .mcp.json
  starter tools import mcp-config ~/.cursor/mcp.json --server github --effect read
  starter tools import mcp-config .vscode/mcp.json --dry-run`,
		Args: cli.Arguments(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(cmd); err != nil {
				return err
			}
			name, data, err := document(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			configured, err := imports.MCPConfig(name, data)
			if err != nil {
				return err
			}
			if configured, err = pickServers(cmd, configured, only); err != nil {
				return err
			}
			servers := mcpServers{ctx: cmd.Context(), note: noteTo(a), logins: loginsIn(logins),
				login: func(ctx context.Context, address string) (string, error) {
					return askLogin(ctx, a, address)
				}}
			defer servers.close()
			c := configImport{flags: &flags, servers: &servers, output: output,
				ownPrefix: !cmd.Flags().Changed("prefix")}
			result, err := c.run(configured)
			if err != nil {
				return err
			}
			return writeImported(a, cmd, &flags, catalog, result)
		},
	}
	flags.add(cmd.Flags(), "tag")
	cmd.Flags().StringSliceVar(&only, "server", nil, "only these `servers`")
	cmd.Flags().BoolVar(&output, "with-output", false,
		"declare output schemas too, if the servers do")
	loginsFlag(cmd.Flags(), &logins)
	return cmd
}

// pickServers returns the named servers, or all if none is named.
func pickServers(cmd *cobra.Command, all []imports.ConfiguredServer,
	only []string) ([]imports.ConfiguredServer, error) {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, cli.UsageError(cmd, "--server %s: the file configures no such server; %s",
				name, spelling.Hint(name, names))
		}
	}
	return slices.DeleteFunc(all, func(s imports.ConfiguredServer) bool {
		return len(only) > 0 && !slices.Contains(only, s.Name)
	}), nil
}

// configImport imports the servers of a configuration.
type configImport struct {
	flags   *importFlags
	servers *mcpServers
	output  bool
	// ownPrefix is set if names begin with their server's name.
	ownPrefix bool
}

func (c *configImport) run(configured []imports.ConfiguredServer) (imports.Result, error) {
	var all imports.Result
	path := filepath.Join(c.flags.out, toolspecs.ServersFile)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, cli.Errorf(cli.ExitUsage, "%s: %w", path, cli.PathError(path, err))
	}
	var reached []imports.ConfiguredServer
	for _, s := range configured {
		r, err := c.server(path, old, s)
		if err != nil {
			return all, err
		}
		addServer(&all, s, r)
		if len(r.Tools) > 0 {
			reached = append(reached, s)
		}
	}
	data, added, err := imports.ServersYAML(old, reached)
	if err != nil {
		return all, cli.Errorf(cli.ExitUsage, "%s: %w", path, err)
	}
	c.flags.servers = serversToWrite{data: data, added: added}
	c.flags.overrides.Prefix = "" // the names have it already
	return all, nil
}

// addServer adds what was imported from one server.
func addServer(all *imports.Result, s imports.ConfiguredServer, r imports.Result) {
	for _, tool := range r.Tools {
		tool.Source = s.Name + ": " + tool.Source
		all.Tools = append(all.Tools, tool)
	}
	for _, refused := range r.Refused {
		all.Refused = append(all.Refused, imports.Refused{
			Source: s.Name + ": " + refused.Source, Reason: refused.Reason})
	}
	for _, note := range s.Notes {
		all.Notes = append(all.Notes, fmt.Sprintf("server %s: %s", s.Name, note))
	}
}

// declaredEntry returns the entry of a server in the file of servers, else that of the
// configuration.
func declaredEntry(path string, old []byte,
	s imports.ConfiguredServer) (toolspecs.MCPEntry, error) {
	if len(old) == 0 {
		return s.Entry, nil
	}
	declared, found, err := toolspecs.ServerEntry(path, old, s.Name)
	if err != nil || !found {
		return s.Entry, err
	}
	return declared, nil
}

// server imports the tools of one server. What keeps it from being imported is in the result.
func (c *configImport) server(path string, old []byte,
	s imports.ConfiguredServer) (imports.Result, error) {
	var r imports.Result
	refuse := func(reason string) (imports.Result, error) {
		r.Refused = append(r.Refused, imports.Refused{Source: "all tools", Reason: reason})
		return r, nil
	}
	entry, err := declaredEntry(path, old, s)
	if err != nil {
		return r, err
	}
	if s.Problem != "" {
		return refuse(s.Problem)
	}
	listed, err := c.listTools(entry, s.Literals)
	if c.servers.ctx.Err() != nil {
		return r, importError(c.servers.ctx, entry, err)
	}
	if err != nil {
		return refuse(err.Error())
	}
	if len(listed) == 0 {
		return refuse("the server lists no tools")
	}
	entry.Server, entry.Session = s.Name, ""
	r = imports.MCP(entry, listed, imports.MCPOptions{Names: c.flags.names, Output: c.output,
		Effect: c.flags.overrides.Effect})
	prefix := c.flags.overrides.Prefix
	if c.ownPrefix {
		prefix = s.Name + "_"
	}
	r.Override(imports.Overrides{Prefix: prefix}, insideHosts())
	return r, nil
}

// listTools lists the tools of a server that gets the secrets of the configuration, whatever the
// environment has.
func (c *configImport) listTools(entry toolspecs.MCPEntry,
	secrets map[string]string) ([]mcpclient.Tool, error) {
	for name, value := range secrets {
		restore, err := setVariable(name, value)
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	defer c.servers.close() // ending a session may need the secrets
	return c.servers.tools(entry)
}

// setVariable sets an environment variable until restore is called.
func setVariable(name, value string) (restore func(), err error) {
	before, found := os.LookupEnv(name)
	if err := os.Setenv(name, value); err != nil {
		return nil, fmt.Errorf("set the variable %s: %w", name, err)
	}
	return func() {
		// The name and the former value were accepted before.
		if found {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}, nil
}
