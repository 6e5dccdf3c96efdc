package catalog

import (
	"os"
	"path/filepath"

	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// findLeft finds the files of earlier imports of the source whose tools are not imported any more:
// the source no longer has them, or they have other names now. Nothing is left if the import
// selects some of the tools.
func (r *importReport) findLeft(flags *importFlags) error {
	imported, sources := r.origins()
	if flags.selects() || len(sources) == 0 {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(flags.out, "*.yaml"))
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "--out %s: %w", flags.out, err)
	}
	for _, file := range files {
		if imported[file] || !toolspecs.IsSpecFile(file) {
			continue
		}
		source, err := readSource(file)
		if err != nil {
			return err
		}
		if sources[source] {
			r.Left = append(r.Left, file)
		}
	}
	return nil
}

// readSource returns the source that a file was imported from; empty for another file.
func readSource(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", cli.Errorf(cli.ExitUsage, "%s: %w", file, cli.PathError(file, err))
	}
	record, _ := imports.ReadRecord(data)
	return record.Source, nil
}

// origins returns the files and the sources of the imported tools.
func (r *importReport) origins() (files, sources map[string]bool) {
	files, sources = map[string]bool{}, map[string]bool{}
	for _, t := range r.Tools {
		files[t.File] = true
		record, _ := imports.ReadRecord(t.data)
		sources[record.Source] = record.Source != ""
	}
	return files, sources
}

// selects reports whether flags select some of the tools of the source.
func (f *importFlags) selects() bool { return f.part || len(f.names) > 0 }
