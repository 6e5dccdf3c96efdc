package catalog

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

func policyCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", GroupID: cli.GroupServer, Short: "Test, explain and replay policies",
		Long: `Policies are rules that are checked before each call runs. They come from a file that all
workers read (worker --policies-file) or from files that an agent names. docs/policies.md and
docs/policy-language.md describe the rules. 'starter tools lint' checks the files.`,
		Example: `  starter policy test policies.cases.yaml
  starter policy explain demo-1a2b3c4d 2.1
  starter policy replay policies.yaml --tools ./tools --since 720h`,
		Args: a.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(policyTestCommand(a), policyExplainCommand(a), policyReplayCommand(a))
	return cmd
}

func policyTestCommand(a *cli.App) *cobra.Command {
	catalog := &specfiles.Flags{}
	cmd := &cobra.Command{
		Use: "test FILE…", Short: "Run the test cases of policies",
		Long: `Evaluates rules on the calls in files of cases and compares the action with the expected one:
deny, ask, warn or allow. A file of cases names its policy files. The command needs no server
and calls no tool. The exit code is 1 if a case fails and 2 if a file has faults.

With --tools, toolspecs provide what a case leaves out about its tool (effects, emits, lane, …).

Rules that match no case, or every case for their tools, are listed: the cases do not test the
other outcome.`,
		Example: `  starter policy test policies.cases.yaml
  starter policy test policies.cases.yaml --tools ./tools
  starter policy test policies.cases.yaml --output json | jq 'select(.ok | not)'`,
		Args: cli.Arguments(1, "FILE…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tools, err := policyTools(catalog)
			if err != nil {
				return err
			}
			return testPolicies(a, args, tools)
		},
	}
	addTools(cmd.Flags(), catalog, "of the cases' tools")
	return cmd
}

// policyTools returns the tools of the folder and those of the worker. They are nil if no folder is
// named.
func policyTools(c *specfiles.Flags) (*toolspecs.Catalog, error) {
	if c.Dir == "" {
		return nil, nil
	}
	return c.Load()
}

// findTools returns a lookup of the tool properties that rules use, by name, with the labels that
// the tables of files of rules add.
func findTools(tools *toolspecs.Catalog, tables ...*policies.Set) (
	find func(name string) (policies.Tool, bool), err error) {
	for _, table := range tables {
		if tools, err = tools.WithLabels(table); err != nil {
			return nil, err
		}
	}
	return func(name string) (policies.Tool, bool) {
		compiled, ok := tools.Get(name)
		if !ok {
			return policies.Tool{}, false
		}
		return compiled.PolicyTool(compiled.Tool()), true
	}, nil
}

// triedCase is the JSON form of a case.
type triedCase struct {
	File string `json:"file"`
	policies.Tried
}

func testPolicies(a *cli.App, paths []string, tools *toolspecs.Catalog) error {
	total, failed := 0, 0
	for _, path := range paths {
		cases, err := policies.LoadCases(path)
		if err != nil {
			return cli.FileError(path, err)
		}
		if tools != nil {
			find, err := findTools(tools, cases.Sets()...)
			if err != nil {
				return err
			}
			noteNames(a, path, "tools that are not in the folder", cases.Know(find))
		}
		for _, t := range cases.Try() {
			total++
			if !t.OK {
				failed++
			}
			if err := printTried(a, triedCase{path, t}); err != nil {
				return err
			}
		}
		never, always := cases.OneSided()
		noteNames(a, path, "rules that match no case", never)
		noteNames(a, path, "rules that match every case", always)
	}
	if failed > 0 {
		return cli.Errorf(cli.ExitFailed, "%s, %d failed", display.Plural(total, "case"), failed)
	}
	fmt.Fprintln(a.Err, display.Plural(total, "case")+", all passed")
	return nil
}

func noteNames(a *cli.App, path, what string, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(a.Err, "note: %s: %s: %s\n", path, what, strings.Join(names, ", "))
	}
}

func printTried(a *cli.App, t triedCase) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, t, false)
	}
	p := a.PaletteFor(a.Out)
	if t.OK {
		return a.Println(p.Good("ok    ") + t.Name + p.Faint("  "+string(t.Got)))
	}
	want := string(t.Want)
	if t.Rule != "" {
		want += " by " + t.Rule
	}
	if err := a.Println(fmt.Sprintf("%s%s  (%s:%d)\n        want %s, got %s", p.Bad("FAILED"), " "+
		t.Name, t.File, t.Line, want, t.Got)); err != nil {
		return err
	}
	for _, met := range t.Policies {
		if err := a.Println("        " + policyLine(met)); err != nil {
			return err
		}
	}
	return nil
}

// policyLine describes a rule's action.
func policyLine(p api.PolicyAction) string {
	line := fmt.Sprintf("%s %s: %s", p.Effect, p.Rule, p.Message)
	if p.Failure != "" {
		line = fmt.Sprintf("%s %s, because it cannot be evaluated: %s", p.Effect, p.Rule, p.Failure)
	}
	if p.Saw != "" {
		line += " (" + p.Saw + ")"
	}
	if p.AllowedBy != "" {
		line += " (overruled: " + p.AllowedBy + " allows the call)"
	}
	return line
}
