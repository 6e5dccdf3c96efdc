package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands returns a command and all below it, without those that cobra hides.
func shownCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			all = append(all, shownCommands(sub)...)
		}
	}
	return all
}

// TestHelp proves that every command explains itself: a long text, an example that names it, and flags that say what they do and
// what they take; and that a short form means one flag everywhere.
func TestHelp(t *testing.T) {
	shorts := map[string]string{}
	for _, c := range shownCommands((&app{}).rootCommand()) {
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
		t.Errorf("%s --%s: what a flag takes stands between backquotes, once: %s", path, f.Name, f.Usage)
	}
	if f.Shorthand == "" {
		return
	}
	if other := shorts[f.Shorthand]; other != "" && other != f.Name {
		t.Errorf("%s: -%s means --%s here, and --%s elsewhere", path, f.Shorthand, f.Name, other)
	}
	shorts[f.Shorthand] = f.Name
}
