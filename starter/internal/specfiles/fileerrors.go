package specfiles

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// runnable maps the kinds of file that can be run to their commands.
var runnable = map[string]string{KindAgent: "run", KindPlan: "plan"}

// CannotRun explains why a file does not load as an agent or a plan: its kind differs, or tools
// were not found where they were looked up. load loads it again with the given tool names.
func CannotRun(a *cli.App, path, kind string, c *Flags, err error,
	load func(known agents.Known) error) error {
	err = cli.FileError(path, err)
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if !ok {
		return err
	}
	if data, err := filewatch.ReadFile(path, MaxBytes); err == nil {
		if other := findKind(path, data); other != "" && other != kind {
			return otherKind(a, path, kind, other)
		}
	}
	without, _ := errors.AsType[toolspecs.Faults](load(agents.Known{}))
	if len(without) == len(faults) { // none is about the name of a tool
		return err
	}
	return cli.WithHint(err, LookedUp(a, c))
}

// otherKind returns an error with the file's kind and the command that runs it.
func otherKind(a *cli.App, path, wanted, kind string) error {
	text := fmt.Sprintf("%s is %s, not %s", path, withArticle(kind), withArticle(wanted))
	if command := runnable[kind]; command != "" {
		text += "\nRun it: " + a.Connection.Invocation().Command(command, path)
	}
	return cli.Errorf(cli.ExitUsage, "%s", text)
}

// withArticle returns a kind of file with its article.
func withArticle(kind string) string {
	switch kind {
	case KindAgent:
		return "an agent"
	case KindTool:
		return "a toolspec"
	case KindLanes, KindPolicies:
		return "a file of " + kind
	}
	return "a " + kind
}

// LookedUp describes where tool names were looked up.
func LookedUp(a *cli.App, c *Flags) string {
	if c.Dir != "" {
		return fmt.Sprintf("Tools come from the folder %s and from the worker; use another folder: --tools DIR; list them: %s tools list --tools %s",
			c.Dir, a.Connection.Program(), display.ShellWord(c.Dir))
	}
	return fmt.Sprintf("Tools are those of the worker of dev: %s\nUse another folder: %s dev --tools DIR -- … (default ./tools)",
		strings.Join(a.Served, ", "), a.Connection.Program())
}
