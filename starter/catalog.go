package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard"
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
func (c *catalogFlags) workerCommand(queue, lane string) string {
	command := workerCommand(queue, lane)
	if path := c.lanesPath(); path != "" {
		command += " --lanes-file " + switchyard.ShellWord(path)
	}
	return command
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
		if data, err := os.ReadFile(path); err == nil {
			names = lanes.Named(path, data)
		}
	}
	return lanes.Of().Plain(append(names, c.lanes...)...)
}

func (c *catalogFlags) options() (toolspecs.Options, error) {
	set, err := c.set()
	return toolspecs.Options{Lanes: set}, err
}

// allLanes returns the names of the lanes that have workers of their own: those that exist anyway first.
func (c *catalogFlags) allLanes() []string {
	names := []string{switchyard.LaneGeneral, switchyard.LaneSerial}
	for _, name := range c.named().Names() {
		if name != switchyard.LaneInline && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// check refuses lanes with names that none can have.
func (c *catalogFlags) check(cmd *cobra.Command) error {
	for _, lane := range c.lanes {
		if err := switchyard.CheckLaneName(lane); err != nil {
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
			c.dir = defaultToolsDir
			return fs.SkipAll
		}
		return nil
	})
}

// load returns the tools of the folder together with those that come with the worker, on their lanes.
func (c *catalogFlags) load() (*toolspecs.Catalog, error) {
	set, err := c.set()
	if err != nil {
		return nil, err
	}
	shipped, err := toolspecs.NewCatalog(toolspecs.Shipped())
	if err == nil {
		shipped, err = shipped.OnLanes(set)
	}
	if err != nil || c.dir == "" {
		return shipped, err
	}
	own, err := c.folder("")
	if err != nil {
		return nil, err
	}
	return shipped.Merge(own)
}

// folder returns the tools of the folder alone, as a worker of that mode reads them.
func (c *catalogFlags) folder(mode switchyard.Mode) (*toolspecs.Catalog, error) {
	if info, err := os.Stat(c.dir); err != nil {
		return nil, failure(exitUsage, "--tools %s: %w", c.dir, pathError(c.dir, err))
	} else if !info.IsDir() {
		return nil, failure(exitUsage, "--tools %s is not a folder", c.dir)
	}
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	o.Mode = mode
	return toolspecs.Load(c.dir, o)
}

// known returns the names of the tools of the folder, named or default, and of those that ship. Without a folder they
// are those that the worker of 'starter dev' said it serves, else nil: names are then checked when the run starts.
func (a *app) known(c *catalogFlags) ([]string, error) {
	if c.dir == "" && a.served != nil {
		return a.served, nil
	}
	if c.orDefault(); c.dir == "" {
		return nil, nil
	}
	catalog, err := c.load()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range catalog.All() {
		names = append(names, tool.Spec.Name)
	}
	return names, nil
}
