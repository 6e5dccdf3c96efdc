package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

func (a *app) callCommand() *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use: "call TOOL [ARGS_JSON|name=value…]", Short: "Call one tool once", GroupID: groupStart,
		Long: `Calls one tool, through the same pipeline as every other call. The output alone goes to standard output, all else to
standard error.

A value of name=value is read as JSON where it is JSON, and as text otherwise: count=3 is a number, name=Ada is text, and
count='"3"' is the text 3. Where the toolspec is known here, as one of --tools, ./tools or the worker's own, and says that an argument
is a text, its value is: zip=01234 needs no quotes then.

With --tools, the tool and its arguments are checked before anything starts.`,
		Example: `  starter call calculator expression='2*(3+4)'
  starter call echo '{"text": "hello"}'
  echo '{"text": "hello"}' | starter call echo -
  starter call greet name=Ada --tools ./tools
  starter call echo text=hello --output json`,
		Args: arguments(1, "TOOL", "ARGUMENTS…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.callStart(cmd, &flags, args)
			if err != nil {
				return err
			}
			return a.startCall(cmd, s, &flags)
		},
	}
	flags.add(cmd, conversationOfAny)
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, dryRunUsage)
	return cmd
}

// callStart makes a run of a tool's name and the arguments behind it.
func (a *app) callStart(cmd *cobra.Command, flags *startFlags, args []string) (*start, error) {
	named := flags.catalog.dir != ""
	tool, err := a.toolToCall(args[0], &flags.catalog)
	if err != nil {
		return nil, err
	}
	text, err := parseArguments(args[1:], a.In, takesText(tool))
	if err != nil {
		return nil, usageError(cmd, "%v", err)
	}
	if named {
		if err := a.checkArguments(tool, text, flags); err != nil {
			return nil, err
		}
	}
	s, err := flags.newStart(cmd, api.CallerDirect, api.CallWorkflow, args[0])
	if err != nil {
		return nil, err
	}
	s.pairs = args[1:]
	s.input.Call = &api.Call{Tool: args[0], Arguments: text}
	return s, nil
}

// toolToCall returns what is known here of a tool: nil where the workers alone know it. It refuses a name that no tool can have, one
// that the folder of --tools does not hold, and one that the worker of 'starter dev' does not serve.
func (a *app) toolToCall(name string, flags *catalogFlags) (*toolspecs.Compiled, error) {
	if err := api.CheckToolName(name); err != nil {
		return nil, failure(exitUsage, "%w", err)
	}
	if flags.dir != "" {
		catalog, err := flags.load()
		if err != nil {
			return nil, err
		}
		tool, ok := catalog.Get(name)
		if !ok {
			return nil, a.unknownTool(catalog, name, flags.dir)
		}
		return tool, nil
	}
	if a.served != nil && !slices.Contains(a.served, name) {
		return nil, &hinted{failure(exitUsage, "there is no tool %q", name), a.lookedUp(flags)}
	}
	flags.orDefault()
	catalog, err := flags.load()
	if err != nil { // the workers may have other tools than a folder that nobody named
		return nil, nil
	}
	tool, _ := catalog.Get(name)
	return tool, nil
}

// takesText tells the arguments of a tool that are texts and nothing else.
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

// checkArguments refuses arguments that a tool does not take, all that is wrong with them at once.
func (a *app) checkArguments(tool *toolspecs.Compiled, text string, flags *startFlags) error {
	rest, _, problems := tool.TakePlan(text)
	if len(problems) == 0 {
		_, _, problems = tool.Arguments(rest, api.Mode(flags.mode))
	}
	if len(problems) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("the arguments do not fit the tool %q; nothing was started", tool.Spec.Name)}
	for _, p := range problems {
		lines = append(lines, "  "+p.String())
	}
	lines = append(lines, fmt.Sprintf("What it takes: %s tools show %s --tools %s", a.connection.called(), tool.Spec.Name, api.ShellWord(flags.catalog.dir)))
	return failure(exitUsage, "%s", strings.Join(lines, "\n"))
}

func (a *app) unknownTool(catalog *toolspecs.Catalog, name, dir string) error {
	hint := "List them: " + a.connection.called() + " tools list"
	if dir != "" {
		hint += " --tools " + dir
	}
	if near := catalog.Near(name); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "? " + hint
	}
	return failure(exitUsage, "there is no tool %q\n%s", name, hint)
}

// startCall starts a direct call and prints its output.
func (a *app) startCall(cmd *cobra.Command, s *start, flags *startFlags) error {
	return a.startRun(cmd, s, flags, func(ctx context.Context, f *follower) error {
		f.view, f.whole = a.progressView(), true
		if err := f.follow(ctx); err != nil {
			return a.lookupError(f.id, f.run, err)
		}
		if f.detached {
			return exitWith(exitCancelled)
		}
		if err := a.printCall(f, s); err != nil {
			return err
		}
		return exitWith(f.exitCode())
	})
}

// progressView shows progress on standard error, where nobody reads standard output line by line.
func (a *app) progressView() view {
	if isTerminal(a.Err) && !a.format.json() {
		return newLiveView(a.Err, a.paletteFor(a.Err), a.connection.reach())
	}
	return newQuietView(a.tellsBelow())
}

// callEnd is a call's end as JSON.
type callEnd struct {
	WorkflowID string         `json:"workflow_id"`
	RunID      string         `json:"run_id"`
	Event      api.EventType  `json:"event"`
	Result     *api.RunResult `json:"result,omitempty"`
	Failure    string         `json:"failure,omitempty"`
	Record     *api.Record    `json:"record,omitempty"`
}

func (a *app) printCall(f *follower, s *start) error {
	if a.format.json() {
		end := callEnd{WorkflowID: f.id, RunID: f.last.RunID, Event: f.last.Type, Result: f.last.Result, Failure: f.last.Failure}
		if len(f.records) > 0 {
			record := f.records[0]
			record.Result = nil // it stands beside the record
			end.Record = &record
		}
		return writeJSON(a.Out, end, true)
	}
	if r := f.last.Result; r != nil && f.last.Type == api.EventRunCompleted {
		if err := a.println(readable(r.Output)); err != nil {
			return err
		}
	}
	p := a.paletteFor(a.Err)
	for _, record := range f.records {
		for _, note := range notesBesideError(record) {
			fmt.Fprintln(a.Err, p.faint("note: "+note))
		}
	}
	fmt.Fprint(a.Err, a.newReport(f).brief(p))
	if hint := typeHint(s.pairs, f.records); hint != "" {
		fmt.Fprintln(a.Err, hint)
	}
	return nil
}

// notesOf returns what was noted of a call, at its start and with its result.
func notesOf(r api.Record) []string {
	notes := slices.Clone(r.Notes)
	if r.Result != nil {
		notes = append(notes, r.Result.Notes...)
	}
	for _, h := range r.Hooks {
		if h.Outcome == api.HookBlocked {
			h.Reason = "" // the error says it
		}
		notes = append(notes, hookNote(h))
	}
	if note := approvalNote(r); note != "" {
		notes = append(notes, note)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// approvalNote tells what a person decided about a call. Of an edit the call's own note says who changed what, so that only the
// reason is left to be told.
func approvalNote(r api.Record) string {
	switch d := r.Approval; {
	case d == nil:
		return ""
	case d.Decision != api.DecisionEdit || len(r.Notes) == 0:
		return d.Note()
	case d.Reason == "":
		return ""
	default:
		return "the arguments were changed because: " + d.Reason
	}
}

// notesBesideError are the notes of a call whose error is shown too: that of one that a person denied says who did, and why.
func notesBesideError(r api.Record) []string {
	notes := notesOf(r)
	if r.Error == nil || r.Error.Type != api.ErrApprovalDenied || r.Approval == nil {
		return notes
	}
	said := approvalNote(r)
	return slices.DeleteFunc(notes, func(note string) bool { return note == said })
}

// typeHint tells how to pass text that looks like another JSON value where a call of name=value pairs was refused for
// the type of one.
func typeHint(pairs []string, records []api.Record) string {
	for _, record := range records {
		if record.Error == nil {
			continue
		}
		for _, problem := range record.Error.Problems {
			name := strings.TrimPrefix(problem.Path, "$.")
			i := slices.IndexFunc(pairs, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
			if i < 0 || problem.Rule != api.RuleType {
				continue
			}
			value := strings.TrimPrefix(pairs[i], name+"=")
			if quoted := typed(value); string(quoted) == value && value[0] != '"' {
				return fmt.Sprintf("a value that is JSON is read as JSON; to pass it as text: %s='%q'", name, value)
			}
		}
	}
	return ""
}

// baseName is a file's name without folder and ending.
func baseName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// fileError keeps faults as they are and makes any other trouble with a file bad input.
func fileError(path string, err error) error {
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		err = missing
	} else if _, ok := errors.AsType[toolspecs.Faults](err); ok {
		return err
	}
	return failure(exitUsage, "%s: %w", path, pathError(path, err))
}

// pathError says of a path what is wrong with it, without the name of the system call that found out.
func pathError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == path {
		return e.Err
	}
	return err
}

var errNoFile = errors.New("there is no such file")
