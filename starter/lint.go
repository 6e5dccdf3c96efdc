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
and remedy; the exit code is 2 if there is one. What a file is shows in its keys; --kind says it outright.`,
		Example: `  starter tools lint ./tools
  starter tools lint agent.yaml plan.yaml
  starter tools lint answers.yaml --kind script`,
		Args: arguments(1, "PATH…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(lintKinds, kind) {
				return usageError(cmd, "--kind %q is not one of %s", kind, strings.Join(lintKinds, ", "))
			}
			return a.lint(args, kind, catalog.options())
		},
	}
	cmd.Flags().StringVar(&kind, "kind", kind, "`kind` of the files: "+strings.Join(lintKinds, ", "))
	return cmd
}

// lint checks paths, prints every fault, and ends with exit code 2 if there is one.
func (a *app) lint(paths []string, kind string, options toolspecs.Options) error {
	var faults toolspecs.Faults
	for _, path := range paths {
		err := lintPath(path, kind, options)
		if err == nil {
			continue
		}
		found, ok := errors.AsType[toolspecs.Faults](err)
		if !ok {
			return failure(exitUsage, "%s: %w", path, err)
		}
		faults = append(faults, found...)
	}
	if a.format.json() {
		for _, f := range faults {
			if err := writeJSON(a.Out, f, false); err != nil {
				return err
			}
		}
	} else {
		for _, f := range faults {
			fmt.Fprintln(a.Out, f.String())
		}
	}
	if len(faults) > 0 {
		fmt.Fprintln(a.Err, plural(len(faults), "fault"))
		return exitWith(exitUsage)
	}
	fmt.Fprintln(a.Err, "no faults")
	return nil
}

func lintPath(path, kind string, options toolspecs.Options) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		_, err := toolspecs.Load(path, options)
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxLintBytes {
		return fmt.Errorf("not a file of at most %d MiB", maxLintBytes>>20)
	}
	return lintFile(path, kind, options)
}

func lintFile(path, kind string, options toolspecs.Options) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if kind == lintAuto {
		kind = detect(path, data)
	}
	switch kind {
	case lintAgent:
		_, err = toolspecs.DecodeAgent(path, data, nil)
	case lintPlan:
		_, err = toolspecs.DecodePlan(path, data, nil)
	case lintScript:
		_, err = toolspecs.DecodeScript(path, data, nil)
	default:
		_, err = toolspecs.Decode(path, data, options)
	}
	return err
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
