// Package runlist has the flags that select runs, and lists the runs that they select.
package runlist

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// MaxPage is the most entries that the server lists at once.
const MaxPage = 1000

// Selection selects runs, the newest first up to a limit.
type Selection struct {
	switchyard.RunQuery
	Limit         int
	status, since string
}

// runStatuses lists the values of --status.
var runStatuses = []string{string(history.RunRunning), string(history.RunPaused),
	string(history.RunCompleted), string(history.RunFailed), string(history.RunCancelled),
	string(history.RunTerminated), string(history.RunTimedOut)}

// Add adds the flags, with limit as the default maximum.
func (s *Selection) Add(f *pflag.FlagSet, limit int) {
	f.StringVarP(&s.Query, "query", "q", "", "Temporal visibility `query` for runs")
	f.StringVar(&s.Conversation, "conversation", "", "`ID` of the conversation")
	f.StringVar(&s.Agent, "agent", "", "`name` of the agent")
	f.StringVar(&s.Tool, "tool", "", "`name` of a tool that ended runs or their sub-agents called")
	f.StringVar(&s.status, "status", "", "`status` of the runs: "+strings.Join(runStatuses, ", "))
	f.StringVar(&s.Caller, "caller", "", "`name` of the caller that started the runs")
	f.StringVar(&s.since, "since", "",
		"only runs started at or after `time`: 2026-01-31, 2026-01-31T08:00:00Z, or 24h for a day ago")
	f.IntVar(&s.Limit, "limit", limit, "maximum number of `runs`, the newest first")
}

// Check rejects selections that no run can match, before a server is queried.
func (s *Selection) Check(cmd *cobra.Command) error {
	if s.Limit < 1 {
		return cli.UsageError(cmd, "--limit %d is below 1", s.Limit)
	}
	if s.status != "" && !slices.Contains(runStatuses, s.status) {
		return cli.UsageError(cmd, "--status %q is not one of %s", s.status,
			strings.Join(runStatuses, ", "))
	}
	s.Status = history.RunStatus(s.status)
	if s.since == "" {
		return nil
	}
	var err error
	if s.Since, err = pointInTime(s.since, time.Now()); err != nil {
		return cli.UsageError(cmd, "--since %q: %v", s.since, err)
	}
	return nil
}

// pointInTime parses a date, a date with a time, or an age.
func pointInTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t.UTC(), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, errors.New(
		"use a date (2026-01-31), a time (2026-01-31T08:00:00Z) or a duration ago (24h)")
}

// Select returns the runs of a checked selection: open ones first, each newest first.
func Select(ctx context.Context, a *cli.App, c client.Client,
	s *Selection) (runs []switchyard.ListedRun, err error) {
	own := a.Client(c)
	var token []byte
	for {
		page, next, err := own.List(ctx, s.RunQuery, min(s.Limit, MaxPage), token)
		if errors.Is(err, &switchyard.RequestError{Type: switchyard.RequestInvalid}) {
			return nil, explainRefusal(ctx, a, c, err)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, page...)
		if token = next; len(runs) >= s.Limit || len(token) == 0 {
			return runs[:min(len(runs), s.Limit)], nil
		}
	}
}

// explainRefusal explains why the server refuses a query: a fault of --query, or search attributes
// that the namespace lacks.
func explainRefusal(ctx context.Context, a *cli.App, c client.Client, refused error) error {
	missing, taken, err := attributes.FindMissing(ctx, c, a.Connection.ResolvedNamespace)
	names := attributes.Names(missing)
	for name := range taken {
		names = append(names, name)
	}
	if err != nil || len(names) == 0 {
		return cli.Errorf(cli.ExitUsage,
			"--query is not valid: %w\nAn example: --query 'ExecutionStatus=\"Failed\"'", refused)
	}
	slices.Sort(names)
	return cli.Errorf(cli.ExitFailed, "the server refuses the query: %w\nThe namespace %q lacks "+
		"the search attributes %s\nRegister them: %s. Only runs started afterwards have them.",
		refused, a.Connection.ResolvedNamespace, strings.Join(names, ", "),
		a.Connection.Invocation().Command("setup"))
}

// NewestOnly returns a note that there may be more runs than the limit.
func NewestOnly(limit int) string {
	return "at most " + display.Plural(limit, "run") + "; raise --limit for more"
}

// Evaluations returns people's evaluations of the runs, by the ID of the execution.
func Evaluations(ctx context.Context, a *cli.App, c client.Client,
	runs []switchyard.ListedRun) (map[string]*api.RunEvaluation, error) {
	ids := make([]string, len(runs))
	for i, run := range runs {
		ids[i] = run.RunID
	}
	found, err := audit.Evaluations(ctx, c, a.Connection.ResolvedNamespace, ids)
	evaluations := map[string]*api.RunEvaluation{}
	for id, one := range found {
		evaluations[id] = &one
	}
	return evaluations, err
}

// RunStateText colours a run's status, or what it needs from people.
func RunStateText(p cli.Palette, s history.RunStatus, awaited []audit.Awaited) string {
	if words := audit.StatusText(s, awaited); words != string(s) {
		return p.Warn(words)
	}
	return RunStatusText(p, s)
}

// RunStatusText colours a run's status.
func RunStatusText(p cli.Palette, s history.RunStatus) string {
	switch s {
	case history.RunCompleted:
		return p.Good(string(s))
	case history.RunFailed, history.RunTerminated, history.RunTimedOut:
		return p.Bad(string(s))
	case history.RunCancelled, history.RunPaused:
		return p.Warn(string(s))
	}
	return string(s)
}
