package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// shownRun is what show prints as JSON.
type shownRun struct {
	history.Summary
	// Run, Kind and Caller stand for the summary's, in the words of the other commands.
	RunID   string          `json:"run_id"`
	Kind    history.RunKind `json:"kind"`
	Caller  string          `json:"caller,omitempty"`
	Running []audit.Running `json:"running,omitempty"`
	// Questions are the open ones of the sub-agents below the run, too.
	Questions []listedQuestion `json:"questions,omitempty"`
	// Approvals are the calls that wait for approval, those of the sub-agents below the run too.
	Approvals []listedApproval `json:"approvals,omitempty"`
	// WaitsFor says what of both there is.
	WaitsFor []audit.Awaited `json:"waits_for,omitempty"`
	UI       string          `json:"ui,omitempty"`
	// Verdict says whether the run is solved, and JudgedBy by whose word; Person is what a person said of it.
	Evaluation  audit.Solved       `json:"evaluation"`
	EvaluatedBy audit.EvaluatedBy  `json:"evaluated_by"`
	Person      *api.RunEvaluation `json:"person,omitempty"`
	// Incomplete says that the server keeps the run's first histories no longer: what is shown is of the rest.
	Incomplete bool `json:"incomplete,omitempty"`

	reach reach
	// noted are the calls of which something was noted, without their results; there may be more.
	noted     []api.Record
	moreNoted int
}

func (a *app) showCommand() *cobra.Command {
	var ref runReference
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show how a run stands, what it used, and how it ended",
		Long: `Shows a run: how it stands, what it was asked, what it used and called, what runs or waits now, what it asks people and
the commands that answer, and how it ended. What each call did is shown by starter audit, all of it as it happens by
starter watch.`,
		Example: `  starter show demo-1a2b3c4d
  starter show demo-1a2b3c4d --output json | jq .usage`,
		Args: arguments(0, "RUN"),
		RunE: a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
			shown, err := a.shown(ctx, c, run)
			if err != nil {
				return err
			}
			if a.format.json() {
				return writeJSON(a.Out, shown, true)
			}
			shown.write(a.Out, a.paletteFor(a.Out), &a.format, time.Now())
			return nil
		}),
	}
	ref.add(cmd.Flags())
	return cmd
}

// shown reads a run, or what is left of it.
func (a *app) shown(ctx context.Context, c client.Client, run *runReference) (shownRun, error) {
	summary, err := audit.Describe(ctx, c, run.workflowID, run.runID)
	incomplete := errors.Is(err, audit.ErrIncomplete)
	if incomplete {
		err = nil
	}
	shown := shownRun{Summary: summary, RunID: summary.Run, Kind: kindWord(summary.Kind), Caller: summary.Caller.ID, Incomplete: incomplete, reach: a.connection.reach()}
	if n := len(summary.Parts); n > 0 {
		shown.UI = a.connection.runURL(summary.WorkflowID, summary.Parts[n-1].RunID)
	}
	if err == nil {
		err = shown.takePresent(ctx, c, run)
	}
	if err == nil {
		err = audit.Undecided(ctx, c, a.connection.resolvedNamespace, run.workflowID, shown.Running)
	}
	if err == nil && !a.format.json() {
		err = shown.takeNotes(audit.Records(ctx, c, run.workflowID, run.runID))
	}
	if err != nil {
		return shown, a.lookupError(run.workflowID, run.runID, err)
	}
	return shown, a.evaluate(ctx, c, &shown)
}

// takePresent asks what of the run, and of the sub-agents below it, runs and waits now.
func (s *shownRun) takePresent(ctx context.Context, c client.Client, run *runReference) (err error) {
	if s.Running, err = audit.Pending(ctx, c, run.workflowID, run.runID); err != nil {
		return err
	}
	open, err := audit.Questions(ctx, c, run.workflowID, run.runID)
	if err != nil {
		return err
	}
	audit.OpenQuestions(s.Running, run.workflowID, open)
	s.Questions = s.reach.listed(open)
	waiting, err := audit.Approvals(ctx, c, run.workflowID, run.runID)
	s.Approvals = s.reach.listedApprovals(waiting)
	s.WaitsFor = audit.Awaiting(len(waiting) > 0, len(open) > 0)
	return err
}

func (s shownRun) write(w io.Writer, p palette, f *formatFlags, now time.Time) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s  %s\n", p.bold(fmt.Sprintf("%-12s", name)), value)
		}
	}
	field("run", s.WorkflowID)
	field("kind", string(s.Kind))
	field(nameLabel(s.Kind), s.Name)
	if s.Incomplete {
		field("incomplete", p.warn("the server keeps the run's first histories no longer; this is what is left"))
	}
	field("status", p.statusText(s.Status, s.WaitsFor)+s.outcome())
	field("evaluation", evaluationText(s.Summary, s.Person))
	for _, pause := range []*api.Pause{s.Paused, s.PausedOnServer} {
		if pause != nil {
			field("paused", f.pauseText(*pause, now))
		}
	}
	field("prompt", s.Prompt)
	field("started", s.times(f, now))
	field("caller", s.Caller)
	if s.DryRun {
		field("dry run", "withholds calls that may change anything")
	}
	if from := s.FromDryRun; from != nil {
		field("dry run", "makes the calls that "+from.WorkflowID+" withheld; let by "+from.By)
	}
	if s.Parent != nil {
		field("works for", "call "+s.Parent.Call+" of "+s.Parent.WorkflowID)
	}
	field("conversation", s.Conversation)
	field("goes on from", s.reach.showing(s.Continues))
	field("task queue", s.TaskQueue)
	field("used", usageText(s.Usage))
	field("called", s.called())
	field("tools", s.toolNames())
	if len(s.Parts) > 1 {
		field("parts", fmt.Sprintf("%d executions, because the history grew long", len(s.Parts)))
	}
	field("Web UI", s.UI)
	s.writeSubAgents(w, p)
	s.writeRunning(w, p, now)
	s.writeAsked(w, p, f, now)
	s.writeNotes(w, p)
	s.writeEnd(w, p)
}

// writeAsked shows what people are asked.
func (s shownRun) writeAsked(w io.Writer, p palette, f *formatFlags, now time.Time) {
	for _, q := range s.Questions {
		fmt.Fprintln(w)
		f.writeQuestion(w, p, q, now)
	}
	for _, approval := range s.Approvals {
		fmt.Fprintln(w)
		f.writeApproval(w, p, approval, now)
	}
}

// maxNoted bounds the calls whose notes show lists.
const maxNoted = 20

// takeNotes keeps what was noted of the first calls that have notes, where the run's beginning is gone of those of the rest.
func (s *shownRun) takeNotes(records iter.Seq2[api.Record, error]) error {
	for r, err := range records {
		if errors.Is(err, audit.ErrIncomplete) {
			return nil // it comes last
		}
		if err != nil {
			return err
		}
		notes := notesOf(r)
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

func (s *shownRun) writeNotes(w io.Writer, p palette) {
	if len(s.noted) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.bold("notes"))
	for _, r := range s.noted {
		for _, note := range r.Notes {
			fmt.Fprintf(w, "  %s %s %s\n", r.CallID, r.Tool, p.faint(api.Shorten(note, 300)))
		}
	}
	if s.moreNoted > 0 {
		fmt.Fprintf(w, "  … and of %s more: %s\n", api.Plural(s.moreNoted, "call"), s.reach.command("audit", s.WorkflowID))
	}
}

// nameLabel says whose name a run of a kind has.
func nameLabel(k history.RunKind) string {
	if k == kindDirect {
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

func (s shownRun) times(f *formatFlags, now time.Time) string {
	if s.Started.IsZero() {
		return ""
	}
	took := "took " + brief(s.Closed.Sub(s.Started))
	if s.Closed.IsZero() {
		took = "running for " + brief(now.Sub(s.Started))
	}
	return s.Started.Local().Format(time.DateTime) + " (" + f.when(s.Started, now) + "), " + took
}

// called says how often each tool was called, as far as the run's result tells.
func (s shownRun) called() string {
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

func (s shownRun) writeSubAgents(w io.Writer, p palette) {
	if len(s.SubAgents) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.bold("sub-agents"))
	for _, sub := range s.SubAgents[:min(len(s.SubAgents), maxSubAgents)] {
		fmt.Fprintf(w, "  %s %s %s · %s\n", sub.CallID, sub.Tool, p.call(sub.Status), childText(sub.ChildRun))
	}
	if more := len(s.SubAgents) - maxSubAgents; more > 0 {
		fmt.Fprintf(w, "  … and %d more: %s\n", more, s.reach.command("audit", s.WorkflowID))
	}
}

func (s shownRun) writeRunning(w io.Writer, p palette, now time.Time) {
	if len(s.Running) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", p.bold("now"))
	t := tracker{palette: p}
	for _, r := range s.Running {
		if r.Kind == audit.KindRun && r.LastFailure != "" {
			fmt.Fprintln(w, "  "+strings.ReplaceAll(standsStill(r), "\n", "\n  "))
			continue
		}
		fmt.Fprintln(w, "  "+strings.Join(append([]string{whatRuns(r)}, t.runningParts(r, now)...), " · "))
	}
}

func whatRuns(r audit.Running) string {
	switch r.Kind {
	case audit.KindCall:
		if r.State == audit.StateOpenQuestions {
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
	}
	return "the run's next decision is " + string(r.State)
}

// standsStill says of a decision that workers fail to take why the run stands still, and what to do.
func standsStill(r audit.Running) string {
	return fmt.Sprintf("the run stands still: its workers fail to decide what comes next (attempt %d): %s\n  it is tried again, and goes on as soon as a worker can: look at the workers' logs, keys and last deploy", r.Attempt, r.LastFailure)
}

func (s shownRun) writeEnd(w io.Writer, p palette) {
	if s.Failure != "" {
		what := nonEmpty([]string{p.bold("failure"), p.bad(string(s.FailureType))})
		fmt.Fprintf(w, "\n%s\n%s\n", strings.Join(what, " "), s.Failure)
		for _, problem := range s.Problems {
			fmt.Fprintln(w, "  "+problem.String())
		}
	}
	if s.Result == nil {
		return
	}
	if text := resultText(*s.Result); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
	for _, f := range s.Result.Failures {
		if f.Error != nil {
			fmt.Fprintf(w, "  %s %s %s\n", f.ID, f.Tool, p.bad(errorLine(f.Error)))
		}
	}
	writeUndone(w, p, s.Result.Undone, s.reach.command("audit", s.WorkflowID))
}

func nonEmpty(texts []string) []string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}
