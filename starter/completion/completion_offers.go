package completion

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/starter/runs"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/client"
)

const (
	// completionPatience bounds a shell's wait for a server.
	completionPatience = 1500 * time.Millisecond
	// completedRuns bounds the newest runs that are offered or searched for names.
	completedRuns = 100
)

// fromServer calls ask with the command line's server. It returns nothing on errors and timeouts.
func (a offers) fromServer(cmd *cobra.Command, ask func(context.Context,
	client.Client) ([]cobra.Completion, error)) []cobra.Completion {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	c, err := a.Connect(ctx)
	if err != nil {
		return nil
	}
	defer c.Close()
	offered, err := ask(ctx, c)
	if err != nil {
		return nil
	}
	return offered
}

func (a offers) newestRuns(cmd *cobra.Command, all bool,
	offer func(runlist.Run) []cobra.Completion) []cobra.Completion {
	return a.fromServer(cmd, func(ctx context.Context, c client.Client) (offered []cobra.Completion,
		err error) {
		runs, err := runlist.List(ctx, c, a.Connection.ResolvedNamespace, runlist.Condition("", "",
			all), completedRuns, nil)
		for _, r := range runs {
			offered = append(offered, offer(r)...)
		}
		return offered, err
	})
}

// anyRun offers the IDs of the newest runs, restricted to statuses if given.
func (a offers) anyRun(statuses ...history.RunStatus) completer {
	return func(cmd *cobra.Command, _ []string) []cobra.Completion {
		return a.newestRuns(cmd, false, func(r runlist.Run) []cobra.Completion {
			if len(statuses) > 0 && !slices.Contains(statuses, r.Status) {
				return nil
			}
			words := cli.NonEmpty([]string{r.Agent, audit.StatusText(r.Status, r.WaitsFor),
				cli.Ago(time.Since(r.Started))})
			return []cobra.Completion{cobra.CompletionWithDesc(r.ID, strings.Join(words,
				", "))}
		})
	}
}

// ofRuns offers the distinct values of of for the newest runs.
func (a offers) ofRuns(of func(runlist.Run) string) completer {
	return func(cmd *cobra.Command, _ []string) []cobra.Completion {
		return sorted(a.newestRuns(cmd, true,
			func(r runlist.Run) []cobra.Completion { return []cobra.Completion{of(r)} }))
	}
}

// callers offers the callers of the newest runs, including agents that called sub-agents only with
// --all.
func (a offers) callers(cmd *cobra.Command, _ []string) []cobra.Completion {
	all := given(cmd.Flags(), "all") == "true"
	return sorted(a.newestRuns(cmd, all,
		func(r runlist.Run) []cobra.Completion { return []cobra.Completion{r.Caller} }))
}

func sorted(offered []cobra.Completion) []cobra.Completion {
	slices.Sort(offered)
	return slices.Compact(offered)
}

// runNamed returns the command line's run: the flag's value or the first argument.
func runNamed(cmd *cobra.Command, args []string) string {
	if f := cmd.Flags().Lookup("workflow-id"); f != nil && f.Value.String() != "" {
		return f.Value.String()
	}
	if len(args) > 0 {
		return args[0]
	}
	return ""
}

// approvals offers the values of of for pending approvals in the named run, or in all.
func (a offers) approvals(of func(audit.RunApproval) string, inAll bool) completer {
	return func(cmd *cobra.Command, args []string) []cobra.Completion {
		return a.fromServer(cmd, func(ctx context.Context,
			c client.Client) (offered []cobra.Completion, err error) {
			var open []audit.RunApproval
			if inAll {
				open, err = a.Client(c).Approvals(ctx)
				_, err = cli.UnreadOf(err)
			} else {
				open, err = audit.Approvals(ctx, c, runNamed(cmd, args), "")
			}
			for _, o := range open {
				offered = append(offered, cobra.CompletionWithDesc(of(o),
					about(strings.Join(cli.NonEmpty([]string{o.Tool, o.Text}), ": "))))
			}
			return sorted(offered), err
		})
	}
}

func (a offers) awaitingRuns(cmd *cobra.Command, args []string) []cobra.Completion {
	return a.approvals(func(o audit.RunApproval) string { return o.WorkflowID }, true)(cmd, args)
}

func (a offers) openCalls(cmd *cobra.Command, args []string) []cobra.Completion {
	return a.approvals(func(o audit.RunApproval) string { return o.Call }, false)(cmd, args)
}

// openDigests offers the digests of the calls that wait for a decision.
func (a offers) openDigests(cmd *cobra.Command, args []string) []cobra.Completion {
	if runNamed(cmd, args) == "" {
		return nil
	}
	return a.approvals(func(o audit.RunApproval) string { return o.Digest }, false)(cmd, args)
}

func (a offers) questionRuns(cmd *cobra.Command, _ []string) []cobra.Completion {
	return a.fromServer(cmd, func(ctx context.Context, c client.Client) (offered []cobra.Completion,
		err error) {
		open, err := a.Client(c).Questions(ctx)
		_, err = cli.UnreadOf(err)
		for _, q := range open {
			offered = append(offered, cobra.CompletionWithDesc(q.WorkflowID, about(q.Text)))
		}
		return sorted(offered), err
	})
}

func (a offers) openQuestions(cmd *cobra.Command, args []string) []cobra.Completion {
	return a.fromServer(cmd, func(ctx context.Context, c client.Client) (offered []cobra.Completion,
		err error) {
		open, err := audit.Questions(ctx, c, runNamed(cmd, args), "")
		for _, q := range open {
			offered = append(offered, cobra.CompletionWithDesc(q.ID, about(q.Text)))
		}
		return offered, err
	})
}

// recordedCalls offers the IDs of a run's calls.
func (a offers) recordedCalls(cmd *cobra.Command, args []string) []cobra.Completion {
	return a.fromServer(cmd, func(ctx context.Context, c client.Client) (offered []cobra.Completion,
		err error) {
		for r, err := range audit.Records(ctx, c, runNamed(cmd, args), "") {
			if err != nil {
				return nil, err
			}
			offered = append(offered, cobra.CompletionWithDesc(r.CallID, r.Tool+", "+
				string(r.Status)))
		}
		return offered, nil
	})
}

func (a offers) scheduleNames(cmd *cobra.Command, _ []string) []cobra.Completion {
	return a.fromServer(cmd, func(ctx context.Context, c client.Client) (offered []cobra.Completion,
		err error) {
		schedules, _, err := runs.ListSchedules(ctx, c)
		for _, s := range schedules {
			offered = append(offered, cobra.CompletionWithDesc(s.Schedule, s.Subject()+", "+s.When))
		}
		return offered, err
	})
}

// catalogOf reads the command line's tools: its folder's, named or default, and the built-in ones.
func catalogOf(cmd *cobra.Command) *toolspecs.Catalog {
	flags := specfiles.Flags{Dir: given(cmd.Flags(), "tools"), LanesFile: given(cmd.Flags(),
		"lanes-file")}
	flags.UseDefault()
	catalog, _ := flags.LoadSkippingInvalid()
	if catalog == nil { // there is no such folder
		flags.Dir = ""
		catalog, _ = flags.LoadSkippingInvalid()
	}
	return catalog
}

func given(flags *pflag.FlagSet, name string) string {
	if f := flags.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// toolNames offers the folder's tools and those called by the newest runs, because workers may have
// others.
func (a offers) toolNames(cmd *cobra.Command, _ []string) []cobra.Completion {
	offered := map[string]cobra.Completion{}
	if cmd.Parent().Name() != "tools" {
		for _, name := range a.newestRuns(cmd, true,
			func(r runlist.Run) []cobra.Completion { return r.Tools }) {
			offered[name] = name
		}
	}
	if catalog := catalogOf(cmd); catalog != nil {
		for _, tool := range catalog.All() {
			offered[tool.Spec.Name] = cobra.CompletionWithDesc(tool.Spec.Name,
				about(tool.Spec.Description))
		}
	}
	return slices.Sorted(maps.Values(offered))
}

// toolArguments offers name= for the arguments of the preceding tool that are not yet given.
func (a offers) toolArguments(cmd *cobra.Command, args []string) []cobra.Completion {
	catalog := catalogOf(cmd)
	if catalog == nil {
		return nil
	}
	name := args[0]
	if cmd.Flags().Lookup("call") != nil { // a schedule's arguments follow its name
		name = given(cmd.Flags(), "call")
	}
	tool, ok := catalog.Get(name)
	if !ok {
		return nil
	}
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if json.Unmarshal(tool.ModelSchema(), &schema) != nil {
		return nil
	}
	var offered []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.ContainsFunc(args[1:], func(arg string) bool {
			return strings.HasPrefix(arg,
				name+"=")
		}) {
			offered = append(offered, cobra.CompletionWithDesc(name+"=",
				about(schema.Properties[name].Description)))
		}
	}
	return offered
}

// ofTools offers the distinct values of of for the listed tools.
func (a offers) ofTools(of func(toolspecs.Spec) []string) completer {
	return func(cmd *cobra.Command, _ []string) (offered []cobra.Completion) {
		if catalog := catalogOf(cmd); catalog != nil {
			for _, tool := range catalog.All() {
				offered = append(offered, of(tool.Spec)...)
			}
		}
		return sorted(offered)
	}
}

// laneNames offers the lanes of the lanes file and of tools.
func (a offers) laneNames(cmd *cobra.Command, _ []string) []cobra.Completion {
	flags := specfiles.Flags{LanesFile: given(cmd.Flags(), "lanes-file"), Dir: given(cmd.Flags(),
		"tools")}
	names := flags.AllLanes()
	served, _ := flags.ServedLanes()
	names = append(names, served...)
	return sorted(names)
}

// about shortens a description to fit beside a completion.
func about(text string) string { return display.Shorten(strings.TrimSpace(text), 70) }
