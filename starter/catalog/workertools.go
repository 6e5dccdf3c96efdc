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
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/client"
)

// workerTools are the tools of the workers of a task queue.
type workerTools struct {
	Workers     []listedWorker   `json:"workers"`
	Differences []toolDifference `json:"differences"`
}

// listedWorker describes the tools of one worker.
type listedWorker struct {
	workerreport.Catalog
	// Uncompared is set if the worker's individual tools are unknown.
	Uncompared bool `json:"uncompared,omitempty"`

	tools map[string]workerreport.ToolVersion
}

// toolDifference is a tool whose version differs between workers.
type toolDifference struct {
	Tool     string         `json:"tool"`
	Versions []foundVersion `json:"versions"`
}

// foundVersion is one version of a tool, or its absence, and who has it.
type foundVersion struct {
	Version string   `json:"version,omitempty"`
	Digest  string   `json:"digest,omitempty"`
	Missing bool     `json:"missing,omitempty"`
	Workers []string `json:"workers,omitempty"`
}

// listWorkerTools queries the workers' tools and prints them.
func listWorkerTools(a *cli.App, cmd *cobra.Command, flags *specfiles.Flags, queue string) error {
	if err := flags.Check(cmd); err != nil {
		return err
	}
	lanes, err := flags.ServedLanes()
	if _, isWrong := errors.AsType[toolspecs.Faults](err); err != nil && !isWrong {
		return err // with faults in the folder, the workers' tools matter most
	}
	return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
		workers, err := cli.FindWorkers(ctx, c, a.Connection.ResolvedNamespace, queue, lanes)
		if err != nil {
			return err
		}
		report, err := cli.AskWorkers(ctx, c, queue, workers)
		if err != nil {
			return err
		}
		found := compareTools(report)
		if a.Format.JSON() {
			return cli.WriteJSON(a.Out, found, false)
		}
		return printWorkerTools(a, found, queue)
	})
}

// compareTools finds the tools that differ between workers.
func compareTools(report workerreport.Report) workerTools {
	found := workerTools{Workers: []listedWorker{}, Differences: []toolDifference{}}
	names := map[string]bool{}
	for _, w := range report.Workers {
		tools := report.Catalogs[w.Digest]
		listed := listedWorker{Catalog: w, Uncompared: len(tools) != w.Tools,
			tools: map[string]workerreport.ToolVersion{}}
		for _, t := range tools {
			listed.tools[t.Name], names[t.Name] = t, true
		}
		found.Workers = append(found.Workers, listed)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if versions := found.versions(name); len(versions) > 1 {
			found.Differences = append(found.Differences, toolDifference{name, versions})
		}
	}
	return found
}

// versions returns the versions of one tool and the workers that have them.
func (h workerTools) versions(name string) []foundVersion {
	var versions []foundVersion
	for _, w := range h.Workers {
		if w.Failure != "" || w.Uncompared {
			continue
		}
		t, has := w.tools[name]
		i := slices.IndexFunc(versions, func(v foundVersion) bool {
			return v.Missing == !has && v.Digest == t.Digest
		})
		if i < 0 {
			i = len(versions)
			versions = append(versions, foundVersion{Version: t.Version, Digest: t.Digest,
				Missing: !has})
		}
		versions[i].Workers = append(versions[i].Workers, w.Worker)
	}
	slices.SortStableFunc(versions, func(x, y foundVersion) int {
		return cmp.Compare(x.Version, y.Version)
	})
	return versions
}

func printWorkerTools(a *cli.App, found workerTools, queue string) error {
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
	for _, note := range found.notes() {
		text += p.Warn("! "+note) + "\n"
	}
	if len(found.Differences) == 0 {
		return a.Print(text + "\nno tool differs\n")
	}
	return a.Print(text + "\n" + found.table(p))
}

// notes returns notes about the workers.
func (h workerTools) notes() []string {
	var notes []string
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

func (h workerTools) table(p cli.Palette) string {
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
			t.Add(name, v.Version, v.Digest, strings.Join(v.Workers, ", "))
		}
	}
	return t.Text(p)
}
