package main

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
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// defaultToolsDir is the folder of toolspecs that is read where none is named, if it holds some.
const defaultToolsDir = "tools"

// defaultLanesFile is the file of lanes that is read where none is named, if there is one.
const defaultLanesFile = "lanes.yaml"

// catalogFlags say which toolspecs and lanes to read.
type catalogFlags struct {
	dir       string
	lanes     []string
	lanesFile string
	// assumed says that nobody named the folder: it is the default one.
	assumed bool
}

func (c *catalogFlags) add(f *pflag.FlagSet, purpose string) {
	f.StringVar(&c.dir, "tools", "", "`folder` of toolspecs "+purpose)
	c.addLanes(f)
}

func (c *catalogFlags) addLanes(f *pflag.FlagSet) {
	f.StringSliceVar(&c.lanes, "lanes", nil, "`lanes` beside general, serial and those of the lanes file, with commas between them")
	f.StringVar(&c.lanesFile, "lanes-file", "", "`file` of lanes and their rules (default ./lanes.yaml where it exists)")
}

// lanesPath returns the lanes file, named or default; empty for none.
func (c *catalogFlags) lanesPath() string {
	if c.lanesFile != "" {
		return c.lanesFile
	}
	if _, err := os.Stat(defaultLanesFile); err != nil {
		return ""
	}
	return defaultLanesFile
}

// workerCommand is how to start a worker for a lane, as it is configured.
func (c *catalogFlags) workerCommand(way reach, queue, lane string) string {
	if path := c.lanesPath(); path != "" {
		return way.workerCommand(queue, lane, "--lanes-file", api.ShellWord(path))
	}
	return way.workerCommand(queue, lane)
}

// set returns the lanes of the file, those that exist anyway, and without rules those of the flag. The error is Faults of
// the file.
func (c *catalogFlags) set() (*lanes.Set, error) {
	set := lanes.Of()
	if path := c.lanesPath(); path != "" {
		var err error
		if set, err = lanes.Load(path); err != nil {
			return nil, err
		}
	}
	return set.Plain(c.lanes...), nil
}

// named returns lanes of all names that set would have, as far as the file can be read, for looking on where it has faults.
func (c *catalogFlags) named() *lanes.Set {
	var names []string
	if path := c.lanesPath(); path != "" {
		names = lanes.Named(path)
	}
	return lanes.Of().Plain(append(names, c.lanes...)...)
}

func (c *catalogFlags) options() (toolspecs.Options, error) {
	set, err := c.set()
	return toolspecs.Options{Lanes: set}, err
}

// allLanes returns the names of the lanes that have workers of their own: those that exist anyway first.
func (c *catalogFlags) allLanes() []string {
	names := []string{api.LaneGeneral, api.LaneSerial}
	for _, name := range c.named().Names() {
		if name != api.LaneInline && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// check refuses lanes with names that none can have.
func (c *catalogFlags) check(cmd *cobra.Command) error {
	for _, lane := range c.lanes {
		if err := api.CheckLaneName(lane); err != nil {
			return usageError(cmd, "--lanes: %v", err)
		}
	}
	return nil
}

// orDefault sets the folder to the default one where none is named and that one holds toolspecs.
func (c *catalogFlags) orDefault() {
	if c.dir != "" {
		return
	}
	_ = filepath.WalkDir(defaultToolsDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // no such folder, or none to be read: there is no default
			return fs.SkipAll
		}
		if ending := filepath.Ext(path); !entry.IsDir() && (ending == ".yaml" || ending == ".yml") {
			c.dir, c.assumed = defaultToolsDir, true
			return fs.SkipAll
		}
		return nil
	})
}

// load returns the tools of the folder together with those that come with the worker, on their lanes. The error is Faults with all that is
// wrong in the lanes file and in the folder.
func (c *catalogFlags) load() (*toolspecs.Catalog, error) {
	catalog, err := c.loadSkippingInvalid()
	if err != nil {
		return nil, err
	}
	return catalog, nil
}

// loadPartly is load as far as nothing is wrong: without files of the folder that have faults. Faults come beside the catalog.
func (c *catalogFlags) loadSkippingInvalid() (*toolspecs.Catalog, error) {
	set, wrong := c.set()
	if wrong != nil {
		set = c.named()
	}
	catalog, err := c.loadOn(set)
	if catalog == nil {
		return nil, err
	}
	return catalog, allFaults(wrong, err)
}

// loadToShow is loadPartly where the lanes are right: without them it cannot be told which tool has which.
func (c *catalogFlags) loadToShow() (*toolspecs.Catalog, error) {
	catalog, err := c.loadSkippingInvalid()
	if _, wrong := c.set(); wrong != nil {
		return nil, err
	}
	return catalog, err
}

// loadOn is loadPartly with lanes that are known.
func (c *catalogFlags) loadOn(set *lanes.Set) (*toolspecs.Catalog, error) {
	shipped, err := toolspecs.NewCatalog(toolspecs.Shipped())
	if err == nil {
		shipped, err = shipped.OnLanes(set)
	}
	if err != nil || c.dir == "" {
		return shipped, err
	}
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	return toolspecs.LoadSkippingInvalid(c.dir, toolspecs.Options{Lanes: set}, shipped)
}

// allFaults returns the faults of several files as one error; another error stands for all.
func allFaults(errs ...error) error {
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
func (c *catalogFlags) checkDir() error {
	if info, err := os.Stat(c.dir); err != nil {
		return failure(exitUsage, "--tools %s: %w", c.dir, pathError(c.dir, err))
	} else if !info.IsDir() {
		return failure(exitUsage, "--tools %s is not a folder", c.dir)
	}
	return nil
}

// folder returns the tools of the folder alone, as a worker of that mode reads them.
func (c *catalogFlags) folder(mode api.Mode) (*toolspecs.Catalog, error) {
	if err := c.checkDir(); err != nil {
		return nil, err
	}
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	o.Mode = mode
	return toolspecs.Load(c.dir, o)
}

// known returns the names of the tools of the folder, named or default, and of those that ship. Without a folder they
// are those that the worker of 'starter dev' said it serves, else nil: names are then checked when the run starts. So they are where
// something is wrong in a folder or a lanes file that nobody named, which is told.
func (a *app) known(c *catalogFlags) ([]string, error) {
	if c.dir == "" && a.served != nil {
		return a.served, nil
	}
	if c.orDefault(); c.dir == "" {
		return nil, nil
	}
	catalog, err := c.load()
	if faults, ok := errors.AsType[toolspecs.Faults](err); ok && c.assumed && c.lanesFile == "" {
		a.warnFaults(faults, c, "names of tools are not looked up there; the workers know theirs")
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

// warnFaults says that files that a command can do without have faults, and what it does without them.
func (a *app) warnFaults(faults toolspecs.Faults, c *catalogFlags, so string) {
	fmt.Fprintf(a.Err, "starter: %s: %s\n  see all: %s\n", whereFaults(faults), so, c.lintCommand(a.connection.called()))
}

// whereFaults counts faults, and names their file where it is one.
func whereFaults(faults toolspecs.Faults) string {
	files := map[string]bool{}
	for _, f := range faults {
		files[f.File] = true
	}
	if len(files) == 1 {
		return api.Plural(len(faults), "fault") + " in " + faults[0].File
	}
	return api.Plural(len(faults), "fault") + " in " + api.Plural(len(files), "file")
}

// lintCommand is the command that shows all that is wrong in the folder and the lanes file.
func (c *catalogFlags) lintCommand(called string) string {
	command := called + " tools lint"
	if c.dir == "" {
		command += " " + api.ShellWord(c.lanesPath())
	} else if !c.assumed {
		command += " " + api.ShellWord(c.dir)
	}
	if c.lanesFile != "" && c.dir != "" {
		command += " --lanes-file " + api.ShellWord(c.lanesFile)
	}
	return command
}
