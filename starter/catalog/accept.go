package catalog

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/wholefile"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/accept"
)

// acceptFlags select what to accept and how to reach servers.
type acceptFlags struct {
	yes, pinsOnly bool
	logins        string
}

func acceptCommand(a *cli.App) *cobra.Command {
	var catalog specfiles.Flags
	var flags acceptFlags
	cmd := &cobra.Command{
		Use: "accept PATH…", Short: "Compare MCP tools with their pins and accept changes",
		Long: `Connects to the MCP servers that toolspecs name, shows how each tool differs from its pinned
version, and writes the new pin, description and schemas into the files. Everything else in the
files stays unchanged. A tool without a pin gets its first one. On a terminal the command asks
before it writes; elsewhere it writes only with --yes.

Servers run and are reached as on a worker, with the environment of this command. If a server
requires a login, the command prints an address and reads the redirect address from standard
input. Workers of the same user then need no login.`,
		Example: `  starter tools accept tools/read_file.yaml
  starter tools accept ./tools --yes
  starter tools accept ./tools --yes --pins-only`,
		Args: cli.Arguments(1, "PATH…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := catalog.Options()
			if err != nil {
				return err
			}
			return acceptTools(cmd.Context(), a, args, o, flags)
		},
	}
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "accept without asking")
	cmd.Flags().BoolVar(&flags.pinsOnly, "pins-only", false,
		"write only the pins; leave descriptions and schemas unchanged")
	loginsFlag(cmd.Flags(), &flags.logins)
	addLanesFile(cmd.Flags(), &catalog)
	return cmd
}

// States of a tool to be accepted.
const (
	acceptSame    = "unchanged"
	acceptChanged = "changed"
	// acceptNew is a tool that was never accepted.
	acceptNew = "new"
	// acceptFailed is a tool that cannot be accepted, such as one that is gone.
	acceptFailed = "failed"
)

// acceptedTool is the JSON form of an MCP server's tool and its toolspec.
type acceptedTool struct {
	Tool    string   `json:"tool"`
	File    string   `json:"file"`
	Remote  string   `json:"remote"`
	State   string   `json:"state"`
	Changes []string `json:"changes,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Accepted is set if the new pin was written.
	Accepted bool `json:"accepted,omitempty"`

	now mcpclient.Tool
}

func (t acceptedTool) open() bool { return t.State == acceptChanged || t.State == acceptNew }

// acceptTools compares the tools of all paths with their servers' and writes the accepted ones.
func acceptTools(ctx context.Context, a *cli.App, paths []string, o toolspecs.Options,
	flags acceptFlags) error {
	files, err := specFiles(paths)
	if err != nil {
		return err
	}
	c := &comparer{app: a, options: o, flags: flags,
		servers: mcpServersFor(a, ctx, flags.logins)}
	defer c.servers.close()
	for _, file := range files {
		if err := c.file(ctx, file); err != nil {
			return err
		}
	}
	if len(c.tools) == 0 {
		return cli.Errorf(cli.ExitUsage, "no MCP tools in %s", strings.Join(paths, ", "))
	}
	decided := c.decide()
	reported := c.report()
	if decided != nil {
		return decided
	}
	return reported
}

// specFiles returns the toolspec files that paths name, including those in folders.
func specFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return cli.Errorf(cli.ExitUsage, "%s: %w", name, cli.PathError(name, err))
			}
			if !entry.IsDir() && !toolspecs.IsServersFile(name) &&
				(name == path || toolspecs.IsSpecFile(name)) {
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// comparer compares tools with their servers'.
type comparer struct {
	app     *cli.App
	options toolspecs.Options
	flags   acceptFlags
	servers mcpServers
	sources []comparedFile
	tools   []acceptedTool
}

type comparedFile struct {
	path string
	data []byte
}

func (c *comparer) file(ctx context.Context, path string) error {
	data, err := filewatch.ReadFile(path, specfiles.MaxBytes)
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "%s: %w", path, cli.PathError(path, err))
	}
	specs, pinned, err := accept.Decode(path, data, c.options)
	if err != nil {
		return err
	}
	c.sources = append(c.sources, comparedFile{path, data})
	for _, spec := range specs {
		entry, ok := spec.Entry.Kind.(toolspecs.MCPEntry)
		if !ok {
			continue
		}
		c.tools = append(c.tools, c.compare(path, &spec, entry, pinned[spec.Name]))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *comparer) compare(path string, spec *toolspecs.Spec, entry toolspecs.MCPEntry,
	pinned bool) acceptedTool {
	t := acceptedTool{Tool: spec.Name, File: path, Remote: entry.Tool, State: acceptSame}
	listed, err := c.servers.tools(entry)
	i := slices.IndexFunc(listed,
		func(remote mcpclient.Tool) bool { return remote.Name == entry.Tool })
	switch {
	case err != nil:
		t.Problem = err.Error()
	case i < 0:
		t.Problem = fmt.Sprintf("the server has no tool %q", entry.Tool)
	default:
		t.now = listed[i]
		t.Problem = t.now.Unusable()
	}
	switch {
	case t.Problem != "":
		t.State = acceptFailed
	case !pinned:
		t.State = acceptNew
	case t.now.Digest() != entry.Pin:
		t.State = acceptChanged
	}
	if t.open() {
		for _, change := range spec.MCPChanges(t.now) {
			t.Changes = append(t.Changes, change.String())
		}
	}
	return t
}

// decide shows the differences, determines whether they are accepted, and writes.
func (c *comparer) decide() error {
	a := c.app
	if !a.Format.JSON() {
		c.show()
	}
	open := 0
	for _, t := range c.tools {
		if t.open() {
			open++
		}
	}
	if open == 0 {
		return nil
	}
	switch {
	case c.flags.yes:
	case a.Format.JSON() || !cli.IsTerminal(a.In):
		return cli.Errorf(cli.ExitUsage,
			"%s to accept; nothing was written\nReview the differences and pass --yes.",
			display.Plural(open, "tool"))
	case !a.Confirm(fmt.Sprintf("Accept %s?", display.Plural(open, "tool"))):
		return cli.Errorf(cli.ExitCancelled, "nothing was written")
	}
	return c.write()
}

func (c *comparer) show() {
	p := c.app.PaletteFor(c.app.Err)
	for _, t := range c.tools {
		switch {
		case t.Problem != "":
			fmt.Fprintf(c.app.Err, "%s: %s %s: %s\n", t.File, t.Tool, p.Bad(t.State),
				display.Shorten(t.Problem, 1000))
		case t.open():
			fmt.Fprintf(c.app.Err, "%s: %s %s\n", t.File, p.Bold(t.Tool), p.Warn(t.State))
		}
		for _, change := range t.Changes {
			fmt.Fprintln(c.app.Err, "  "+display.Shorten(change, 1000))
		}
	}
}

// write writes the files of the accepted tools: all files or none.
func (c *comparer) write() error {
	written := map[string][]byte{}
	for _, source := range c.sources {
		remotes := c.listAccepted(source.path)
		if len(remotes) == 0 {
			continue
		}
		data, err := accept.File(source.path, source.data, c.options, remotes, c.flags.pinsOnly)
		if err != nil {
			return cli.Errorf(cli.ExitFailed, "%w; nothing was written", err)
		}
		written[source.path] = data
	}
	for _, path := range slices.Sorted(maps.Keys(written)) {
		if err := overwrite(path, written[path]); err != nil {
			return cli.Errorf(cli.ExitFailed, "%s: %w", path, cli.PathError(path, err))
		}
		for i := range c.tools {
			c.tools[i].Accepted = c.tools[i].Accepted || c.tools[i].File == path &&
				c.tools[i].open()
		}
	}
	return nil
}

// listAccepted returns the servers' descriptions of a file's tools that are to be accepted.
func (c *comparer) listAccepted(path string) map[string]mcpclient.Tool {
	remotes := map[string]mcpclient.Tool{}
	for _, t := range c.tools {
		if t.File == path && t.open() {
			remotes[t.Tool] = t.now
		}
	}
	return remotes
}

// overwrite replaces a file, or the target of a symbolic link, and keeps its mode.
func overwrite(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return wholefile.Write(path, data, info.Mode().Perm())
}

// report prints the state of every tool. Tools that cannot be accepted give exit code 1.
func (c *comparer) report() error {
	if c.app.Format.JSON() {
		if err := cli.WriteJSONLines(c.app.Out, c.tools); err != nil {
			return err
		}
	}
	counts := map[string]int{}
	for _, t := range c.tools {
		state := t.State
		if t.Accepted {
			state = "accepted"
		}
		counts[state]++
	}
	var parts []string
	for _, state := range []string{"accepted", acceptNew, acceptChanged, acceptSame, acceptFailed} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if !c.app.Format.JSON() {
		fmt.Fprintln(c.app.Err, strings.Join(parts, ", "))
	}
	if counts[acceptFailed] > 0 {
		return cli.Exit(cli.ExitFailed)
	}
	return nil
}
