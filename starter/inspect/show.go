package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

// shownRun is the JSON output of show.
type shownRun struct {
	history.Summary
	// RunID, Kind and Caller replace the summary's, spelled as in the other commands.
	RunID   string          `json:"run_id"`
	Kind    history.RunKind `json:"kind"`
	Caller  string          `json:"caller,omitempty"`
	Running []audit.Running `json:"running,omitempty"`
	// Questions lists the open questions, including those of sub-agents.
	Questions []audit.RunQuestion `json:"questions,omitempty"`
	// Approvals lists the calls that wait for approval, including those of sub-agents.
	Approvals []audit.RunApproval `json:"approvals,omitempty"`
	// Instances lists those that workers host for the run, and those of its conversation.
	Instances []audit.Instance `json:"instances,omitempty"`
	// WaitsFor lists which of the two exist.
	WaitsFor []audit.Awaited `json:"waits_for,omitempty"`
	UI       string          `json:"ui,omitempty"`
	// Evaluation tells whether the run is solved, EvaluatedBy who decided that. Person is a
	// person's evaluation.
	Evaluation  audit.Solved       `json:"evaluation"`
	EvaluatedBy audit.EvaluatedBy  `json:"evaluated_by"`
	Person      *api.RunEvaluation `json:"person,omitempty"`
	// Incomplete is set if the server has deleted the run's first histories. The output covers the
	// rest.
	Incomplete bool `json:"incomplete,omitempty"`

	invocation cli.Invocation
	// noted are calls with notes, without their results. The list may be incomplete.
	noted     []api.Record
	moreNoted int
	// lines are those that features add.
	lines []cli.Line
}

func showCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", GroupID: cli.GroupRuns,
		Short: "Show the status, usage and outcome of a run",
		Long: `Shows a run: its status, prompt, usage and calls, what runs or waits now, the instances of stateful
tools and the sessions with MCP servers that workers host for it and its conversation, its open
questions and approvals with the commands that answer them, and its outcome. starter audit shows
each call; starter watch shows all events.`,
		Example: `  starter show demo-1a2b3c4d
  starter show demo-1a2b3c4d --output json | jq .usage`,
		Args: cli.Arguments(1, "RUN"),
		RunE: a.OnRun(func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			shown, err := readShownRun(ctx, a, c, run)
			if err != nil {
				return err
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
func readShownRun(ctx context.Context, a *cli.App, c client.Client, run *cli.RunRef) (shownRun,
	error) {
	summary, err := audit.Describe(ctx, c, run.WorkflowID, run.RunID)
	incomplete := errors.Is(err, audit.ErrIncomplete)
	if incomplete {
		err = nil
	}
	shown := shownRun{Summary: summary, RunID: summary.Run, Kind: runlist.KindWord(summary.Kind),
		Caller: summary.Caller.ID, Incomplete: incomplete, invocation: a.Connection.Invocation()}
	if n := len(summary.Parts); n > 0 {
		shown.UI = a.Connection.RunURL(summary.WorkflowID, summary.Parts[n-1].RunID)
	}
	if err == nil {
		err = shown.takePresent(ctx, c, run)
	}
	if err == nil {
		err = audit.SetLastFailure(ctx, c, a.Connection.ResolvedNamespace, run.WorkflowID,
			shown.Running)
	}
	if err == nil {
		err = shown.askFeatures(ctx, a, c)
	}
	if err == nil && !a.Format.JSON() {
		err = shown.takeNotes(audit.Records(ctx, c, run.WorkflowID, run.RunID))
	}
	if err != nil {
		return shown, a.LookupError(run.WorkflowID, run.RunID, err)
	}
	return shown, evaluateShown(ctx, a, c, &shown)
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

// takePresent queries pending work of the run and its sub-agents.
func (s *shownRun) takePresent(ctx context.Context, c client.Client, run *cli.RunRef) (err error) {
	if s.Running, err = audit.Pending(ctx, c, run.WorkflowID, run.RunID); err != nil {
		return err
	}
	open, err := audit.Questions(ctx, c, run.WorkflowID, run.RunID)
	if err != nil {
		return err
	}
	audit.OpenQuestions(s.Running, run.WorkflowID, open)
	s.Questions = open
	if s.Approvals, err = audit.Approvals(ctx, c, run.WorkflowID, run.RunID); err != nil {
		return err
	}
	s.WaitsFor = audit.ListAwaited(len(s.Approvals) > 0, len(open) > 0)
	s.Instances, err = audit.Instances(ctx, c, run.WorkflowID, run.RunID)
	return err
}

func (s shownRun) write(a *cli.App, now time.Time) {
	w, p, f := a.Out, a.PaletteFor(a.Out), &a.Format
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
	field("status", runlist.RunStateText(p, s.Status, s.WaitsFor)+s.outcome())
	field("evaluation", evaluationText(s.Summary, s.Person))
	if s.Paused != nil {
		field("paused", terminal.PauseText(f, *s.Paused, now))
	}
	field("prompt", cli.Visible(s.Prompt))
	field("started", s.times(f, now))
	field("caller", s.Caller)
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
	field("called", s.describeCalls())
	field("tools", s.toolNames())
	if len(s.Parts) > 1 {
		field("parts", fmt.Sprintf("%d executions (continued as new)", len(s.Parts)))
	}
	field("Web UI", s.UI)
	s.writeSubAgents(w, p)
	s.writeRunning(w, p, now)
	s.writeInstances(w, p, f, now)
	if len(s.Approvals)+len(s.Questions) > 0 {
		fmt.Fprintln(w)
		terminal.NewAsked(a, w).WriteAll(s.Approvals, s.Questions, now)
	}
	s.writeNotes(w, p)
	s.writeEnd(w, p)
}

// writeInstances lists the instances of the run and of its conversation.
func (s shownRun) writeInstances(w io.Writer, p cli.Palette, f *cli.Format, now time.Time) {
	if len(s.Instances) == 0 {
		return
	}
	t := cli.Table{Header: []string{"instance", "scope", "lane", "worker", "state", "since",
		"calls"}}
	for _, i := range s.Instances {
		scope := api.ScopeRun
		if i.Keeper != "" {
			scope = api.ScopeConversation
		}
		t.Add(cli.PlainText(i.Name), string(scope), i.Lane, cli.PlainText(i.Worker),
			string(i.State), f.When(i.Since, now), strings.Join(i.Calls, " "))
	}
	fmt.Fprint(w, "\n"+t.Text(p))
}

// maxNoted bounds the calls whose notes show lists.
const maxNoted = 20

// takeNotes keeps the notes of the first calls that have some. If the run's beginning is deleted,
// it uses the remaining calls.
func (s *shownRun) takeNotes(records iter.Seq2[api.Record, error]) error {
	for r, err := range records {
		if errors.Is(err, audit.ErrIncomplete) {
			return nil // it comes last
		}
		if err != nil {
			return err
		}
		notes := terminal.ListNotes(r)
		switch {
		case len(notes) == 0:
		case len(s.noted) == maxNoted:
			s.moreNoted++
		default:
			s.noted = append(s.noted, api.Record{CallID: r.CallID, Tool: r.Tool, Notes: notes})
		}
	}
	return nil
}

func (s *shownRun) writeNotes(w io.Writer, p cli.Palette) {
	if len(s.noted) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.Bold("notes"))
	for _, r := range s.noted {
		for _, note := range r.Notes {
			fmt.Fprintf(w, "  %s %s %s\n", r.CallID, r.Tool, p.Faint(display.Shorten(note, 300)))
		}
	}
	if s.moreNoted > 0 {
		fmt.Fprintf(w, "  … and notes of %s more: %s\n", display.Plural(s.moreNoted, "call"),
			s.invocation.Command("audit", s.WorkflowID))
	}
}

// nameLabel returns the label of the name of a run of the kind.
func nameLabel(k history.RunKind) string {
	if k == runlist.KindDirect {
		return "tool"
	}
	return string(k)
}

func (s shownRun) outcome() string {
	if s.Result == nil {
		return ""
	}
	text := ""
	if o := string(s.Result.Outcome); o != "" && o != string(s.Status) {
		text = ": " + string(s.Result.Outcome)
	}
	if s.Result.Limit != "" {
		text += " (" + s.Result.Limit + ")"
	}
	return text
}

func (s shownRun) times(f *cli.Format, now time.Time) string {
	if s.Started.IsZero() {
		return ""
	}
	took := "took " + cli.ShortDuration(s.Closed.Sub(s.Started))
	if s.Closed.IsZero() {
		took = "running for " + cli.ShortDuration(now.Sub(s.Started))
	}
	return s.Started.Local().Format(time.DateTime) + " (" + f.When(s.Started, now) + "), " + took
}

// describeCalls describes how often each tool was called according to the run's result.
func (s shownRun) describeCalls() string {
	if s.Result == nil || s.Result.CallStats == nil {
		return ""
	}
	var parts []string
	for _, t := range s.Result.CallStats.Tools {
		text := fmt.Sprintf("%s %d", t.Tool, t.All())
		if t.Completed < t.All() {
			text += fmt.Sprintf(" (%d completed)", t.Completed)
		}
		parts = append(parts, text)
	}
	if n := s.Result.CallStats.Others; n > 0 {
		parts = append(parts, fmt.Sprintf("others %d", n))
	}
	return strings.Join(parts, ", ")
}

func (s shownRun) toolNames() string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name + " " + t.Version
	}
	return strings.Join(names, ", ")
}

// maxSubAgents bounds the sub-agents that show lists.
const maxSubAgents = 50

func (s shownRun) writeSubAgents(w io.Writer, p cli.Palette) {
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

func (s shownRun) writeRunning(w io.Writer, p cli.Palette, now time.Time) {
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

func whatRuns(r audit.Running) string {
	switch r.Kind {
	case audit.KindCall:
		if r.State == audit.StateAwaitingAnswer {
			return "the call " + r.ID + " of " + r.Tool
		}
		if r.Child != nil {
			return "the sub-agent of call " + r.ID + " is " + string(r.State)
		}
		return "the call " + r.ID + " of " + r.Tool + " is " + string(r.State)
	case audit.KindStep:
		return "the model step " + r.ID + " is " + string(r.State)
	case audit.KindHook:
		return "the hook " + r.ID + " is " + string(r.State)
	case audit.KindInstance:
		return "the request for the conversation's instance of " + r.ID + " is " + string(r.State)
	}
	return "the run's next decision is " + string(r.State)
}

func (s shownRun) writeEnd(w io.Writer, p cli.Palette) {
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
