// Package completion holds the shell completion of starter.
package completion

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/inspect"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/starter/runs"
	"github.com/switchyard/switchyard/toolspecs"
)

const completionHelp = `Prints a completion script for a shell. It completes commands, flags and their values, tools and
their arguments, and from the server runs, agents, conversations, schedules, and waiting calls and
questions.

bash needs the package bash-completion. Requests to the server are bounded in time: if it does not
answer, nothing is offered.`

// shells lists the shells with the functions that write their scripts.
var shells = []struct {
	name  string
	write func(root *cobra.Command) error
}{
	{"bash", func(root *cobra.Command) error {
		return root.GenBashCompletionV2(root.OutOrStdout(),
			true)
	}},
	{"zsh", func(root *cobra.Command) error { return root.GenZshCompletion(root.OutOrStdout()) }},
	{"fish", func(root *cobra.Command) error {
		return root.GenFishCompletion(root.OutOrStdout(),
			true)
	}},
	{"powershell", func(root *cobra.Command) error {
		return root.GenPowerShellCompletionWithDesc(
			root.OutOrStdout())
	}},
}

func completionCommand() *cobra.Command {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	return &cobra.Command{
		Use: "completion SHELL", GroupID: cli.GroupServer,
		Short: "Print a completion script for a shell", Long: completionHelp,
		Example: `  source <(starter completion bash)
  starter completion zsh >"${fpath[1]}/_starter"
  starter completion fish >~/.config/fish/completions/starter.fish`,
		ValidArgs: names, Args: cli.Arguments(1, "SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, shell := range shells {
				if shell.name == args[0] {
					return shell.write(cmd.Root())
				}
			}
			return cli.UsageError(cmd, "%q is not one of %s", args[0], strings.Join(names, ", "))
		},
	}
}

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{completionCommand()}
}

// completer returns completions for a word. args are the preceding arguments.
type completer func(cmd *cobra.Command, args []string) []cobra.Completion

// words returns a completer with a fixed list.
func words[T ~string](list ...T) completer {
	offered := make([]cobra.Completion, len(list))
	for i, word := range list {
		offered[i] = string(word)
	}
	return func(*cobra.Command, []string) []cobra.Completion { return offered }
}

// Add adds completion to a command and its subcommands, for arguments by their names in the usage
// and for flags by name. Without a completer the shell offers files.
func Add(a *cli.App, root *cobra.Command) {
	o := offers{a}
	byFlag, byArgument := o.flagCompleters(), o.argumentCompleters()
	for _, cmd := range cli.WithSubcommands(root) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal == "" { // else it takes nothing
				// The flag exists and has no completion function yet.
				_ = cmd.RegisterFlagCompletionFunc(f.Name, completeFlag(cmd, f, byFlag))
			}
		})
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			cmd.ValidArgsFunction = completeArguments(cmd, byArgument)
		}
	}
}

// completeFlag completes a flag's value: with its completer, or else with files or folders if it
// takes a path.
func completeFlag(cmd *cobra.Command, f *pflag.Flag, by map[string]completer) cobra.CompletionFunc {
	complete, own := by[cmd.Name()+" --"+f.Name]
	if !own {
		complete = by["--"+f.Name]
	}
	if complete != nil {
		return complete.offer
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	switch kind, _ := pflag.UnquoteUsage(f); kind {
	case "file", "path":
		directive = cobra.ShellCompDirectiveDefault
	case "folder":
		directive = cobra.ShellCompDirectiveFilterDirs
	}
	return cobra.FixedCompletions(nil, directive)
}

// offer adapts the completer to cobra. If there are completions, files are not offered.
func (c completer) offer(cmd *cobra.Command, args []string, word string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	offered := slices.DeleteFunc(slices.Clone(c(cmd, args)),
		func(o cobra.Completion) bool { return bare(o) == "" || !strings.HasPrefix(o, word) })
	directive := cobra.ShellCompDirectiveNoFileComp
	if slices.ContainsFunc(offered,
		func(o cobra.Completion) bool { return strings.HasSuffix(bare(o), "=") }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return offered, directive
}

// bare returns a completion without its description.
func bare(o cobra.Completion) string {
	text, _, _ := strings.Cut(o, "\t")
	return text
}

// completeArguments completes the arguments named in a command's usage. A last one that ends in …
// repeats.
func completeArguments(cmd *cobra.Command, by map[string]completer) cobra.CompletionFunc {
	names := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(cmd.Use))[1:]
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		i := len(args)
		if len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…") {
			i = min(i, len(names)-1)
		}
		if i >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		name := strings.TrimSuffix(names[i], "…")
		complete := by[strings.TrimPrefix(cmd.CommandPath(), cmd.Root().DisplayName()+" ")+" "+name]
		if complete == nil {
			complete = by[name]
		}
		switch {
		case complete != nil:
			return complete.offer(cmd, args, word)
		case strings.HasSuffix(name, ".yaml"):
			return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		case strings.HasPrefix(name, "PATH"), strings.HasPrefix(name, "FILE"):
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// offers provides completions.
type offers struct{ *cli.App }

// flagCompleters returns completers by flag name. A command's own entry takes precedence.
func (a offers) flagCompleters() map[string]completer {
	agents := a.ofRuns(func(r runlist.Run) string { return r.Agent })
	return map[string]completer{
		"--output": words(cli.OutputText, cli.OutputJSON), "--color": words(cli.ColorAuto,
			cli.ColorNever, cli.ColorAlways), "--time-format": words(cli.TimeRelative, cli.TimeISO),
		"--mode": words(api.ModeStrict, api.ModeLenient), "--priority": words(api.Priorities...),
		"--if-busy":        words(runs.BusyRefuse, runs.BusyWait),
		"--overlap":        words(runs.OverlapNames()...),
		"--overlap-policy": words(runs.OverlapNames()...),
		"--outcome":        words(runlist.Outcomes...), "--status": words(runlist.RunStatuses...),
		"--call-status": words(inspect.CallStatuses...), "--kind": words(specfiles.Kinds...),
		"list --category": a.ofTools(
			func(s toolspecs.Spec) []string { return []string{s.Category} }),
		"list --tag": a.ofTools(func(s toolspecs.Spec) []string { return s.Tags }),
		"--agent":    agents, "--caller": a.callers,
		"--conversation": a.ofRuns(func(r runlist.Run) string { return r.Conversation }),
		"--tool":         a.toolNames, "create --call": a.toolNames, "create --agent": nil,
		"--workflow-id": a.anyRun(), "--lanes": a.laneNames,
		"--digest":    a.openDigests,
		"fork --edit": words("prompt=", "model=", "policies=", "agent="),
	}
}

// argumentCompleters returns completers by argument name in the usage.
func (a offers) argumentCompleters() map[string]completer {
	return map[string]completer{
		"RUN": a.anyRun(), "cancel RUN": a.anyRun(history.RunRunning, history.RunPaused),
		"pause RUN":   a.anyRun(history.RunRunning),
		"send RUN":    a.anyRun(history.RunRunning, history.RunPaused),
		"resume RUN":  a.anyRun(history.RunPaused),
		"close RUN":   a.anyRun(history.RunRunning, history.RunPaused),
		"approve RUN": a.awaitingRuns, "deny RUN": a.awaitingRuns, "answer RUN": a.questionRuns,
		"approve CALL": a.openCalls, "deny CALL": a.openCalls, "answer QUESTION": a.openQuestions,
		"evaluate solved|failed": words(audit.SolvedYes, audit.SolvedNo),
		"policy explain CALL":    a.recordedCalls,
		"TOOL":                   a.toolNames, "tools show NAME": a.toolNames,
		"ARGS_JSON|name=value":      a.toolArguments,
		"schedule create ARGUMENTS": a.toolArguments,
		"lanes NAME":                a.laneNames,
		"ID":                        a.ofRuns(func(r runlist.Run) string { return r.Conversation }),
		"schedule show NAME":        a.scheduleNames, "schedule trigger NAME": a.scheduleNames,
		"schedule pause NAME":  a.scheduleNames,
		"schedule resume NAME": a.scheduleNames, "schedule delete NAME": a.scheduleNames,
	}
}
