// Package specfiles reads the toolspecs, lanes and other files named on command lines.
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
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// DefaultToolsDir is the folder of toolspecs that is read by default if it contains any.
const DefaultToolsDir = "tools"

// defaultLanesFile is the lanes file that is read by default if it exists.
const defaultLanesFile = "lanes.yaml"

// Flags select the toolspecs and lanes to read.
type Flags struct {
	Dir       string
	Lanes     []string
	LanesFile string
	// Assumed is set if the folder is the default one and was not named.
	Assumed bool
}

func (c *Flags) Add(f *pflag.FlagSet, purpose string) {
	c.AddFiles(f, purpose)
	c.addLanes(f)
}

func (c *Flags) addLanes(f *pflag.FlagSet) {
	f.StringSliceVar(&c.Lanes, "lanes", nil,
		"additional `lanes`, separated by commas, besides general, serial and those of the lanes file")
}

// AddLanesFile adds the flag of the lanes file alone.
func (c *Flags) AddLanesFile(f *pflag.FlagSet) {
	f.StringVar(&c.LanesFile, "lanes-file", "", "lanes `file` (default ./lanes.yaml if it exists)")
}

// AddFiles adds the flags of the folder and of the lanes file.
func (c *Flags) AddFiles(f *pflag.FlagSet, purpose string) {
	f.StringVar(&c.Dir, "tools", "", "`folder` of toolspecs "+purpose)
	c.AddLanesFile(f)
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

// WorkerCommand returns the command that starts a worker for a lane with these flags.
func (c *Flags) WorkerCommand(inv cli.Invocation, queue, lane string) string {
	if path := c.LanesPath(); path != "" {
		return inv.WorkerCommand(queue, lane, "--lanes-file", display.ShellWord(path))
	}
	return inv.WorkerCommand(queue, lane)
}

// LaneSet returns the lanes of the file, the built-in ones, and those of the flag, without rules.
// Errors are Faults of the file.
func (c *Flags) LaneSet() (*lanes.Set, error) {
	set := lanes.NewSet()
	if path := c.LanesPath(); path != "" {
		var err error
		if set, err = lanes.Load(path); err != nil {
			return nil, err
		}
	}
	return set.Plain(c.Lanes...), nil
}

// NamedLanes returns lanes with all the names in the file, as far as it can be read, for further
// checks when it has faults.
func (c *Flags) NamedLanes() *lanes.Set {
	var names []string
	if path := c.LanesPath(); path != "" {
		names = lanes.ReadNames(path)
	}
	return lanes.NewSet().Plain(append(names, c.Lanes...)...)
}

func (c *Flags) Options() (toolspecs.Options, error) {
	set, err := c.LaneSet()
	return toolspecs.Options{Lanes: set}, err
}

// AllLanes returns the names of the lanes that have their own workers, built-in lanes first.
func (c *Flags) AllLanes() []string {
	names := []string{api.LaneGeneral, api.LaneSerial}
	for _, name := range c.NamedLanes().Names() {
		if name != api.LaneInline && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Check rejects invalid lane names.
func (c *Flags) Check(cmd *cobra.Command) error {
	for _, lane := range c.Lanes {
		if err := lanerules.CheckName(lane); err != nil {
			return cli.UsageError(cmd, "--lanes: %v", err)
		}
	}
	return nil
}

// UseDefault selects the default folder if none is named and it contains toolspecs.
func (c *Flags) UseDefault() {
	if c.Dir != "" {
		return
	}
	_ = filepath.WalkDir(DefaultToolsDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // no such folder, or none to be read: there is no default
			return fs.SkipAll
		}
		if !entry.IsDir() && toolspecs.IsSpecFile(path) {
			c.Dir, c.Assumed = DefaultToolsDir, true
			return fs.SkipAll
		}
		return nil
	})
}

// Load returns the folder's tools and the built-in ones with their lanes. Errors are Faults with
// all problems of the lanes file and the folder.
func (c *Flags) Load() (*toolspecs.Catalog, error) {
	catalog, err := c.LoadSkippingInvalid()
	if err != nil {
		return nil, err
	}
	return catalog, nil
}

// LoadSkippingInvalid is Load without the folder's invalid files. It returns their Faults together
// with the catalog.
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

// LoadToShow is LoadSkippingInvalid, but fails if the lanes file has faults, because tools' lanes
// are then unknown.
func (c *Flags) LoadToShow() (*toolspecs.Catalog, error) {
	catalog, err := c.LoadSkippingInvalid()
	if _, wrong := c.LaneSet(); wrong != nil {
		return nil, err
	}
	return catalog, err
}

// LoadOn is LoadSkippingInvalid with known lanes.
func (c *Flags) LoadOn(set *lanes.Set) (*toolspecs.Catalog, error) {
	shipped, err := toolspecs.NewCatalog(toolspecs.LoadShipped())
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

// AllFaults joins the faults of several files. An error of another type is returned alone.
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

// checkDir rejects paths that are not folders.
func (c *Flags) checkDir() error {
	if info, err := os.Stat(c.Dir); err != nil {
		return cli.Errorf(cli.ExitUsage, "--tools %s: %w", c.Dir, cli.PathError(c.Dir, err))
	} else if !info.IsDir() {
		return cli.Errorf(cli.ExitUsage, "--tools %s is not a folder", c.Dir)
	}
	return nil
}

// KnownTools returns the folder's tools and the built-in ones. Without a folder it returns the
// names of the tools that the worker of 'starter dev' serves, or else the zero value, and entries
// are checked when the run starts. The same applies, with a warning, if an unnamed default folder
// or lanes file has faults.
func KnownTools(a *cli.App, c *Flags) (agents.Known, error) {
	if c.Dir == "" && a.Served != nil {
		return agents.Known{Names: a.Served}, nil
	}
	if c.UseDefault(); c.Dir == "" {
		return agents.Known{}, nil
	}
	catalog, err := c.Load()
	if faults, ok := errors.AsType[toolspecs.Faults](err); ok && c.Assumed && c.LanesFile == "" {
		warnFaults(a, faults, c, "tool names are not checked here; the workers check them")
		return agents.Known{}, nil
	}
	if err != nil {
		return agents.Known{}, err
	}
	return toolspecs.Known(catalog.Specs()), nil
}

// warnFaults warns of faults in optional files and describes the consequence.
func warnFaults(a *cli.App, faults toolspecs.Faults, c *Flags, so string) {
	fmt.Fprintf(a.Err, "starter: %s: %s\n  show all: %s\n", WhereFaults(faults), so,
		c.LintCommand(a.Connection.Program()))
}

// WhereFaults counts faults and names their file if it is a single one.
func WhereFaults(faults toolspecs.Faults) string {
	files := map[string]bool{}
	for _, f := range faults {
		files[f.File] = true
	}
	if len(files) == 1 {
		return display.Plural(len(faults), "fault") + " in " + faults[0].File
	}
	return display.Plural(len(faults), "fault") + " in " + display.Plural(len(files), "file")
}

// LintCommand returns the command that shows all faults of the folder and the lanes file.
func (c *Flags) LintCommand(called string) string {
	command := called + " tools lint"
	if c.Dir == "" {
		command += " " + display.ShellWord(c.LanesPath())
	} else if !c.Assumed {
		command += " " + display.ShellWord(c.Dir)
	}
	if c.LanesFile != "" && c.Dir != "" {
		command += " --lanes-file " + display.ShellWord(c.LanesFile)
	}
	return command
}
