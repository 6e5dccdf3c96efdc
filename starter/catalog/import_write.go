package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/wholefile"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
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

type refusedPart struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// importReport is the result of importing a document.
type importReport struct {
	Title   string         `json:"title,omitempty"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Tools   []importedTool `json:"tools"`
	Refused []refusedPart  `json:"refused,omitempty"`
	Notes   []string       `json:"notes,omitempty"`
	// Servers are the servers that were added to the file of servers.
	Servers []string `json:"servers,omitempty"`
	// Left are the files of earlier imports of the source whose tools are not imported any more.
	Left []string `json:"left,omitempty"`
}

// writeImported writes the imported tools or reports what it would write.
func writeImported(a *cli.App, cmd *cobra.Command, flags *importFlags, catalog *specfiles.Flags,
	result imports.Result) error {
	isMCP := func(t imports.Tool) bool { return t.Spec.Entry.Type() == toolspecs.KindMCP }
	if flags.overrides.Session != "" && !slices.ContainsFunc(result.Tools, isMCP) {
		return cli.UsageError(cmd, "--session is for MCP tools, and this import has none")
	}
	result.Override(flags.overrides, insideHosts())
	report, err := planImport(flags, result)
	if err != nil {
		return err
	}
	if !flags.dryRun && len(report.Tools) > 0 {
		if err := report.write(flags); err != nil {
			return cli.Errorf(cli.ExitFailed, "--out %s: %w", flags.out, err)
		}
	}
	if err := printImport(a, report, flags); err != nil {
		return err
	}
	if len(report.Tools) == 0 {
		return cli.Exit(cli.ExitUsage)
	}
	return checkImported(a, report, flags, catalog)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// planImport determines the state of each file.
func planImport(flags *importFlags, result imports.Result) (*importReport, error) {
	report := &importReport{Title: result.Title, DryRun: flags.dryRun, Tools: []importedTool{},
		Notes: result.Notes, Servers: flags.servers.added}
	var located []toolspecs.Located
	for _, refused := range result.Refused {
		report.Refused = append(report.Refused, refusedPart(refused))
	}
	for _, tool := range result.Tools {
		t := importedTool{Tool: tool.Spec.Name, Source: tool.Source, Notes: tool.Notes,
			File: filepath.Join(flags.out, imports.File(tool.Spec))}
		if err := t.plan(flags, result.Title, tool); err != nil {
			return nil, err
		}
		report.Tools = append(report.Tools, t)
		located = append(located, toolspecs.Located{Spec: tool.Spec, File: t.File})
	}
	for _, w := range toolspecs.Warnings(located) {
		report.Notes = append(report.Notes, w.String())
	}
	return report, report.findLeft(flags)
}

// plan determines what becomes of the tool's file. One that people wrote or edited stays, and so
// does one of another source.
func (t *importedTool) plan(flags *importFlags, title string, tool imports.Tool) error {
	data, err := imports.YAML(title, tool)
	if err != nil {
		return err
	}
	t.data, t.State = data, fileWritten
	old, err := os.ReadFile(t.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return cli.Errorf(cli.ExitUsage, "%s: %w", t.File, cli.PathError(t.File, err))
	}
	if t.State = stateAfter(old, data, flags.force); t.State == fileEdited {
		t.New = strings.TrimSuffix(t.File, ".yaml") + toolspecs.NewVersionEnding
	}
	return nil
}

// stateAfter returns the state of a file after the import of a new version.
func stateAfter(old, data []byte, force bool) string {
	before, imported := imports.ReadRecord(old)
	now, _ := imports.ReadRecord(data)
	sameSource := imported && before.Source == now.Source
	switch {
	case bytes.Equal(old, data):
		return fileUnchanged
	case force, sameSource && !before.Edited:
		return fileUpdated
	case sameSource && before.Same(now): // people edited what the source still has
		return fileUnchanged
	}
	return fileEdited
}

// files returns the files in a state.
func (r *importReport) files(state string) []string {
	var files []string
	for _, t := range r.Tools {
		if t.State == state {
			files = append(files, t.File)
		}
	}
	return files
}

// others reports whether the folder has toolspecs other than the imported ones.
func (r *importReport) others(dir string) bool {
	files, err := specFiles([]string{dir})
	imported := map[string]bool{filepath.Join(dir, toolspecs.ServersFile): true}
	for _, t := range r.Tools {
		imported[t.File] = true
	}
	return err == nil && slices.ContainsFunc(files,
		func(file string) bool { return !imported[file] })
}

func (r *importReport) write(flags *importFlags) error {
	if err := os.MkdirAll(flags.out, 0o755); err != nil {
		return err
	}
	if s := flags.servers; len(s.added) > 0 {
		path := filepath.Join(flags.out, toolspecs.ServersFile)
		if err := wholefile.Write(path, s.data, 0o644); err != nil {
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

func printImport(a *cli.App, r *importReport, flags *importFlags) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, r, false)
	}
	p := a.PaletteFor(a.Out)
	rows := cli.Table{Header: []string{"file", "state", "from"}}
	for _, t := range r.Tools {
		rows.Add(t.File, t.State, t.Source)
	}
	if n := len(r.Servers); n > 0 {
		fmt.Fprintf(a.Err, "%s: %s %s\n", filepath.Join(flags.out, toolspecs.ServersFile),
			display.Plural(n, "server"), map[bool]string{true: "would be added",
				false: "added"}[flags.dryRun])
	}
	if len(r.Tools) > 0 {
		if err := a.Print(rows.Text(p)); err != nil {
			return err
		}
	}
	p = a.PaletteFor(a.Err)
	notes := r.printNotes(a, p)
	refusals := grouped{}
	for _, refused := range r.Refused {
		refusals.add(refused.Reason, refused.Source)
	}
	for _, n := range refusals.notes {
		fmt.Fprintln(a.Err, p.Bad("not imported:"), n.of()+": "+n.text)
	}
	fmt.Fprintln(a.Err, r.summary(flags, notes))
	return nil
}

// printNotes prints the notes and returns the number of those about tools.
func (r *importReport) printNotes(a *cli.App, p cli.Palette) (notes int) {
	for _, note := range r.Notes {
		fmt.Fprintln(a.Err, p.Warn("note:"), note)
	}
	all := grouped{}
	for _, t := range r.Tools {
		for _, text := range t.Notes {
			all.add(text, t.Source)
			notes++
		}
	}
	for _, note := range all.notes {
		fmt.Fprintln(a.Err, p.Warn("note:"), note.of()+": "+note.text)
	}
	for _, file := range r.Left {
		fmt.Fprintf(a.Err, "%s %s is from an earlier import of this source, and its tool is not among "+
			"those of now; delete it if you no longer need it\n", p.Warn("note:"), file)
	}
	for _, t := range r.Tools {
		if t.New != "" {
			fmt.Fprintf(a.Err, "%s %s was edited or is from another source, so it stays; "+
				"the new version is %s (--force overwrites)\n", p.Warn("note:"), t.File, t.New)
		}
	}
	return notes
}

// importNote is a note and the parts of the document it concerns.
type importNote struct {
	text    string
	sources []string
}

// grouped are notes, each once.
type grouped struct {
	notes []*importNote
	known map[string]*importNote
}

func (g *grouped) add(text, source string) {
	n, again := g.known[text]
	if !again {
		n = &importNote{text: text}
		if g.known == nil {
			g.known = map[string]*importNote{}
		}
		g.known[text] = n
		g.notes = append(g.notes, n)
	}
	n.sources = append(n.sources, source)
}

// of names some of the parts that a note concerns.
func (n *importNote) of() string {
	const most = 3
	return strings.Join(n.sources[:min(len(n.sources), most)], ", ") + more(len(n.sources)-most)
}

// summary counts the files by state.
func (r *importReport) summary(flags *importFlags, notes int) string {
	text := display.Plural(len(r.files(fileWritten)), "tool") + " written to " + flags.out
	if flags.dryRun {
		text = "dry run, nothing was written: " + text
	}
	for _, state := range []string{fileUpdated, fileUnchanged, fileEdited} {
		if n := len(r.files(state)); n > 0 {
			text += fmt.Sprintf(", %d %s", n, state)
		}
	}
	if notes > 0 {
		text += ", " + display.Plural(notes, "note")
	}
	return text + fmt.Sprintf("; %d not imported", len(r.Refused))
}

// checkImported loads the folder as a worker would if it has other files, because their tools'
// names may collide with imported ones.
func checkImported(a *cli.App, report *importReport, flags *importFlags,
	catalog *specfiles.Flags) error {
	if flags.dryRun || !report.others(flags.out) {
		return nil
	}
	o, err := catalog.Options()
	if err != nil {
		return err
	}
	_, err = folder.Load(flags.out, o)
	if faults, ok := errors.AsType[toolspecs.Faults](err); ok && !a.Format.JSON() {
		fmt.Fprintf(a.Err, "the folder %s has %s:\n", flags.out, display.Plural(len(faults), "fault"))
	}
	return err
}
