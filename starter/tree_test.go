package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/starter/cli"
)

// shownCommands returns a command and its subcommands without hidden ones.
func shownCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			all = append(all, shownCommands(sub)...)
		}
	}
	return all
}

// The bounds of the command line. Lower them with each command or flag that goes.
const (
	maxCommands = 50
	maxFlags    = 209
)

// The command line stays small enough to learn. A command with subcommands counts if it has flags
// that they do not have; flags that all commands have do not count.
func TestCommandLine_StaysSmall(t *testing.T) {
	commands, flags := 0, 0
	for _, c := range shownCommands(starter.Root(&cli.App{})) {
		own := 0
		count := func(f *pflag.Flag) {
			if f.Name != "help" {
				own++
			}
		}
		c.LocalNonPersistentFlags().VisitAll(count)
		if !c.HasParent() || c.HasSubCommands() && own == 0 {
			continue
		}
		cli.GroupFlags(c).VisitAll(count)
		commands++
		flags += own
	}
	if commands > maxCommands || flags > maxFlags {
		t.Errorf("%d commands and %d flags; at most %d and %d: fold a command into another, or "+
			"remove a flag that no requirement names", commands, flags, maxCommands, maxFlags)
	}
}

// Every command has a long text, an example with its name, and flags with a description and their
// values. A short form means the same flag everywhere.
func TestHelp_DescribesEveryCommand(t *testing.T) {
	shorts := map[string]string{}
	for _, c := range shownCommands(starter.Root(&cli.App{})) {
		path := c.CommandPath()
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short text %q is empty or ends in a period", path, c.Short)
		}
		if c.Long == "" || !strings.HasSuffix(strings.TrimSpace(c.Long), ".") {
			t.Errorf("%s: there is no long text that ends in a period", path)
		}
		if !strings.Contains(c.Example, path) {
			t.Errorf("%s: no example calls it", path)
		}
		for _, line := range strings.Split(c.Long+"\n"+c.Example, "\n") {
			if len([]rune(line)) > 140 {
				t.Errorf("%s: the line is longer than a terminal: %s", path, line)
			}
		}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				checkFlag(t, path, f, shorts)
			}
		})
	}
}

func checkFlag(t *testing.T, path string, f *pflag.Flag, shorts map[string]string) {
	t.Helper()
	if f.Usage == "" {
		t.Errorf("%s --%s has no help text", path, f.Name)
	}
	if taken := f.NoOptDefVal == ""; taken != (strings.Count(f.Usage, "`") == 2) {
		t.Errorf("%s --%s: what a flag takes stands between backquotes, once: %s", path, f.Name,
			f.Usage)
	}
	if f.Shorthand == "" {
		return
	}
	if other := shorts[f.Shorthand]; other != "" && other != f.Name {
		t.Errorf("%s: -%s means --%s here, and --%s elsewhere", path, f.Shorthand, f.Name, other)
	}
	shorts[f.Shorthand] = f.Name
}

// Help names the program starter. Commands to paste begin with the path that starter was called by.
func TestHelp_NamesTheProgramAndHintsItsPath(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"list --address 127.0.0.1:1", "Start one on this machine: bin/starter dev\n"},
		{"list --limit 0", "See 'starter list --help'."},
		{"watch", "list them: starter list"},
		{"plan --help", "\n  starter plan nightly.yaml\n"},
		{"plan --help", "\n  starter plan PLAN.yaml [flags]\n"},
		{"call grete --tools testdata/tools",
			"List them: bin/starter tools list --tools testdata/tools"},
	} {
		var out strings.Builder
		starter.Run(context.Background(), strings.Fields(c.args), cli.Stdio{Out: &out, Err: &out,
			Program: "bin/starter"})
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: want %q in\n%s", c.args, c.want, &out)
		}
	}
}

// A program on the PATH is printed by its name, any other one by its path.
func TestTypedAs_PrintsNameOrPath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "starter")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for typed, want := range map[string]string{"starter": "starter", path: "starter",
		"bin/starter": "bin/starter", "my bin/starter": "'my bin/starter'"} {
		if got := typedAs(typed); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
}
