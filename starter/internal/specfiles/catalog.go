// Package specfiles reads the toolspecs, lanes and other files that command lines name.
package specfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// DefaultToolsDir is the folder of toolspecs that is read where none is named, if it holds some.
const DefaultToolsDir = "tools"

// defaultLanesFile is the file of lanes that is read where none is named, if there is one.
const defaultLanesFile = "lanes.yaml"

// Flags say which toolspecs and lanes to read.
type Flags struct {
	Dir       string
	Lanes     []string
	LanesFile string
	// Assumed says that nobody named the folder: it is the default one.
	Assumed bool
}

func (c *Flags) Add(f *pflag.FlagSet, purpose string) {
	f.StringVar(&c.Dir, "tools", "", "`folder` of toolspecs "+purpose)
	c.AddLanes(f)
}

func (c *Flags) AddLanes(f *pflag.FlagSet) {
	f.StringSliceVar(&c.Lanes, "lanes", nil,
		"additional `lanes`, separated by commas, besides general, serial and those of the lanes file")
	f.StringVar(&c.LanesFile, "lanes-file", "", "lanes `file` (default ./lanes.yaml if it exists)")
}

// LanesPath returns the lanes file, named or default; empty for none.
func (c *Flags) LanesPath() string {
	if c.LanesFile != "" {
		return c.LanesFile
	}
	if _, err := os.Stat(defaultLanesFile); err != nil {
		return ""
	}
	return defaultLanesFile
}

// WorkerCommand is how to start a worker for a lane, as it is configured.
func (c *Flags) WorkerCommand(inv cli.Invocation, queue, lane string) string {
	if path := c.LanesPath(); path != "" {
		return inv.WorkerCommand(queue, lane, "--lanes-file", api.ShellWord(path))
	}
	return inv.WorkerCommand(queue, lane)
}

// LaneSet returns the lanes of the file, those that exist anyway, and without rules those of the flag.
// The error is Faults of the file.
func (c *Flags) LaneSet() (*lanes.Set, error) {
	set := lanes.Of()
	if path := c.LanesPath(); path != "" {
		var err error
		if set, err = lanes.Load(path); err != nil {
			return nil, err
		}
	}
	return set.Plain(c.Lanes...), nil
}

// NamedLanes returns lanes of all names that set would have, as far as the file can be read, for looking
// on where it has faults.
func (c *Flags) NamedLanes() *lanes.Set {
	var names []string
	if path := c.LanesPath(); path != "" {
		names = lanes.Named(path)
	}
	return lanes.Of().Plain(append(names, c.Lanes...)...)
}

func (c *Flags) Options() (toolspecs.Options, error) {
	set, err := c.LaneSet()
	return toolspecs.Options{Lanes: set}, err
}

// AllLanes returns the names of the lanes that have workers of their own: those that exist anyway
// first.
func (c *Flags) AllLanes() []string {
	names := []string{api.LaneGeneral, api.LaneSerial}
	for _, name := range c.NamedLanes().Names() {
		if name != api.LaneInline && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Check refuses lanes with names that none can have.
func (c *Flags) Check(cmd *cobra.Command) error {
	for _, lane := range c.Lanes {
		if err := api.CheckLaneName(lane); err != nil {
			return cli.UsageError(cmd, "--lanes: %v", err)
		}
	}
	return nil
}

// UseDefault sets the folder to the default one where none is named and that one holds toolspecs.
func (c *Flags) UseDefault() {
	if c.Dir != "" {
		return
	}
	_ = filepath.WalkDir(DefaultToolsDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // no such folder, or none to be read: there is no default
			return fs.SkipAll
		}
		if ending := filepath.Ext(path); !entry.IsDir() && (ending == ".yaml" || ending == ".yml") {
			c.Dir, c.Assumed = DefaultToolsDir, true
			return fs.SkipAll
		}
		return nil
	})
}

// Load returns the tools of the folder together with those that come with the worker, on their
// lanes. The error is Faults with all that is wrong in the lanes file and in the folder.
func (c *Flags) Load() (*toolspecs.Catalog, error) {
	catalog, err := c.LoadSkippingInvalid()
	if err != nil {
		return nil, err
	}
	return catalog, nil
}

// LoadSkippingInvalid is load as far as nothing is wrong: without files of the folder that have faults.
// Faults come beside the catalog.
func (c *Flags) LoadSkippingInvalid() (*toolspecs.Catalog, error) {
	set, wrong := c.LaneSet()
	if wrong != nil {
		set = c.NamedLanes()
	}
	catalog, err := c.LoadOn(set)
	if catalog == nil {
		return nil, err
	}
	return catalog, AllFaults(wrong, err)
}

// LoadToShow is loadPartly where the lanes are right: without them it cannot be told which tool has
// which.
func (c *Flags) LoadToShow() (*toolspecs.Catalog, error) {
	catalog, err := c.LoadSkippingInvalid()
	if _, wrong := c.LaneSet(); wrong != nil {
		return nil, err
	}
	return catalog, err
}

// LoadOn is loadPartly with lanes that are known.
func (c *Flags) LoadOn(set *lanes.Set) (*toolspecs.Catalog, error) {
	shipped, err := toolspecs.NewCatalog(toolspecs.Shipped())
	if err == nil {
		shipped, err = shipped.OnLanes(set)
	}
	if err != nil || c.Dir == "" {
		return shipped, err
	}
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	return folder.LoadSkippingInvalid(c.Dir, toolspecs.Options{Lanes: set}, shipped)
}

// AllFaults returns the faults of several files as one error; another error stands for all.
func AllFaults(errs ...error) error {
	var all toolspecs.Faults
	for _, err := range errs {
		faults, ok := errors.AsType[toolspecs.Faults](err)
		if err != nil && !ok {
			return err
		}
		all = append(all, faults...)
	}
	return all.Err()
}

// checkDir refuses what is no folder.
func (c *Flags) checkDir() error {
	if info, err := os.Stat(c.Dir); err != nil {
		return cli.Errorf(cli.ExitUsage, "--tools %s: %w", c.Dir, cli.PathError(c.Dir, err))
	} else if !info.IsDir() {
		return cli.Errorf(cli.ExitUsage, "--tools %s is not a folder", c.Dir)
	}
	return nil
}

// LoadFolder returns the tools of the folder alone, as a worker of that mode reads them.
func (c *Flags) LoadFolder(mode api.Mode) (*toolspecs.Catalog, error) {
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	o, err := c.Options()
	if err != nil {
		return nil, err
	}
	o.Mode = mode
	return folder.Load(c.Dir, o)
}

// KnownTools returns the names of the tools of the folder, named or default, and of those that ship.
// Without a folder they are those that the worker of 'starter dev' said it serves, else nil: names
// are then checked when the run starts. So they are where something is wrong in a folder or a lanes
// file that nobody named, which is told.
func KnownTools(a *cli.App, c *Flags) ([]string, error) {
	if c.Dir == "" && a.Served != nil {
		return a.Served, nil
	}
	if c.UseDefault(); c.Dir == "" {
		return nil, nil
	}
	catalog, err := c.Load()
	if faults, ok := errors.AsType[toolspecs.Faults](err); ok && c.Assumed && c.LanesFile == "" {
		warnFaults(a, faults, c, "tool names are not checked against it; the workers check them")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range catalog.All() {
		names = append(names, tool.Spec.Name)
	}
	return names, nil
}

// warnFaults says that files that a command can do without have faults, and what it does without
// them.
func warnFaults(a *cli.App, faults toolspecs.Faults, c *Flags, so string) {
	fmt.Fprintf(a.Err, "starter: %s: %s\n  see all: %s\n", WhereFaults(faults), so,
		c.LintCommand(a.Connection.Called()))
}

// WhereFaults counts faults, and names their file where it is one.
func WhereFaults(faults toolspecs.Faults) string {
	files := map[string]bool{}
	for _, f := range faults {
		files[f.File] = true
	}
	if len(files) == 1 {
		return api.Plural(len(faults), "fault") + " in " + faults[0].File
	}
	return api.Plural(len(faults), "fault") + " in " + api.Plural(len(files), "file")
}

// LintCommand is the command that shows all that is wrong in the folder and the lanes file.
func (c *Flags) LintCommand(called string) string {
	command := called + " tools lint"
	if c.Dir == "" {
		command += " " + api.ShellWord(c.LanesPath())
	} else if !c.Assumed {
		command += " " + api.ShellWord(c.Dir)
	}
	if c.LanesFile != "" && c.Dir != "" {
		command += " --lanes-file " + api.ShellWord(c.LanesFile)
	}
	return command
}
