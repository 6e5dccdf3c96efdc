package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

// shownRun is the JSON output of show: the summary of a run, and what it does now.
type shownRun struct {
	history.Summary
	Running []audit.Running `json:"running,omitempty"`
	// Instances are those of the run and of its conversation.
	Instances []audit.Instance `json:"instances,omitempty"`
	// Questions and Approvals replace those of the summary: they include those of sub-agents.
	Questions []audit.RunQuestion `json:"questions,omitempty"`
	Approvals []audit.RunApproval `json:"approvals,omitempty"`
	UI        string              `json:"ui,omitempty"`
	// Evaluation says whether the run is solved, and who decided that.
	Evaluation api.EvaluatedResult `json:"evaluation"`
	// Incomplete is set if the server has deleted the run's first histories. The output covers the
	// rest.
	Incomplete bool `json:"incomplete,omitempty"`

	invocation cli.Invocation
	// lines are those that features add.
	lines []cli.Line
}

func showCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", GroupID: cli.GroupRuns,
		Short: "Show the status, usage and outcome of a run",
		Long: `Shows a run: its status, prompt, usage and calls, what runs or waits now, its open questions and
approvals with the commands that answer them, and its outcome. starter audit shows each call;
starter watch shows all events.

The instances are those of stateful tools and the sessions with MCP servers that workers hold for
the run or for its conversation, each with the calls that run on it or wait for it. Sub-agents are
runs with their own instances.`,
		Example: `  starter show demo-1a2b3c4d
  starter show demo-1a2b3c4d --output json | jq .usage`,
		Args: cli.Arguments(1, "RUN"),
		RunE: a.OnRun(func(ctx context.Context, c client.Client,
			run *cli.RunRef) error {
			shown, err := readShownRun(ctx, a, c, run)
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			if a.Format.JSON() {
				return cli.WriteJSON(a.Out, shown, true)
			}
			shown.write(a, time.Now())
			return nil
		}),
	}
}

// readShownRun reads a run, as far as its history still exists.
func readShownRun(ctx context.Context, a *cli.App, c client.Client,
	run *cli.RunRef) (*shownRun, error) {
	summary, err := audit.Describe(ctx, c, run.WorkflowID, run.RunID)
	s := &shownRun{Summary: summary, Incomplete: errors.Is(err, audit.ErrIncomplete),
		invocation: a.Connection.Invocation()}
	if err != nil && !s.Incomplete {
		return nil, err
	}
	if n := len(summary.Parts); n > 0 {
		s.UI = a.Connection.RunURL(summary.WorkflowID, summary.Parts[n-1].RunID)
	}
	for _, read := range []func() error{
		func() error { return s.readPresent(ctx, c, run) },
		func() error {
			return audit.SetLastFailure(ctx, c, a.Connection.ResolvedNamespace, run.WorkflowID,
				s.Running)
		},
		func() error { return s.askFeatures(ctx, a, c) },
		func() error {
			person, err := readEvaluation(ctx, a, c, summary)
			s.Evaluation = audit.Evaluation(summary, person)
			return err
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readEvaluation returns a person's evaluation of a run that has ended; nil for none.
func readEvaluation(ctx context.Context, a *cli.App, c client.Client,
	s history.Summary) (*api.RunEvaluation, error) {
	if len(s.Parts) == 0 || s.Closed.IsZero() {
		return nil, nil
	}
	last := s.Parts[len(s.Parts)-1].RunID
	found, err := runlist.Evaluations(ctx, a, c, []switchyard.ListedRun{{RunID: last}})
	return found[last], err
}

// askFeatures adds what features show of the run.
func (s *shownRun) askFeatures(ctx context.Context, a *cli.App, c client.Client) error {
	features := api.Features{}
	maps.Copy(features, s.Features)
	for _, f := range a.Features {
		shown, err := f.Show(ctx, a, c, s.Summary)
		if err != nil {
			return err
		}
		s.lines = append(s.lines, shown.Lines...)
		for name, value := range shown.Values {
			if features[name], err = json.Marshal(value); err != nil {
				return err
			}
		}
	}
	s.Features = features
	return nil
}

// readPresent reads what the run and its sub-agents do now.
func (s *shownRun) readPresent(ctx context.Context, c client.Client, run *cli.RunRef) (err error) {
	if s.Running, err = audit.Pending(ctx, c, run.WorkflowID, run.RunID); err != nil {
		return err
	}
	if s.Instances, err = audit.Instances(ctx, c, run.WorkflowID, run.RunID); err != nil {
		return err
	}
	if s.Questions, err = audit.Questions(ctx, c, run.WorkflowID, run.RunID); err != nil {
		return err
	}
	audit.OpenQuestions(s.Running, run.WorkflowID, s.Questions)
	s.Approvals, err = audit.Approvals(ctx, c, run.WorkflowID, run.RunID)
	return err
}

func (s *shownRun) write(a *cli.App, now time.Time) {
	w, p := a.Out, a.PaletteFor(a.Out)
	f := &a.Format
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s  %s\n", p.Bold(fmt.Sprintf("%-12s", name)), value)
		}
	}
	field("run", s.WorkflowID)
	field("kind", string(s.Kind))
	field(nameLabel(s.Kind), s.Name)
	if s.Incomplete {
		field("incomplete", p.Warn(
			"the server no longer has the run's first histories; the rest is shown"))
	}
	field("status", s.statusText(p))
	field("evaluation", cli.OneLine(audit.EvaluationText(s.Evaluation)))
	if s.Paused != nil {
		field("paused", terminal.PauseText(f, *s.Paused, now))
	}
	field("prompt", cli.Visible(s.Prompt))
	field("started", s.times(f, now))
	field("caller", s.Caller.ID)
	if s.DryRun {
		field("dry run", "calls with side effects are withheld")
	}
	for _, line := range s.lines {
		field(line.Name, line.Text)
	}
	if s.Parent != nil {
		field("parent", "call "+s.Parent.Call+" of "+s.Parent.WorkflowID)
	}
	field("conversation", s.Conversation)
	field("continues", s.invocation.ShowCommand(s.Continues))
	field("task queue", s.TaskQueue)
	field("used", terminal.UsageText(s.Usage))
	field("tools", s.toolNames())
	field("Web UI", s.UI)
	s.writeSubAgents(w, p)
	s.writeRunning(w, p, now)
	s.writeInstances(w, p, f, now)
	if len(s.Approvals)+len(s.Questions) > 0 {
		fmt.Fprintln(w)
		terminal.NewAsked(a, w).WriteAll(s.Approvals, s.Questions, now)
	}
	s.writeEnd(w, p)
}

// nameLabel returns the label of the name of a run of the kind.
func nameLabel(k history.RunKind) string {
	if k == history.RunCall {
		return "tool"
	}
	return string(k)
}

// statusText describes the run's status, what it needs from people, and its outcome.
func (s *shownRun) statusText(p cli.Palette) string {
	text := runlist.RunStateText(p, s.Status,
		audit.ListAwaited(len(s.Approvals) > 0, len(s.Questions) > 0))
	if s.Result == nil {
		return text
	}
	if o := string(s.Result.Outcome); o != "" && o != string(s.Status) {
		text += ": " + o
	}
	if s.Result.Limit != "" {
		text += " (" + s.Result.Limit + ")"
	}
	return text
}

func (s *shownRun) times(f *cli.Format, now time.Time) string {
	if s.Started.IsZero() {
		return ""
	}
	took := "took " + cli.ShortDuration(s.Closed.Sub(s.Started))
	if s.Closed.IsZero() {
		took = "running for " + cli.ShortDuration(now.Sub(s.Started))
	}
	return s.Started.Local().Format(time.DateTime) + " (" + f.When(s.Started, now) + "), " + took
}

func (s *shownRun) toolNames() string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name + " " + t.Version
	}
	return strings.Join(names, ", ")
}

// maxSubAgents bounds the sub-agents that show lists.
const maxSubAgents = 50

func (s *shownRun) writeSubAgents(w io.Writer, p cli.Palette) {
	if len(s.SubAgents) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("sub-agents"))
	for _, sub := range s.SubAgents[:min(len(s.SubAgents), maxSubAgents)] {
		fmt.Fprintf(w, "  %s %s %s · %s\n", sub.CallID, sub.Tool, terminal.CallStatusText(p,
			sub.Status), terminal.ChildText(sub.ChildRun))
	}
	if more := len(s.SubAgents) - maxSubAgents; more > 0 {
		fmt.Fprintf(w, "  … and %d more: %s\n", more, s.invocation.Command("audit", s.WorkflowID))
	}
}

func (s *shownRun) writeInstances(w io.Writer, p cli.Palette, f *cli.Format, now time.Time) {
	if len(s.Instances) == 0 {
		return
	}
	t := cli.Table{Header: []string{"instance", "scope", "lane", "worker", "state", "since", "calls"}}
	for _, i := range s.Instances {
		scope := api.ScopeRun
		if i.Keeper != "" {
			scope = api.ScopeConversation
		}
		t.Add(cli.PlainText(i.Name), string(scope), i.Lane, cli.PlainText(i.Worker),
			string(i.State), f.When(i.Since, now), strings.Join(i.Calls, " "))
	}
	fmt.Fprintf(w, "\n%s", t.Text(p))
}

func (s *shownRun) writeRunning(w io.Writer, p cli.Palette, now time.Time) {
	if len(s.Running) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("now"))
	t := terminal.Tracker{Palette: p}
	for _, r := range s.Running {
		if r.Kind == audit.KindRun && r.LastFailure != "" {
			fmt.Fprintln(w, "  "+strings.ReplaceAll(terminal.StandsStill(r), "\n", "\n  "))
			continue
		}
		fmt.Fprintln(w, "  "+strings.Join(append([]string{whatRuns(r)}, t.RunningParts(r, now)...),
			" · "))
	}
}

// kindNames are the words for what runs.
var kindNames = map[audit.Kind]string{audit.KindCall: "call ", audit.KindStep: "model step ",
	audit.KindHook: "hook ", audit.KindInstance: "request for the conversation's instance of ",
	audit.KindRun: "run's next decision"}

func whatRuns(r audit.Running) string {
	text := "the " + kindNames[r.Kind] + r.ID
	switch {
	case r.Child != nil:
		text = "the sub-agent of call " + r.ID
	case r.Kind == audit.KindCall:
		text += " of " + r.Tool
	}
	if r.State == audit.StateAwaitingAnswer {
		return text
	}
	return text + " is " + string(r.State)
}

func (s *shownRun) writeEnd(w io.Writer, p cli.Palette) {
	if s.Failure != "" {
		what := cli.NonEmpty([]string{p.Bold("failure"), p.Bad(string(s.FailureType))})
		fmt.Fprintf(w, "\n%s\n%s\n", strings.Join(what, " "), cli.Visible(s.Failure))
		for _, problem := range s.Problems {
			fmt.Fprintln(w, "  "+cli.Visible(problem.String()))
		}
	}
	if s.Result == nil {
		return
	}
	if text := terminal.ResultText(*s.Result); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
	for _, f := range s.Result.Failures {
		if f.Error != nil {
			fmt.Fprintf(w, "  %s %s %s\n", f.ID, f.Tool, p.Bad(terminal.ErrorLine(f.Error)))
		}
	}
	terminal.WriteUndone(w, p, s.Result.Undone, s.invocation.Command("audit", s.WorkflowID))
}
