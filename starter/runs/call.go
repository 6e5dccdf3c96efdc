package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"github.com/switchyard/switchyard/toolspecs"
)

func callCommand(a *cli.App) *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use: "call TOOL [ARGS_JSON|name=value…]", Short: "Call one tool once",
		GroupID: cli.GroupStart,
		Long: `Calls one tool through the same pipeline as every other call. Only the output goes to standard
output; everything else goes to standard error.

In name=value, a value that is valid JSON is read as JSON, any other as text: count=3 is a
number, name=Ada is text, and count='"3"' is the text 3. If the toolspec is known locally (from
--tools, ./tools or the tools of the worker) and declares a string, the value is text: zip=01234
needs no quotes.

With --tools the tool and its arguments are checked before anything starts.`,
		Example: `  starter call calculator expression='2*(3+4)'
  starter call echo '{"text": "hello"}'
  echo '{"text": "hello"}' | starter call echo -
  starter call greet name=Ada --tools ./tools
  starter call echo text=hello --output json`,
		Args: cli.Arguments(1, "TOOL", "ARGUMENTS…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := callStart(a, cmd, &flags, args)
			if err != nil {
				return err
			}
			return startCall(a, cmd, s, &flags)
		},
	}
	flags.add(cmd, conversationOfAny)
	flags.addDryRun(cmd.Flags())
	return cmd
}

// callStart builds a direct call's run from a tool name and its arguments.
func callStart(a *cli.App, cmd *cobra.Command, flags *startFlags, args []string) (*start, error) {
	named := flags.catalog.Dir != ""
	tool, err := toolToCall(a, args[0], &flags.catalog)
	if err != nil {
		return nil, err
	}
	text, err := parseArguments(args[1:], a.In, takesText(tool))
	if err != nil {
		return nil, cli.UsageError(cmd, "%v", err)
	}
	if named {
		if err := checkArguments(a, tool, text, flags.catalog.Dir); err != nil {
			return nil, err
		}
	}
	s, err := flags.newStart(cmd, api.CallerDirect, api.CallWorkflow, args[0])
	if err != nil {
		return nil, err
	}
	s.input.Call = &api.Call{Tool: args[0], Arguments: text}
	return s, nil
}

// toolToCall returns the tool as far as it is known locally, and nil if only the workers know it.
// It rejects invalid names, names missing from the --tools folder, and names the worker of 'starter
// dev' does not serve.
func toolToCall(a *cli.App, name string, flags *specfiles.Flags) (*toolspecs.Compiled, error) {
	if err := api.CheckToolName(name); err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "%w", err)
	}
	if flags.Dir != "" {
		catalog, err := flags.Load()
		if err != nil {
			return nil, err
		}
		tool, ok := catalog.Get(name)
		if !ok {
			return nil, specfiles.UnknownTool(a, catalog, name, flags.Dir)
		}
		return tool, nil
	}
	if a.Served != nil && !slices.Contains(a.Served, name) {
		return nil, cli.WithHint(cli.Errorf(cli.ExitUsage, "there is no tool %q", name),
			specfiles.LookedUp(a, flags))
	}
	flags.UseDefault()
	catalog, err := flags.Load()
	if err != nil { // the workers may have other tools than the default folder
		return nil, nil
	}
	tool, _ := catalog.Get(name)
	return tool, nil
}

// takesText returns a function that reports whether a tool's argument accepts only strings.
func takesText(tool *toolspecs.Compiled) func(name string) bool {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if tool == nil || json.Unmarshal(tool.ModelSchema(), &schema) != nil {
		return func(string) bool { return false }
	}
	return func(name string) bool { return schema.Properties[name].Type == "string" }
}

// checkArguments rejects arguments that violate a tool's schema and reports all problems at once.
func checkArguments(a *cli.App, tool *toolspecs.Compiled, text, dir string) error {
	rest, _, problems := tool.TakePlan(text)
	if len(problems) == 0 {
		_, _, problems = tool.Arguments(rest, "")
	}
	if len(problems) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf(
		"the arguments are not valid for the tool %q; nothing was started", tool.Spec.Name)}
	for _, p := range problems {
		lines = append(lines, "  "+p.String())
	}
	lines = append(lines, fmt.Sprintf("Show its arguments: %s tools show %s --tools %s",
		a.Connection.Program(), tool.Spec.Name, display.ShellWord(dir)))
	return cli.Errorf(cli.ExitUsage, "%s", strings.Join(lines, "\n"))
}

// startCall starts a direct call and prints its output.
func startCall(a *cli.App, cmd *cobra.Command, s *start, flags *startFlags) error {
	return startRun(a, cmd, s, flags, func(ctx context.Context, f *follower) error {
		f.view, f.whole = progressView(a), true
		if err := f.follow(ctx); err != nil {
			return a.LookupError(f.id, f.run, err)
		}
		if f.detached {
			return cli.Exit(cli.ExitCancelled)
		}
		if err := printCall(a, f); err != nil {
			return err
		}
		return cli.Exit(f.exitCode())
	})
}

// progressView shows progress on standard error if standard output is not read line by line.
func progressView(a *cli.App) terminal.View {
	if cli.IsTerminal(a.Err) && !a.Format.JSON() {
		return terminal.NewLiveView(a.Err, a.PaletteFor(a.Err), a.Connection.Invocation())
	}
	return terminal.NewQuietView(terminal.NewSubAgentNotes(a))
}

// printCall prints the output of a call, or as JSON the last event of its run with its record.
func printCall(a *cli.App, f *follower) error {
	if a.Format.JSON() {
		end := f.last
		if len(f.records) > 0 {
			record := f.records[0]
			record.Result = nil // it is shown beside the record
			end.Record = &record
		}
		return cli.WriteJSON(a.Out, end, true)
	}
	if r := f.last.Result; r != nil && f.last.Type == api.EventRunCompleted {
		if err := a.Println(cli.ReadableJSON(r.Output)); err != nil {
			return err
		}
	}
	p := a.PaletteFor(a.Err)
	for _, record := range f.records {
		for _, note := range terminal.NotesBesideError(record) {
			fmt.Fprintln(a.Err, p.Faint("note: "+note))
		}
	}
	fmt.Fprint(a.Err, newReport(a, f).shortText(p))
	return nil
}

// baseName returns a file name without folder and extension.
func baseName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
