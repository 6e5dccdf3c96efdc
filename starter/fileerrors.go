package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/toolspecs"
)

// hinted is an error with what to do about it, which is told last.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// runnable are the kinds of file that a command runs, with that command.
var runnable = map[string]string{lintAgent: "run", lintPlan: "plan"}

// cannotRun explains why a file does not load as an agent or a plan: that it is of another kind, or where its tools were looked up.
// load loads it again, with the names that tools may have.
func (a *app) cannotRun(path, kind string, c *catalogFlags, err error, load func(known []string) error) error {
	err = fileError(path, err)
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if !ok {
		return err
	}
	if data, err := filewatch.ReadFile(path, maxLintBytes); err == nil {
		if other := kindOf(path, data); other != "" && other != kind {
			return a.otherKind(path, kind, other)
		}
	}
	without, _ := errors.AsType[toolspecs.Faults](load(nil))
	if len(without) == len(faults) { // none is about the name of a tool
		return err
	}
	return &hinted{err, a.lookedUp(c)}
}

// otherKind says what a file is, and which command runs it.
func (a *app) otherKind(path, wanted, kind string) error {
	text := fmt.Sprintf("%s is %s, not %s", path, withArticle(kind), withArticle(wanted))
	if command := runnable[kind]; command != "" {
		text += "\nRun it: " + a.connection.reach().command(command, path)
	}
	return failure(exitUsage, "%s", text)
}

// withArticle names a kind of file.
func withArticle(kind string) string {
	switch kind {
	case lintAgent:
		return "an agent"
	case lintTool:
		return "a toolspec"
	case lintLanes, lintPolicies:
		return "a file of " + kind
	}
	return "a " + kind
}

// lookedUp says where the names of tools were looked up.
func (a *app) lookedUp(c *catalogFlags) string {
	if c.dir != "" {
		return fmt.Sprintf("Tools are those of the folder %s and those that come with the worker; another folder: --tools DIR; all of them: %s tools list --tools %s",
			c.dir, a.connection.called(), api.ShellWord(c.dir))
	}
	return fmt.Sprintf("Tools are those that the worker of dev serves: %s\nHave it serve others: %s dev --tools DIR -- … (by default ./tools)",
		strings.Join(a.served, ", "), a.connection.called())
}
