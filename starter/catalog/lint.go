package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/plans"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

func lintCommand(a *cli.App) *cobra.Command {
	catalog := &specfiles.Flags{}
	cmd := &cobra.Command{
		Use: "lint [PATH…]", Short: "Check toolspecs, agents, plans, scripts, lanes and policies",
		Long: `Checks folders of toolspecs, and files of toolspecs, agents, plans, scripts, lanes, servers and
policies, whose kind is detected from their keys. Lists every fault with file, line, column and
remedy. The exit code is 2 if there is a fault. Without a path the command checks the folder of
--tools (default ./tools).

Tools that agents, plans, scripts and policies name are looked up in the folder of --tools
(default ./tools if it holds toolspecs) and among the tools of the worker, and so are the tags,
categories, servers, instances and patterns of agents and the arguments that expressions of
policies read. Warnings then name tools with effects outside and tools with results by others that
have no labels, undo tools that a rule would stop, and approvals that clear labels and may come
from anybody. Without a folder every valid name is accepted. Lanes are looked up in the file of
--lanes-file (default ./lanes.yaml if it exists), which is checked as well.`,
		Example: `  starter tools lint
  starter tools lint ./tools
  starter tools lint agent.yaml plan.yaml lanes.yaml
  starter tools lint policies.yaml --tools ./tools`,
		Args: cli.Arguments(0, "PATH…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if catalog.UseDefault(); catalog.Dir == "" {
					return cli.UsageError(cmd,
						"PATH is missing, and ./tools has no toolspecs to check")
				}
				args = []string{catalog.Dir}
			}
			if err := catalog.Check(cmd); err != nil {
				return err
			}
			return lint(a, args, &linter{app: a, catalog: catalog})
		},
	}
	catalog.Add(cmd.Flags(), defaultTools)
	return cmd
}

// linter checks files.
type linter struct {
	app     *cli.App
	catalog *specfiles.Flags
	// options hold the lanes, as far as the lanes file can be read.
	options toolspecs.Options
}

// lint checks paths and prints every fault. It exits with code 2 if there is one.
func lint(a *cli.App, paths []string, l *linter) error {
	faults, note := l.lanes(paths)
	for _, path := range paths {
		for _, f := range faultsFromError(path, l.path(path)) {
			if !slices.Contains(faults, f) { // a wrong folder of tools is read for every plan
				faults = append(faults, f)
			}
		}
	}
	for _, f := range faults {
		if err := printFault(a, f); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		fmt.Fprintln(a.Err, display.Plural(len(faults), "fault")+note)
		return cli.Exit(cli.ExitUsage)
	}
	fmt.Fprintln(a.Err, "no faults"+note)
	return nil
}

// faultsFromError converts an error to faults.
func faultsFromError(path string, err error) toolspecs.Faults {
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if err != nil && !ok {
		return toolspecs.Faults{{File: path, Message: cli.PathError(path, err).Error()}}
	}
	return faults
}

// lanes checks the lanes file. The note mentions the check if the file is not one of the paths.
// Lane names are accepted even if the file has other faults.
func (l *linter) lanes(paths []string) (faults toolspecs.Faults, note string) {
	path := l.catalog.LanesPath()
	var err error
	if l.options, err = l.catalog.Options(); err != nil {
		faults, l.options.Lanes = faultsFromError(path, err), l.catalog.NamedLanes()
	}
	if path != "" && !slices.Contains(paths, path) {
		note = " (" + path + " was checked too)"
	}
	return faults, note
}

func printFault(a *cli.App, f toolspecs.Fault) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, cli.Fault(f), false)
	}
	return a.Println(f.String())
}

func (l *linter) path(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		shipped, err := l.loadShipped()
		if err != nil {
			return err
		}
		located, err := folder.Check(path, l.options, shipped, unreachable)
		if err != nil {
			return err
		}
		l.warn(located)
		return checkNamed(listSpecs(located), agents.Known{})
	}
	return l.file(path)
}

func (l *linter) file(path string) error {
	data, err := filewatch.ReadFile(path, specfiles.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err != nil {
		return toolspecs.Faults{{File: path, Message: "cannot be read: " + filewatch.Reason(err)}}
	}
	switch kind := specfiles.DetectKind(path, data); kind {
	case specfiles.KindTool:
		return l.tool(path, data)
	case specfiles.KindLanes:
		_, err := lanes.Decode(path, data)
		return err
	case specfiles.KindServers:
		_, err := toolspecs.CheckServers(path, data)
		return err
	case specfiles.KindPolicies:
		return l.rules(path, data)
	default:
		return l.caller(path, kind, data)
	}
}

// rules checks a file of policies. A guessed folder of tools that has faults is left out.
func (l *linter) rules(path string, data []byte) error {
	l.catalog.UseDefault()
	known, wrong := policyTools(l.catalog)
	if wrong != nil && l.catalog.Assumed {
		wrong = nil
	}
	if known == nil {
		_, err := policies.Decode(path, data)
		return specfiles.AllFaults(err, wrong)
	}
	tools := policies.Tools{}
	for _, t := range known.All() {
		tools[t.Spec.Name] = t.Takes()
	}
	set, err := policies.DecodeFor(path, data, tools)
	if err != nil {
		return err
	}
	return l.warnOfRules(path, set, known)
}

// caller checks a file that names tools: an agent, a plan or a script.
func (l *linter) caller(path string, kind string, data []byte) (err error) {
	known, wrong := specfiles.KnownTools(l.app, l.catalog)
	switch kind {
	case specfiles.KindAgent:
		_, err = agents.Decode(path, data, known)
	case specfiles.KindPlan:
		_, err = plans.Decode(path, data, known.Names)
	default:
		_, err = plans.DecodeScript(path, data, known.Names, "")
	}
	return specfiles.AllFaults(err, wrong)
}

// loadShipped returns the tools that workers provide.
func (l *linter) loadShipped() (*toolspecs.Catalog, error) {
	shipped, err := toolspecs.NewCatalog(toolspecs.LoadShipped())
	if err != nil {
		return nil, err
	}
	return shipped.OnLanes(l.options.KnownLanes())
}

// unreachable returns why no worker started in this environment would reach a tool's server.
func unreachable(c *toolspecs.Compiled) []string {
	if err := c.Spec.CheckReach(insideHosts()); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func listSpecs(located []toolspecs.Located) []toolspecs.Spec {
	specs := make([]toolspecs.Spec, len(located))
	for i, s := range located {
		specs[i] = s.Spec
	}
	return specs
}

// warn prints what may be wrong with tools that have no faults.
func (l *linter) warn(located []toolspecs.Located) {
	p := l.app.PaletteFor(l.app.Err)
	for _, w := range toolspecs.Warnings(located) {
		fmt.Fprintln(l.app.Err, p.Warn("warning:"), w.String())
	}
}

// warnOfRules prints what may be wrong with rules that have no faults.
func (l *linter) warnOfRules(path string, set *policies.Set, known *toolspecs.Catalog) error {
	tools, err := known.WithLabels(set)
	if err != nil {
		return err
	}
	p := l.app.PaletteFor(l.app.Err)
	for _, w := range set.Warnings(tools.PolicySubjects()) {
		fmt.Fprintf(l.app.Err, "%s %s: %s (%s)\n", p.Warn("warning:"), path, w.Message, w.Hint)
	}
	return nil
}

// surroundings returns the faults of tools in relation to what workers provide and reach.
func (l *linter) surroundings(located []toolspecs.Located) error {
	shipped, err := l.loadShipped()
	if err != nil {
		return err
	}
	faults := toolspecs.CheckInstances(listSpecs(located))
	for _, s := range located {
		compiled, err := s.Compile()
		if err != nil {
			return err
		}
		if other, both := shipped.Get(s.Spec.Name); both && other.Digest != compiled.Digest {
			faults = append(faults, s.ConflictWithWorker())
		}
		for _, message := range unreachable(compiled) {
			faults = append(faults, s.Fault(message, ""))
		}
	}
	return faults.Err()
}

// tool checks a toolspec file, and the tools that its agents and plans name if the available tools
// are known.
func (l *linter) tool(path string, data []byte) error {
	located, faults := toolspecs.DecodeLocated(path, data, l.options)
	err := faults.Err()
	if err == nil {
		err = l.surroundings(located)
	}
	specs := listSpecs(located)
	if err == nil {
		l.warn(located)
	}
	if err != nil || !slices.ContainsFunc(specs, namesTools) {
		return err
	}
	known, err := specfiles.KnownTools(l.app, l.catalog)
	if err != nil || known.Names == nil {
		return err
	}
	return checkNamed(specs, known)
}

// namesTools reports whether a spec names other tools.
func namesTools(s toolspecs.Spec) bool {
	entry := s.Entry.Common()
	return entry.Agent != nil || entry.Plan != nil || s.Undo != nil || s.Verify != nil
}

// checkNamed looks up the tools that agents and undo and verify entries name, among specs, the
// built-in tools, and known.
func checkNamed(specs []toolspecs.Spec, known agents.Known) error {
	own := toolspecs.Known(append(toolspecs.LoadShipped(), specs...))
	if known.Names == nil || known.Selectable != nil {
		known.Selectable = slices.Concat(known.Selectable, own.Selectable)
	}
	known.Names = slices.Concat(known.Names, own.Names)
	if err := toolspecs.CheckAgents(specs, known); err != nil {
		return err
	}
	if err := toolspecs.CheckPlans(specs, toolspecs.LoadShipped(), known.Names); err != nil {
		return err
	}
	return toolspecs.CheckCalls(specs, known.Names)
}
