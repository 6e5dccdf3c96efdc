package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// shownSchedule is a schedule as show and list print it.
type shownSchedule struct {
	Schedule string `json:"schedule"`
	scheduleAbout
	Paused bool `json:"paused"`
	// Overlap and the counts are set by show only.
	Overlap string `json:"overlap,omitempty"`
	// Started, Skipped and Missed count the runs that were started, skipped because of an overlap,
	// and missed by the server.
	Started int `json:"started,omitempty"`
	Skipped int `json:"skipped,omitempty"`
	Missed  int `json:"missed,omitempty"`
	// Next are the times of the next runs, at most ten; show has them in the schedule's time zone.
	Next []time.Time `json:"next,omitempty"`
	// Runs are the latest runs, newest first. A list has only the newest, without its outcome.
	Runs []scheduledRun `json:"runs,omitempty"`
}

// scheduledRun is a run that a schedule started.
type scheduledRun struct {
	WorkflowID string            `json:"workflow_id"`
	RunID      string            `json:"run_id"`
	Status     history.RunStatus `json:"status,omitempty"`
	Outcome    api.Outcome       `json:"outcome,omitempty"`
	Planned    time.Time         `json:"planned"`
	Started    time.Time         `json:"started"`
	Duration   api.Duration      `json:"duration,omitempty"`
}

// decodeAbout reads a schedule's memo. ours is false if starter did not create the schedule.
func decodeAbout(memo *commonpb.Memo) (about scheduleAbout, ours, unreadable bool) {
	payload, ok := memo.GetFields()[scheduleMemo]
	err := converter.GetDefaultDataConverter().FromPayload(payload, &about)
	return about, ok && err == nil, ok && err != nil
}

// aboutSchedule is decodeAbout for a schedule named on the command line.
func aboutSchedule(id string, memo *commonpb.Memo) (scheduleAbout, error) {
	about, ours, unreadable := decodeAbout(memo)
	switch {
	case unreadable:
		return about, cli.Errorf(cli.ExitFailed,
			"the schedule %q cannot be decoded; if it is encrypted, pass --payload-keys FILE", id)
	case !ours:
		return about, cli.Errorf(cli.ExitFailed, "the schedule %q was not created by starter", id)
	}
	return about, nil
}

func toScheduledRuns(actions []client.ScheduleActionResult) []scheduledRun {
	var runs []scheduledRun
	for _, action := range actions {
		if action.StartWorkflowResult != nil {
			runs = append(runs, scheduledRun{WorkflowID: action.StartWorkflowResult.WorkflowID,
				RunID:   action.StartWorkflowResult.FirstExecutionRunID,
				Planned: action.ScheduleTime, Started: action.ActualTime})
		}
	}
	slices.SortStableFunc(runs, func(x, y scheduledRun) int { return y.Started.Compare(x.Started) })
	return runs
}

func scheduleListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List schedules",
		Long:    `Lists the schedules created by starter, by name. A new schedule may take a moment to appear.`,
		Example: "  starter schedule list\n  starter schedule list --output json | jq -r .schedule",
		Args:    cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				schedules, unreadable, err := listSchedules(ctx, c)
				if err != nil {
					return err
				}
				if unreadable > 0 {
					fmt.Fprintf(a.Err,
						"%s cannot be decoded; if they are encrypted, pass --payload-keys FILE\n",
						display.Plural(unreadable, "schedule"))
					if len(schedules) == 0 {
						return nil
					}
				}
				return printSchedules(a, schedules, time.Now())
			})
		},
	}
}

// listSchedules returns the schedules that starter created, and the number of those that cannot be
// read.
func listSchedules(ctx context.Context, c client.Client) (schedules []shownSchedule, unreadable int,
	err error) {
	entries, err := c.ScheduleClient().List(ctx,
		client.ScheduleListOptions{PageSize: runlist.MaxPage})
	if err != nil {
		return nil, 0, err
	}
	for entries.HasNext() {
		entry, err := entries.Next()
		if err != nil {
			return nil, 0, err
		}
		about, ours, sealed := decodeAbout(entry.Memo)
		if sealed {
			unreadable++
		}
		if ours {
			runs := toScheduledRuns(entry.RecentActions)
			schedules = append(schedules, shownSchedule{Schedule: entry.ID, scheduleAbout: about,
				Paused: entry.Paused,
				Next:   entry.NextActionTimes[:min(1, len(entry.NextActionTimes))],
				Runs:   runs[:min(1, len(runs))]})
		}
	}
	slices.SortFunc(schedules, func(x, y shownSchedule) int {
		return strings.Compare(x.Schedule,
			y.Schedule)
	})
	return schedules, unreadable, nil
}

func printSchedules(a *cli.App, schedules []shownSchedule, now time.Time) error {
	if a.Format.JSON() {
		return cli.WriteJSONLines(a.Out, schedules)
	}
	if len(schedules) == 0 {
		fmt.Fprintln(a.Err, "no schedules")
		return nil
	}
	p := a.PaletteFor(a.Out)
	t := cli.Table{Header: []string{"schedule", "runs", "when", "state", "last run", "next run"}}
	for _, s := range schedules {
		last := ""
		if len(s.Runs) > 0 {
			last = a.Format.When(s.Runs[0].Started, now)
		}
		t.Add(s.Schedule, s.Subject(), s.When, s.state(p), last, s.next(&a.Format, now))
	}
	return a.Print(t.Text(p))
}

// Subject describes what a schedule runs.
func (s shownSchedule) Subject() string {
	if s.Kind == string(api.CallerDirect) {
		return "call " + s.Name
	}
	return s.Kind + " " + s.Name
}

func (s shownSchedule) state(p cli.Palette) string {
	if s.Paused {
		return p.Warn("paused")
	}
	return "active"
}

// next formats when the next run is due. A paused schedule has none.
func (s shownSchedule) next(f *cli.Format, now time.Time) string {
	if s.Paused || len(s.Next) == 0 {
		return "none"
	}
	if f.Time == cli.TimeISO {
		return s.Next[0].Local().Format(time.RFC3339)
	}
	return "in " + cli.ShortDuration(s.Next[0].Sub(now).Round(time.Second))
}

func scheduleShowCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a schedule, its next times and its last runs",
		Long: `Shows what a schedule starts and when, how many runs it started, skipped and missed, its next
times, and the results of its last runs.`,
		Example: "  starter schedule show nightly\n  starter schedule show nightly --output json | jq -r '.runs[].workflow_id'",
		Args:    cli.Arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onSchedule(a, cmd, args[0], func(ctx context.Context, h client.ScheduleHandle,
				c client.Client) error {
				s, err := describeSchedule(ctx, h, c)
				if err != nil {
					return err
				}
				return s.print(a)
			})
		},
	}
}

func describeSchedule(ctx context.Context, h client.ScheduleHandle,
	c client.Client) (*shownSchedule, error) {
	d, err := h.Describe(ctx)
	if err != nil {
		return nil, err
	}
	about, err := aboutSchedule(h.GetID(), d.Memo)
	if err != nil {
		return nil, err
	}
	s := &shownSchedule{Schedule: h.GetID(), scheduleAbout: about, Started: d.Info.NumActions,
		Skipped: d.Info.NumActionsSkippedOverlap,
		Missed:  d.Info.NumActionsMissedCatchupWindow, Next: d.Info.NextActionTimes,
		Runs: toScheduledRuns(d.Info.RecentActions)}
	if state := d.Schedule.State; state != nil {
		s.Paused = state.Paused
	}
	if policy := d.Schedule.Policy; policy != nil {
		s.Overlap = policy.Overlap.String()
	}
	zone, _ := time.LoadLocation(d.Schedule.Spec.TimeZoneName) // empty is UTC, nil is not known here
	for i := range s.Next {
		s.Next[i] = s.Next[i].In(cmp.Or(zone, time.UTC))
	}
	for i := range s.Runs {
		if err := s.Runs[i].look(ctx, c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// look queries a run's status. The status stays empty if the server has deleted the run.
func (r *scheduledRun) look(ctx context.Context, c client.Client) error {
	now, err := c.DescribeWorkflowExecution(ctx, r.WorkflowID, "")
	if cli.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	info := now.GetWorkflowExecutionInfo()
	r.Status = audit.ToRunStatus(info.GetStatus())
	if info.GetCloseTime() == nil {
		return nil
	}
	r.Duration = api.Duration(info.GetCloseTime().AsTime().Sub(r.Started))
	var result api.RunResult
	if r.Status == history.RunCompleted && c.GetWorkflow(ctx, r.WorkflowID,
		info.GetExecution().GetRunId()).Get(ctx, &result) == nil {
		r.Outcome = result.Outcome
	}
	return nil
}

// maxNext bounds the times that show lists.
const maxNext = 3

// print prints the schedule.
func (s *shownSchedule) print(a *cli.App) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, s, true)
	}
	return a.Print(s.text(a.PaletteFor(a.Out), &a.Format, time.Now()))
}

func (s *shownSchedule) text(p cli.Palette, f *cli.Format, now time.Time) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s  %s\n", p.Bold(fmt.Sprintf("%-12s", name)), value)
		}
	}
	field("schedule", s.Schedule)
	field("runs", s.Subject())
	field("when", s.When)
	field("state", s.state(p))
	field("conversation", s.Conversation)
	field("overlap", "while the previous run is active: "+s.Overlap)
	field("so far", fmt.Sprintf("%d started, %d skipped because the previous run was active, %d missed",
		s.Started, s.Skipped, s.Missed))
	var next []string
	for _, at := range s.Next[:min(len(s.Next), maxNext)] {
		next = append(next, at.Format("Mon 2006-01-02 15:04:05 MST"))
	}
	if s.Paused {
		next = nil
	}
	field("next", cmp.Or(strings.Join(next, ", "), "none"))
	if len(s.Runs) > 0 {
		t := cli.Table{Header: []string{"run", "status", "outcome", "started", "duration"},
			Right: map[int]bool{4: true}}
		for _, r := range s.Runs {
			status, took := "deleted", ""
			if r.Status != "" {
				status = runlist.RunStatusText(p, r.Status)
			}
			if r.Duration > 0 {
				took = cli.ShortDuration(r.Duration.Std())
			}
			t.Add(r.WorkflowID, status, string(r.Outcome), f.When(r.Started, now), took)
		}
		b.WriteString("\n" + t.Text(p))
	}
	return b.String()
}
