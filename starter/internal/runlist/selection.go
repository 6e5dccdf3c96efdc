package runlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/visibility"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Selection selects runs.
type Selection struct {
	query, Conversation, agent, Tool, status, outcome, caller, since, until string

	waiting bool
	Limit   int
	// All includes sub-agents' runs. Maybe includes runs for which only the history shows whether
	// they called the tool.
	All, Maybe bool
	// from and to are the parsed values of since and until.
	from, to time.Time
}

// runStatuses and outcomes list the valid values of the flags.
var (
	runStatuses = []history.RunStatus{history.RunRunning, history.RunPaused, history.RunCompleted,
		history.RunFailed, history.RunCancelled, history.RunTerminated, history.RunTimedOut}
	outcomes = []api.Outcome{api.OutcomeAnswered, api.OutcomeCompleted, api.OutcomeLimit,
		api.OutcomeFailed, api.OutcomeCancelled}
)

// Add adds the flags, with limit as the default maximum.
func (s *Selection) Add(f *pflag.FlagSet, limit int) {
	f.StringVarP(&s.query, "query", "q", "", "Temporal visibility `query` for runs")
	f.StringVar(&s.Conversation, "conversation", "", "`ID` of the conversation")
	f.StringVar(&s.agent, "agent", "", "`name` of the agent")
	f.StringVar(&s.Tool, "tool", "", "`name` of a tool that the runs or their sub-agents called")
	f.StringVar(&s.status, "status", "", "`status` of the runs: "+joinWords(runStatuses))
	f.StringVar(&s.outcome, "outcome", "", "`outcome` of the runs: "+joinWords(outcomes))
	f.StringVar(&s.caller, "caller", "", "`name` of the caller that started the runs")
	f.BoolVar(&s.waiting, "waiting", false,
		"only runs that wait for a person, or whose sub-agents do")
	f.StringVar(&s.since, "since", "",
		"only runs started at or after `time`: 2026-01-31, 2026-01-31T08:00:00Z, or 24h for a day ago")
	f.StringVar(&s.until, "until", "", "only runs started before `time`")
	f.IntVar(&s.Limit, "limit", limit, "maximum number of `runs`, the newest first")
}

func joinWords[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// Check rejects selections that no run can match, before a server is queried.
func (s *Selection) Check(cmd *cobra.Command) error {
	if s.Limit < 1 {
		return cli.UsageError(cmd, "--limit %d is below 1", s.Limit)
	}
	if s.status != "" && !slices.Contains(runStatuses, history.RunStatus(s.status)) {
		return cli.UsageError(cmd, "--status %q is not one of %s", s.status, joinWords(runStatuses))
	}
	if s.outcome != "" && !slices.Contains(outcomes, api.Outcome(s.outcome)) {
		return cli.UsageError(cmd, "--outcome %q is not one of %s", s.outcome, joinWords(outcomes))
	}
	return s.checkTimes(cmd, time.Now())
}

// From returns the time of --since of a checked selection; zero if it is not set.
func (s *Selection) From() time.Time { return s.from }

// checkTimes parses since and until.
func (s *Selection) checkTimes(cmd *cobra.Command, now time.Time) error {
	for _, bound := range []struct {
		flag, text string
		at         *time.Time
	}{{"--since", s.since, &s.from}, {"--until", s.until, &s.to}} {
		if bound.text == "" {
			continue
		}
		t, err := pointInTime(bound.text, now)
		if err != nil {
			return cli.UsageError(cmd, "%s %q: %v", bound.flag, bound.text, err)
		}
		*bound.at = t.UTC()
	}
	if !s.to.IsZero() && !s.from.Before(s.to) {
		return cli.UsageError(cmd, "--since %s is not before --until %s", s.since, s.until)
	}
	return nil
}

// condition returns the query of a checked selection, as far as visibility supports it. roots are
// runs whose sub-agents wait for people. More runs meet it than keeps admits.
func (s *Selection) condition(roots []string) string {
	conditions := []string{conditionFor(s.query, s.Conversation, s.All)}
	for _, one := range []struct{ attribute, value string }{
		{api.AttributeAgent, s.agent}, {api.AttributeCaller, s.caller},
	} {
		if one.value != "" {
			conditions = append(conditions, visibility.In(one.attribute, one.value))
		}
	}
	conditions = append(conditions, s.outcomeCondition(), s.toolCondition(), s.statusCondition(),
		s.waitingCondition(roots))
	for _, bound := range []struct {
		comparison string
		at         time.Time
	}{{">=", s.from}, {"<", s.to}} {
		if at := bound.at; !at.IsZero() {
			conditions = append(conditions, fmt.Sprintf("StartTime %s '%s'", bound.comparison,
				at.Format(time.RFC3339Nano)))
		}
	}
	return strings.Join(cli.NonEmpty(conditions), " AND ")
}

// untold are the outcomes of runs that the server ended or that failed before they started, and so
// could not report them.
var untold = map[history.RunStatus]api.Outcome{history.RunFailed: api.OutcomeFailed,
	history.RunTimedOut:  api.OutcomeFailed,
	history.RunCancelled: api.OutcomeCancelled, history.RunTerminated: api.OutcomeCancelled}

func (s *Selection) outcomeCondition() string {
	if s.outcome == "" {
		return ""
	}
	told := api.AttributeOutcome + " = " + visibility.Quote(s.outcome)
	var ends []string
	for _, status := range runStatuses {
		if untold[status] == api.Outcome(s.outcome) {
			ends = append(ends, visibility.Quote(statusNames[status]))
		}
	}
	if len(ends) == 0 {
		return told
	}
	return fmt.Sprintf("(%s OR (%s IS NULL AND ExecutionStatus IN (%s)))", told,
		api.AttributeOutcome, strings.Join(ends, ", "))
}

func (s *Selection) toolCondition() string {
	switch {
	case s.Tool == "":
		return ""
	case s.Maybe:
		return fmt.Sprintf("(%[1]s IN (%[2]s, %[3]s) OR %[1]s IS NULL OR CloseTime IS NULL)",
			api.AttributeTools, visibility.Quote(s.Tool), visibility.Quote(api.OtherTools))
	}
	return api.AttributeTools + " = " + visibility.Quote(s.Tool)
}

// statusCondition does not separate running and paused runs. keeps does, from the memo.
func (s *Selection) statusCondition() string {
	switch history.RunStatus(s.status) {
	case "":
		return ""
	case history.RunRunning, history.RunPaused:
		return "CloseTime IS NULL"
	}
	return "ExecutionStatus = " + visibility.Quote(statusNames[history.RunStatus(s.status)])
}

// statusNames maps closed states to the server's names.
var statusNames = map[history.RunStatus]string{history.RunCompleted: "Completed",
	history.RunFailed: "Failed", history.RunCancelled: "Canceled",
	history.RunTerminated: "Terminated", history.RunTimedOut: "TimedOut"}

func (s *Selection) waitingCondition(roots []string) string {
	if !s.waiting {
		return ""
	}
	condition := api.AttributeWaiting + " = true"
	if len(roots) > 0 {
		condition = "(" + condition + " OR " + visibility.In("WorkflowId", roots...) + ")"
	}
	return condition + " AND CloseTime IS NULL"
}

// hasTexts reports whether a run has the texts of the selection.
func (s *Selection) hasTexts(r Run) bool {
	for _, one := range []struct{ want, is string }{
		{s.Conversation, r.Conversation}, {s.agent, r.Agent}, {s.caller, r.Caller},
	} {
		if one.want != "" && one.want != one.is {
			return false
		}
	}
	return true
}

// keeps reports whether a run that meets the condition for roots is, or may be, selected.
func (s *Selection) keeps(r Run, roots []string) bool {
	if !s.hasTexts(r) || s.waiting && !r.Waiting && !slices.Contains(roots, r.ID) {
		return false
	}
	return s.status == "" || string(r.Status) == s.status || r.Unread != "" &&
		s.status == string(history.RunPaused)
}

// Select returns the runs of a checked selection, newest first. Errors name missing search
// attributes.
func Select(ctx context.Context, a *cli.App, c client.Client, s *Selection) ([]Run, error) {
	runs, err := findSelected(ctx, a, c, s)
	if _, invalid := errors.AsType[*serviceerror.InvalidArgument](err); !invalid {
		return runs, err
	}
	lacking := lackingAttributes(ctx, a, c, s)
	if s.Maybe && slices.Equal(lacking, []string{api.AttributeTools}) {
		// Histories are read later to find the called tools.
		anyTool := *s
		anyTool.Tool = ""
		return Select(ctx, a, c, &anyTool)
	}
	if len(lacking) > 0 {
		return nil, cli.Errorf(cli.ExitFailed,
			"the namespace %q lacks the search attributes %s, so runs cannot be found by them\nRegister them: %s. Only runs started afterwards have them.",
			a.Connection.ResolvedNamespace, strings.Join(lacking, ", "),
			a.Connection.Invocation().Command("setup"))
	}
	return nil, queryError(s.query, err)
}

// NewestOnly returns a note that there may be more runs than the limit.
func NewestOnly(limit int) string {
	if limit == 1 {
		return "only the newest run; raise --limit for more"
	}
	return "only the newest " + display.Plural(limit, "run") + "; raise --limit for more"
}

// findSelected queries the server for the runs of a selection.
func findSelected(ctx context.Context, a *cli.App, c client.Client, s *Selection) (runs []Run,
	err error) {
	namespace := a.Connection.ResolvedNamespace
	var roots []string
	if s.waiting && !s.All {
		if roots, err = waitingBelow(ctx, c, namespace); err != nil {
			return nil, err
		}
	}
	return list(ctx, c, namespace, s.condition(roots), s.Limit,
		func(r Run) bool { return s.keeps(r, roots) })
}

// lackingAttributes names the selection's search attributes that the namespace lacks. Empty if that
// is unknown.
func lackingAttributes(ctx context.Context, a *cli.App, c client.Client,
	s *Selection) (names []string) {
	missing, taken, err := attributes.FindMissing(ctx, c, a.Connection.ResolvedNamespace)
	if err != nil {
		return nil
	}
	condition := s.condition(nil)
	for _, one := range attributes.Run {
		if _, other := taken[one.Name]; (other || slices.Contains(missing, one)) &&
			strings.Contains(condition, one.Name) {
			names = append(names, one.Name)
		}
	}
	return names
}

// waitingBelow returns the roots of the trees in which sub-agents wait for people.
func waitingBelow(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	page, err := c.ListWorkflow(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: MaxPage,
			Query: api.AttributeWaiting +
				" = true AND ExecutionStatus = 'Running' AND ParentWorkflowId IS NOT NULL"})
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, e := range page.GetExecutions() {
		roots = append(roots, cmp.Or(e.GetRootExecution().GetWorkflowId(),
			e.GetParentExecution().GetWorkflowId()))
	}
	slices.Sort(roots)
	return slices.Compact(roots), nil
}

// pointInTime parses a date, a date with a time, or an age.
func pointInTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, errors.New(
		"use a date (2026-01-31), a time (2026-01-31T08:00:00Z) or a duration ago (24h)")
}
