package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/client"
)

// workerTools are the tools of the workers of a task queue.
type workerTools struct {
	Workers     []listedWorker   `json:"workers"`
	Differences []toolDifference `json:"differences"`
	// FolderError is why the folder is not compared.
	FolderError string `json:"folder_error,omitempty"`
}

// listedWorker describes the tools of one worker.
type listedWorker struct {
	workerreport.Catalog
	// Uncompared is set if the worker's individual tools are unknown.
	Uncompared bool `json:"uncompared,omitempty"`
}

// toolDifference is a tool whose version differs between workers, or between a worker and the
// folder.
type toolDifference struct {
	Tool     string         `json:"tool"`
	Versions []foundVersion `json:"versions"`
}

// foundVersion is one version of a tool, or its absence, and who has it.
type foundVersion struct {
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Missing bool   `json:"missing,omitempty"`
	// Folder is set if the --tools folder has this version.
	Folder  bool     `json:"folder,omitempty"`
	Workers []string `json:"workers,omitempty"`
}

// listWorkerTools queries the workers' tools and prints them.
func listWorkerTools(a *cli.App, cmd *cobra.Command, flags *specfiles.Flags, queue string) error {
	if err := flags.Check(cmd); err != nil {
		return err
	}
	lanes, err := flags.ServedLanes()
	wrong, isWrong := errors.AsType[toolspecs.Faults](err)
	if err != nil && !isWrong { // with faults in the folder, the workers' tools matter most
		return err
	}
	return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
		workers, err := cli.FindWorkers(ctx, c, a.Connection.Invocation(),
			a.Connection.ResolvedNamespace, queue, lanes)
		if err != nil {
			return err
		}
		report, err := cli.AskWorkers(ctx, c, queue, workerreport.Request{Workers: workers})
		if silent, ok := errors.AsType[*cli.NoAnswerError](err); ok {
			return cli.Errorf(cli.ExitFailed, "%w\nStart one: %s", silent,
				a.Connection.Invocation().WorkerCommand(queue, api.LaneGeneral))
		}
		if err != nil {
			return err
		}
		found, err := compareTools(flags, report, wrong)
		if err != nil {
			return err
		}
		if a.Format.JSON() {
			return cli.WriteJSON(a.Out, found, false)
		}
		return printWorkerTools(a, found, flags.Dir, queue)
	})
}

// maxFolderError bounds the shown faults of a folder. tools lint shows all.
const maxFolderError = 300

// compareTools finds the tools that differ between workers, and from the folder if it has no
// faults.
func compareTools(c *specfiles.Flags, report workerreport.Report,
	wrong toolspecs.Faults) (workerTools, error) {
	found := workerTools{Workers: []listedWorker{}, Differences: []toolDifference{}}
	owners, err := found.take(report)
	if err != nil {
		return found, err
	}
	if len(wrong) > 0 {
		found.FolderError = display.ShortenLines(wrong.Error(), maxFolderError)
	} else if c.Dir != "" && len(owners) > 0 {
		folder, err := c.LoadFolder(findMode(report))
		if err != nil {
			return found, err
		}
		owners = append(owners, newOwner("", listVersions(folder)))
	}
	for _, name := range listToolNames(owners) {
		if versions := versionsBy(owners, name); len(versions) > 1 {
			found.Differences = append(found.Differences, toolDifference{Tool: name,
				Versions: versions})
		}
	}
	return found, nil
}

// take adds the workers of a report and returns those whose tools are known.
func (h *workerTools) take(report workerreport.Report) ([]owner, error) {
	var owners []owner
	for _, w := range report.Workers {
		tools, err := report.ToolVersions(w.Digest)
		if err != nil {
			return nil, err
		}
		known := len(tools) == w.Tools
		h.Workers = append(h.Workers, listedWorker{Catalog: w, Uncompared: !known})
		if w.Failure == "" && known {
			owners = append(owners, newOwner(w.Worker, tools))
		}
	}
	return owners, nil
}

// findMode returns the workers' mode. Workers in different modes differ in all tools anyway.
func findMode(report workerreport.Report) (mode api.Mode) {
	for _, w := range report.Workers {
		mode = cmp.Or(mode, w.Mode)
	}
	return mode
}

// owner is a worker, or the folder if the name is empty, with its tools by name.
type owner struct {
	worker string
	tools  map[string]workerreport.ToolVersion
}

func newOwner(worker string, tools []workerreport.ToolVersion) owner {
	o := owner{worker: worker, tools: map[string]workerreport.ToolVersion{}}
	for _, t := range tools {
		o.tools[t.Name] = t
	}
	return o
}

func listToolNames(owners []owner) []string {
	names := map[string]bool{}
	for _, o := range owners {
		for name := range o.tools {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func listVersions(catalog *toolspecs.Catalog) []workerreport.ToolVersion {
	var tools []workerreport.ToolVersion
	for _, t := range catalog.All() {
		tools = append(tools, workerreport.ToolVersion{Name: t.Spec.Name, Version: t.Spec.Version,
			Digest: t.Digest})
	}
	return tools
}

// versionsBy returns the versions of one tool and who has them. A tool missing from the folder is
// not a difference, because workers have built-in tools.
func versionsBy(owners []owner, name string) []foundVersion {
	var versions []foundVersion
	for _, o := range owners {
		t, has := o.tools[name]
		folder := o.worker == ""
		if folder && !has {
			continue
		}
		i := slices.IndexFunc(versions, func(v foundVersion) bool {
			return v.Missing == !has &&
				v.Digest == t.Digest
		})
		if i < 0 {
			i = len(versions)
			versions = append(versions, foundVersion{Version: t.Version, Digest: t.Digest,
				Missing: !has})
		}
		if v := &versions[i]; folder {
			v.Folder = true
		} else {
			v.Workers = append(v.Workers, o.worker)
		}
	}
	slices.SortStableFunc(versions, func(x, y foundVersion) int {
		return cmp.Compare(x.Version,
			y.Version)
	})
	return versions
}

func printWorkerTools(a *cli.App, found workerTools, dir, queue string) error {
	if len(found.Workers) == 0 {
		fmt.Fprintf(a.Err, "no worker serves the task queue %s\n  start one: %s\n", queue,
			a.Connection.Invocation().WorkerCommand(queue, api.LaneGeneral))
		return nil
	}
	p, now := a.PaletteFor(a.Out), time.Now()
	t := cli.Table{Header: []string{"worker", "lanes", "tools", "catalog", "loaded"},
		Right: map[int]bool{2: true}}
	for _, w := range found.Workers {
		if w.Failure != "" {
			t.Add(w.Worker, p.Bad("no answer"))
			continue
		}
		t.Add(w.Worker, strings.Join(w.Lanes, ","), strconv.Itoa(w.Tools), w.Digest,
			a.Format.When(w.Loaded, now))
	}
	text := t.Text(p)
	for _, note := range found.notes(dir) {
		text += p.Warn("! "+note) + "\n"
	}
	if len(found.Differences) == 0 {
		return a.Print(text + "\nno tool differs\n")
	}
	return a.Print(text + "\n" + found.table(p, dir))
}

// notes returns notes about the workers.
func (h workerTools) notes(dir string) []string {
	var notes []string
	if h.FolderError != "" {
		notes = append(notes, fmt.Sprintf(
			"the folder %s is not compared because it has faults (starter tools lint %s):%s",
			dir, dir, cli.Below(h.FolderError)))
	}
	modes := map[api.Mode]bool{}
	for _, w := range h.Workers {
		switch {
		case w.Failure != "":
			notes = append(notes, w.Worker+": "+w.Failure)
			continue
		case w.Error != "":
			notes = append(notes, w.Worker+": its folder has faults; the earlier tools stay in effect:"+
				cli.Below(w.Error))
		}
		if w.Uncompared {
			notes = append(notes, w.Worker+
				": it has too many tools to list, so only their digest is compared")
		}
		modes[cmp.Or(w.Mode, api.ModeStrict)] = true
	}
	if len(modes) > 1 {
		notes = append(notes, "some workers validate arguments strictly and some leniently, so all their tools differ")
	}
	return notes
}

func (h workerTools) table(p cli.Palette, dir string) string {
	t := cli.Table{Header: []string{"differs", "version", "digest", "found at"}}
	for _, tool := range h.Differences {
		for i, v := range tool.Versions {
			name := tool.Tool
			if i > 0 {
				name = ""
			}
			if v.Missing {
				v.Version = p.Warn("missing")
			}
			t.Add(name, v.Version, v.Digest, v.holders(dir))
		}
	}
	return t.Text(p)
}

func (v foundVersion) holders(dir string) string {
	if v.Folder {
		return strings.Join(append([]string{dir}, v.Workers...), ", ")
	}
	return strings.Join(v.Workers, ", ")
}
