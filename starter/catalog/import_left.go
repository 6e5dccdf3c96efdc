package catalog

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// findLeft finds the files of earlier imports of the source whose tools are not imported any more:
// the source no longer has them, or they have other names now. Nothing is left if the import
// selects some of the tools.
func (r *importReport) findLeft(flags *importFlags, tools []toolspecs.Located) error {
	if flags.selects() || len(r.Tools) == 0 {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(flags.out, "*.yaml"))
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "--out %s: %w", flags.out, err)
	}
	imported := map[string]bool{}
	for _, t := range r.Tools {
		imported[t.File] = true
	}
	files = slices.DeleteFunc(files, func(file string) bool { return imported[file] })
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return cli.Errorf(cli.ExitUsage, "%s: %w", file, cli.PathError(file, err))
		}
		if imports.Earlier(data, r.Title) || ofServer(file, data, tools) {
			r.Left = append(r.Left, file)
		}
	}
	return nil
}

// selects reports whether flags select some of the tools of the source.
func (f *importFlags) selects() bool { return f.part || len(f.names) > 0 }

// serverDigest identifies the MCP server of a tool; empty for tools of other kinds.
func serverDigest(s toolspecs.Spec) string {
	entry, ok := s.Entry.Kind.(toolspecs.MCPEntry)
	if !ok {
		return ""
	}
	return entry.ServerDigest()
}

// ofServer reports whether a file was imported from the MCP server of one of the tools.
func ofServer(file string, data []byte, tools []toolspecs.Located) bool {
	if !imports.IsImported(data) {
		return false
	}
	specs, err := toolspecs.Decode(file, data, toolspecs.Options{})
	if err != nil || len(specs) == 0 {
		return false // lint reports its faults
	}
	server := serverDigest(specs[0])
	return server != "" && slices.ContainsFunc(tools, func(t toolspecs.Located) bool {
		return serverDigest(t.Spec) == server
	})
}
