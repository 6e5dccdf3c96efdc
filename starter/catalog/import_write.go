package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/wholefile"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// States of an imported tool's file, or in a dry run those that it would get.
const (
	fileWritten   = "written"
	fileUpdated   = "updated"
	fileUnchanged = "unchanged"
	// fileEdited is a file of people, which stays as it is.
	fileEdited = "edited"
)

// importedTool is the JSON form of an imported tool.
type importedTool struct {
	Tool   string `json:"tool"`
	Source string `json:"source"`
	File   string `json:"file"`
	State  string `json:"state"`
	// New is the file with the new version of a tool whose file people edited.
	New   string   `json:"new,omitempty"`
	Notes []string `json:"notes,omitempty"`

	data []byte
}

// importReport is the result of importing a document.
type importReport struct {
	Kind    string            `json:"kind"`
	Title   string            `json:"title,omitempty"`
	DryRun  bool              `json:"dry_run,omitempty"`
	Tools   []importedTool    `json:"tools"`
	Refused []imports.Refused `json:"refused,omitempty"`
	Notes   []string          `json:"notes,omitempty"`
	// Servers are the servers that were added to the file of servers.
	Servers []string `json:"servers,omitempty"`
	// Left are the files of earlier imports of the source whose tools are not imported any more.
	Left []string `json:"left,omitempty"`
}

// serversToWrite is the content of a file of servers, and the names of those that it did not have.
type serversToWrite struct {
	data  []byte
	names []string
}

// write writes the imported tools or reports what it would write.
func (f *importer) write(result imports.Result) error {
	result.Admit(f.prefix, insideHosts())
	report, err := f.plan(result)
	if err != nil {
		return err
	}
	if !f.dryRun && len(report.Tools) > 0 {
		if err := f.writeFiles(report); err != nil {
			return cli.Errorf(cli.ExitFailed, "--out %s: %w", f.out, err)
		}
	}
	if err := f.print(report); err != nil {
		return err
	}
	switch {
	case len(report.Tools) > 0:
		return nil
	case len(report.Refused) == 0:
		return cli.Errorf(cli.ExitUsage, "--only %s selects none of the tools",
			strings.Join(f.options.Only, ","))
	}
	return cli.Exit(cli.ExitUsage)
}

// plan determines the state of each file.
func (f *importer) plan(result imports.Result) (*importReport, error) {
	report := &importReport{Kind: f.kind, Title: result.Title, DryRun: f.dryRun,
		Tools: []importedTool{}, Refused: result.Refused, Notes: result.Notes,
		Servers: f.added.names}
	var located []toolspecs.Located
	sources := map[string]bool{}
	for _, tool := range result.Tools {
		t := importedTool{Tool: tool.Spec.Name, Source: tool.Source, Notes: tool.Notes,
			File: filepath.Join(f.out, imports.File(tool.Spec))}
		data, err := result.YAML(tool)
		if err != nil {
			return nil, err
		}
		t.data = data
		if err := t.plan(); err != nil {
			return nil, err
		}
		record, _ := imports.ReadRecord(data)
		sources[record.Source] = record.Source != ""
		report.Tools = append(report.Tools, t)
		located = append(located, toolspecs.Located{Spec: tool.Spec, File: t.File})
	}
	for _, w := range toolspecs.Warnings(located) {
		report.Notes = append(report.Notes, w.String())
	}
	if len(f.options.Only) > 0 { // a selection leaves the other files
		return report, nil
	}
	return report, report.findLeft(f.out, sources)
}

// plan determines what becomes of the tool's file. One that people wrote or edited stays, and so
// does one of another source.
func (t *importedTool) plan() error {
	t.State = fileWritten
	old, err := readIfPresent(t.File)
	if old == nil || err != nil {
		return err
	}
	if t.State = stateAfter(old, t.data); t.State != fileEdited {
		return nil
	}
	t.New = strings.TrimSuffix(t.File, ".yaml") + toolspecs.NewVersionEnding
	earlier, err := readIfPresent(t.New)
	if record, imported := imports.ReadRecord(earlier); earlier != nil &&
		(!imported || record.Edited) && !bytes.Equal(earlier, t.data) {
		return cli.Errorf(cli.ExitFailed, "%s was edited, so nothing was written\n"+
			"Merge it into %s, delete it, and import again.", t.New, t.File)
	}
	return err
}

// readIfPresent returns the content of a file; nil if there is none.
func readIfPresent(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "%s: %w", file, cli.PathError(file, err))
	}
	return data, nil
}

// stateAfter returns the state of a file after the import of a new version.
func stateAfter(old, data []byte) string {
	before, _ := imports.ReadRecord(old)
	now, _ := imports.ReadRecord(data)
	same := before.SameSource(now)
	switch {
	case bytes.Equal(old, data), same && before.Same(now): // or people edited what the source still has
		return fileUnchanged
	case same && !before.Edited:
		return fileUpdated
	}
	return fileEdited
}

// findLeft finds the files of earlier imports of the sources whose tools are not imported any more:
// the source no longer has them, or they have other names now.
func (r *importReport) findLeft(dir string, sources map[string]bool) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "--out %s: %w", dir, err)
	}
	imported := map[string]bool{}
	for _, t := range r.Tools {
		imported[t.File] = true
	}
	for _, file := range files {
		if imported[file] || !toolspecs.IsSpecFile(file) {
			continue
		}
		data, err := readIfPresent(file)
		if err != nil {
			return err
		}
		if record, _ := imports.ReadRecord(data); sources[record.Source] {
			r.Left = append(r.Left, file)
		}
	}
	return nil
}

func (f *importer) writeFiles(r *importReport) error {
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	if len(f.added.names) > 0 {
		path := filepath.Join(f.out, toolspecs.ServersFile)
		if err := wholefile.Write(path, f.added.data, 0o644); err != nil {
			return err
		}
	}
	for _, t := range r.Tools {
		if t.State == fileUnchanged {
			continue
		}
		if err := wholefile.Write(cmp.Or(t.New, t.File), t.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *importer) print(r *importReport) error {
	a := f.app
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, r, false)
	}
	rows := cli.Table{Header: []string{"file", "state", "from"}}
	for _, t := range r.Tools {
		rows.Add(t.File, t.State, t.Source)
	}
	if n := len(r.Servers); n > 0 {
		fmt.Fprintf(a.Err, "%s: %s %s\n", filepath.Join(f.out, toolspecs.ServersFile),
			display.Plural(n, "server"), map[bool]string{true: "would be added",
				false: "added"}[f.dryRun])
	}
	if len(r.Tools) > 0 {
		if err := a.Print(rows.Text(a.PaletteFor(a.Out))); err != nil {
			return err
		}
	}
	p := a.PaletteFor(a.Err)
	r.printNotes(a.Err, p.Warn("note:"))
	printGrouped(a.Err, p.Bad("not imported:"), r.Refused)
	fmt.Fprintln(a.Err, r.summary(f.out))
	return nil
}

func (r *importReport) printNotes(w io.Writer, label string) {
	for _, note := range r.Notes {
		fmt.Fprintln(w, label, note)
	}
	printGrouped(w, label, r.toolNotes())
	for _, file := range r.Left {
		fmt.Fprintf(w, "%s %s is from an earlier import of this source, and its tool is not among "+
			"those of now; delete it if you no longer need it\n", label, file)
	}
	for _, t := range r.Tools {
		if t.New != "" {
			fmt.Fprintf(w, "%s %s was edited or is from another source, so it stays; the new version is %s\n",
				label, t.File, t.New)
		}
	}
}

// toolNotes returns the notes about tools, each with its part of the source.
func (r *importReport) toolNotes() []imports.Refused {
	var notes []imports.Refused
	for _, t := range r.Tools {
		for _, text := range t.Notes {
			notes = append(notes, imports.Refused{Source: t.Source, Reason: text})
		}
	}
	return notes
}

// printGrouped prints each text about parts of the source once, with some of the parts.
func printGrouped(w io.Writer, label string, texts []imports.Refused) {
	const most = 3
	var order []string
	sources := map[string][]string{}
	for _, t := range texts {
		if sources[t.Reason] == nil {
			order = append(order, t.Reason)
		}
		sources[t.Reason] = append(sources[t.Reason], t.Source)
	}
	for _, text := range order {
		parts := sources[text]
		list := strings.Join(parts[:min(len(parts), most)], ", ")
		if more := len(parts) - most; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(w, "%s %s: %s\n", label, list, text)
	}
}

// summary counts the files by state.
func (r *importReport) summary(dir string) string {
	counts := map[string]int{}
	for _, t := range r.Tools {
		counts[t.State]++
	}
	text := display.Plural(counts[fileWritten], "tool") + " written to " + dir
	if r.DryRun {
		text = "dry run, nothing was written: " + text
	}
	for _, state := range []string{fileUpdated, fileUnchanged, fileEdited} {
		if n := counts[state]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, state)
		}
	}
	if notes := len(r.toolNotes()); notes > 0 {
		text += ", " + display.Plural(notes, "note")
	}
	return text + fmt.Sprintf("; %d not imported", len(r.Refused))
}
