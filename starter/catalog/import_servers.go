package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// readConfig returns the tools of the servers of a configuration. Servers that the file of servers
// declares are used as it declares them.
func (f *importer) readConfig(source string, data []byte) (imports.Result, error) {
	var all imports.Result
	configured, err := listServers(source, data)
	if err != nil {
		return all, err
	}
	path := filepath.Join(f.out, toolspecs.ServersFile)
	old, err := readIfPresent(path)
	if err != nil {
		return all, err
	}
	var reached []imports.ConfiguredServer
	configured, only := pickServers(configured, f.options.Only)
	for _, s := range configured {
		if s.Entry.URL != "" {
			s.Entry.Allow = f.options.Allow
		}
		if s.Entry, err = declaredEntry(path, old, s); err != nil {
			return all, err
		}
		r, err := f.readServer(s, only)
		if err != nil {
			return all, err
		}
		addServer(&all, s, r)
		if len(r.Tools) > 0 {
			reached = append(reached, s)
		}
	}
	f.added.data, f.added.names, err = imports.ServersYAML(old, reached)
	if err != nil {
		return all, cli.Errorf(cli.ExitUsage, "%s: %w", path, err)
	}
	f.prefix = "" // the names have it already
	return all, nil
}

// listServers returns the servers of a configuration, or the names of those that a file of servers
// declares.
func listServers(source string, data []byte) ([]imports.ConfiguredServer, error) {
	if !toolspecs.IsServersFile(source) {
		return imports.MCPConfig(source, data)
	}
	names, err := toolspecs.CheckServers(source, data)
	var list []imports.ConfiguredServer
	for _, name := range names {
		list = append(list, imports.ConfiguredServer{Name: name})
	}
	return list, err
}

// pickServers returns the servers to ask, and the patterns for their tools. Patterns that all name
// servers select these servers with all tools.
func pickServers(all []imports.ConfiguredServer,
	only []string) ([]imports.ConfiguredServer, []string) {
	named := slices.DeleteFunc(slices.Clone(all), func(s imports.ConfiguredServer) bool {
		return !slices.Contains(only, s.Name)
	})
	if len(only) > 0 && len(named) == len(only) {
		return named, nil
	}
	return all, only
}

// addServer adds what was imported from one server.
func addServer(all *imports.Result, s imports.ConfiguredServer, r imports.Result) {
	for _, tool := range r.Tools {
		tool.Source = s.Name + ": " + tool.Source
		all.Tools = append(all.Tools, tool)
	}
	for _, refused := range r.Refused {
		refused.Source = s.Name + ": " + refused.Source
		all.Refused = append(all.Refused, refused)
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

// readServer returns the tools of one server. What keeps it from being imported is in the result.
func (f *importer) readServer(s imports.ConfiguredServer, only []string) (imports.Result, error) {
	var listed []mcpclient.Tool
	reason := s.Problem
	if reason == "" {
		var err error
		listed, err = f.listTools(s.Entry, s.Literals)
		if err != nil && f.servers.ctx.Err() != nil {
			return imports.Result{}, importError(f.servers.ctx, s.Entry, err)
		}
		if err != nil {
			reason = err.Error()
		} else if len(listed) == 0 {
			reason = "the server lists no tools"
		}
	}
	if reason != "" {
		return imports.Result{Refused: []imports.Refused{{Source: "all tools", Reason: reason}}}, nil
	}
	entry := s.Entry
	entry.Server, entry.Session = s.Name, ""
	// An error says that nothing of this server is selected; perhaps something of another one is.
	r, _ := imports.MCP(s.Name, entry, listed, only)
	prefix := f.prefix
	if f.ownPrefix {
		prefix = s.Name + "_"
	}
	r.Admit(prefix, insideHosts())
	return r, nil
}

// listTools lists the tools of a server that gets the secrets of the configuration, whatever the
// environment has.
func (f *importer) listTools(entry toolspecs.MCPEntry,
	secrets map[string]string) ([]mcpclient.Tool, error) {
	for name, value := range secrets {
		restore, err := setVariable(name, value)
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	defer f.servers.close() // ending a session may need the secrets
	return f.servers.tools(entry)
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
