package main

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
)

// defaultToolsDir is the folder of toolspecs that is read where none is named, if it holds some.
const defaultToolsDir = "tools"

// catalogFlags say which toolspecs to read.
type catalogFlags struct {
	dir   string
	lanes []string
}

func (c *catalogFlags) add(f *pflag.FlagSet, purpose string) {
	f.StringVar(&c.dir, "tools", "", "`folder` of toolspecs "+purpose)
	f.StringSliceVar(&c.lanes, "lanes", nil, "`lanes` beside general and serial, with commas between them")
}

func (c *catalogFlags) options() toolspecs.Options {
	return toolspecs.Options{Lanes: c.allLanes()}
}

// allLanes returns the lanes that exist anyway and those of the flag.
func (c *catalogFlags) allLanes() []string {
	lanes := []string{switchyard.LaneGeneral, switchyard.LaneSerial}
	for _, l := range c.lanes {
		if l != switchyard.LaneGeneral && l != switchyard.LaneSerial {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// check refuses lanes with names that none can have.
func (c *catalogFlags) check(cmd *cobra.Command) error {
	for _, lane := range c.lanes {
		if switchyard.CheckToolName(lane) != nil {
			return usageError(cmd, "--lanes: %q is no name of a lane: letters, digits, _ and - only, at most %d", lane, switchyard.MaxToolName)
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

// load returns the tools of the folder together with those that come with the worker.
func (c *catalogFlags) load() (*toolspecs.Catalog, error) {
	shipped, err := toolspecs.NewCatalog(toolspecs.Shipped())
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
	o := c.options()
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
