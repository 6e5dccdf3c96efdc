package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/strictyaml"
)

// The kinds of file that lint knows.
const (
	lintAuto   = "auto"
	lintTool   = "tool"
	lintAgent  = "agent"
	lintPlan   = "plan"
	lintScript = "script"
)

// maxLintBytes bounds a file that is checked.
const maxLintBytes = 16 << 20

var lintKinds = []string{lintAuto, lintTool, lintAgent, lintPlan, lintScript}

func (a *app) lintCommand(catalog *catalogFlags) *cobra.Command {
	kind := lintAuto
	cmd := &cobra.Command{
		Use: "lint PATH…", Short: "Check toolspecs, agents, plans and scripts",
		Long: `Checks files and folders of toolspecs, and files of agents, plans and scripts. Lists every fault with file, line, column
and remedy; the exit code is 2 if there is one. What a file is shows in its keys; --kind says it outright.

The tools that agents, plans and scripts name are looked up in the folder of --tools, by default ./tools where it holds
some, and among those that come with the worker. Without a folder any legal name will do.`,
		Example: `  starter tools lint ./tools
  starter tools lint agent.yaml plan.yaml
  starter tools lint answers.yaml --kind script`,
		Args: arguments(1, "PATH…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(lintKinds, kind) {
				return usageError(cmd, "--kind %q is not one of %s", kind, strings.Join(lintKinds, ", "))
			}
			if err := catalog.check(cmd); err != nil {
				return err
			}
			return a.lint(args, &linter{kind: kind, app: a, catalog: catalog})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", kind, "`kind` of the files: "+strings.Join(lintKinds, ", "))
	return cmd
}

// linter checks files.
type linter struct {
	kind    string
	app     *app
	catalog *catalogFlags
}

// lint checks paths, prints every fault, and ends with exit code 2 if there is one.
func (a *app) lint(paths []string, l *linter) error {
	var faults toolspecs.Faults
	for _, path := range paths {
		err := l.path(path)
		if err == nil {
			continue
		}
		found, ok := errors.AsType[toolspecs.Faults](err)
		if !ok {
			found = toolspecs.Faults{{File: path, Message: pathError(path, err).Error()}}
		}
		for _, f := range found {
			if !slices.Contains(faults, f) { // a wrong folder of tools is read for every plan
				faults = append(faults, f)
			}
		}
	}
	for _, f := range faults {
		if err := a.printFault(f); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		fmt.Fprintln(a.Err, plural(len(faults), "fault"))
		return exitWith(exitUsage)
	}
	fmt.Fprintln(a.Err, "no faults")
	return nil
}

func (a *app) printFault(f toolspecs.Fault) error {
	if a.format.json() {
		return writeJSON(a.Out, writtenFault(f), false)
	}
	return a.println(f.String())
}

// writtenFault is a fault as JSON.
type writtenFault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (l *linter) path(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		folder, err := toolspecs.Load(path, l.catalog.options())
		if err != nil {
			return err
		}
		var specs []toolspecs.Spec
		for _, tool := range folder.All() {
			specs = append(specs, tool.Spec)
		}
		return checkAgents(specs, nil)
	}
	if !info.Mode().IsRegular() || info.Size() > maxLintBytes {
		return fmt.Errorf("not a file of at most %d MiB", maxLintBytes>>20)
	}
	return l.file(path)
}

func (l *linter) file(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kind := l.kind
	if kind == lintAuto {
		kind = detect(path, data)
	}
	if kind == lintTool {
		return l.tool(path, data)
	}
	known, err := l.app.known(l.catalog)
	if err != nil {
		return err
	}
	switch kind {
	case lintAgent:
		_, err = toolspecs.DecodeAgent(path, data, known)
	case lintPlan:
		_, err = toolspecs.DecodePlan(path, data, known)
	default:
		_, err = toolspecs.DecodeScript(path, data, known)
	}
	return err
}

// tool checks a file of toolspecs, and the tools of agents in it where those that there are, are known.
func (l *linter) tool(path string, data []byte) error {
	specs, err := toolspecs.Decode(path, data, l.catalog.options())
	if err != nil || !slices.ContainsFunc(specs, func(s toolspecs.Spec) bool { return s.Entry.Agent != nil }) {
		return err
	}
	known, err := l.app.known(l.catalog)
	if err != nil || known == nil {
		return err
	}
	return checkAgents(specs, known)
}

// checkAgents looks up the tools of agents that are tools themselves: among specs, those that ship, and known.
func checkAgents(specs []toolspecs.Spec, known []string) error {
	for _, s := range append(toolspecs.Shipped(), specs...) {
		known = append(known, s.Name)
	}
	return toolspecs.CheckAgents(specs, known)
}

// kindsByKey tell the kind of a file by a key at its top.
var kindsByKey = []struct{ key, kind string }{
	{"entry", lintTool}, {"steps", lintScript}, {"calls", lintPlan}, {"model", lintAgent}, {"instructions", lintAgent},
}

// detect tells the kind of a file. What cannot be told, or read, is taken for a toolspec.
func detect(path string, data []byte) string {
	docs, _ := strictyaml.Parse(path, data, maxLintBytes)
	if len(docs) == 0 {
		return lintTool
	}
	if docs[0].IsList() {
		return lintPlan
	}
	var content json.RawMessage
	docs[0].Decode(&content)
	var top map[string]json.RawMessage
	if json.Unmarshal(content, &top) != nil {
		return lintTool
	}
	for _, rule := range kindsByKey {
		if _, ok := top[rule.key]; ok {
			return rule.kind
		}
	}
	return lintTool
}
