package html

import (
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/value/display"
)

// ending returns the status of a run for people, and whether it is good, bad or neither. awaited is
// what the run waits for people to do.
func ending(
	s history.Summary,
	person *api.RunEvaluation,
	awaited []audit.Awaited,
) (text, tone string) {
	status := strings.ReplaceAll(audit.StatusText(s.Status, awaited), "_", " ")
	switch {
	case s.Closed.IsZero():
		return status, "wait"
	case s.Status != history.RunCompleted:
		return status, "bad"
	case s.Result == nil:
		return status, "good"
	}
	decision, _ := audit.Evaluate(s, person)
	return outcome(*s.Result, decision)
}

// awaited returns what a run of the page waits for people to do.
func (t *Timeline) awaited(run int) []audit.Awaited {
	if run == 0 && len(t.Awaited) > 0 {
		return t.Awaited
	}
	s := t.runs[run].summary
	return audit.Awaiting(len(s.Approvals) > 0, len(s.Questions) > 0)
}

// decision returns the line with the evaluation of the run; none for an open run.
func (t *Timeline) decision() [][2]string {
	return details(
		line("evaluation", audit.EvaluationText(audit.Evaluation(t.runs[0].summary, t.Person))),
	)
}

// outcome is ending for a completed run.
func outcome(r api.RunResult, decision audit.Solved) (text, tone string) {
	switch {
	case r.Limit != "":
		return "reached the limit of " + strings.ReplaceAll(r.Limit, "_", " "), "warn"
	case decision == audit.SolvedYes:
		return string(r.Outcome), "good"
	}
	return strings.ReplaceAll(string(r.Outcome), "_", " "), "warn"
}

// words describe the run in sentences.
func (t *Timeline) words(calls []shownCall) []string {
	s := t.runs[0].summary
	words := []string{howLong(s, t.Now), callText(calls)}
	if t.Incomplete {
		words = append(
			[]string{
				"This page is incomplete: the server no longer has the first histories of the run.",
			},
			words...)
	}
	words = append(words, usageText(s.Usage), runText(s, len(t.runs)-1, t.Gone))
	return nonEmpty(words)
}

// howLong says when a run began and how long it took.
func howLong(s history.Summary, now time.Time) string {
	began := "It started at " + s.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	if s.Closed.IsZero() {
		return began + " and had run for " + shortDuration(
			now.Sub(s.Started),
		) + " when this page was made."
	}
	return began + " and took " + shortDuration(s.Closed.Sub(s.Started)) + "."
}

// callText counts calls by status.
func callText(calls []shownCall) string {
	if len(calls) == 0 {
		return "It made no calls."
	}
	counts, retries := map[string]int{}, 0
	for _, c := range calls {
		counts[c.Status]++
		retries += max(c.Attempts-1, 0)
	}
	var parts []string
	for _, status := range []string{"completed", "failed", "refused", "cancelled", "withheld",
		"running"} {
		if n := counts[status]; n > 0 {
			parts = append(parts, display.Thousands(n)+" "+status)
		}
	}
	text := display.Plural(len(calls), "call") + ": " + strings.Join(parts, ", ")
	if len(parts) == 1 {
		text = display.Plural(
			len(calls),
			"call",
		) + ", " + strings.TrimPrefix(
			parts[0],
			display.Thousands(len(calls))+" ",
		)
		if len(calls) > 1 {
			text = display.Thousands(
				len(calls),
			) + " calls, all " + strings.TrimPrefix(
				parts[0],
				display.Thousands(len(calls))+" ",
			)
		}
	}
	if retries > 0 {
		text += "; " + display.Plural(retries, "retry")
	}
	return text + "."
}

// usageText says how many model steps, tokens and dollars a run used.
func usageText(u api.Usage) string {
	if u.Turns == 0 && u.InputTokens+u.OutputTokens == 0 {
		return ""
	}
	text := display.Plural(
		u.Turns,
		"model step",
	) + ": " + display.Thousands(
		u.InputTokens,
	) + " tokens in, " + display.Thousands(
		u.OutputTokens,
	) + " out"
	if u.Cost > 0 {
		text += ", for " + money(u.Cost)
	}
	return text + "."
}

// runText lists the other facts about a run.
func runText(s history.Summary, below, gone int) string {
	var parts []string
	if len(s.SubAgents) > 0 {
		text := display.Plural(len(s.SubAgents), "sub-agent") + " ran"
		if below == 0 {
			text += " (shown with starter timeline --tree)"
		}
		parts = append(parts, text)
	}
	if gone > 0 {
		parts = append(
			parts,
			fmt.Sprintf(
				"the calls of %s are missing, because their histories are deleted or there are too many",
				display.Plural(gone, "sub-agent"),
			),
		)
	}
	if n := len(s.Parts); n > 1 {
		parts = append(parts, fmt.Sprintf("it has %d executions", n))
	}
	if s.Parent != nil {
		parts = append(parts, "it is the sub-agent of call "+s.Parent.Call+" of "+s.Parent.WorkflowID)
	}
	if s.DryRun {
		parts = append(parts, "it was a dry run, which withholds calls with side effects")
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// usedText returns the usage of a run in short.
func usedText(u api.Usage) string {
	parts := []string{display.Plural(u.Calls, "call")}
	if n := u.InputTokens + u.OutputTokens; n > 0 {
		parts = append(parts, display.Thousands(n)+" tokens")
	}
	if u.Cost > 0 {
		parts = append(parts, money(u.Cost))
	}
	return strings.Join(parts, ", ")
}

// facts returns the IDs of a run.
func facts(s history.Summary) [][2]string {
	conversation := s.Conversation
	if conversation == s.WorkflowID {
		conversation = ""
	}
	return details(
		line("run", s.WorkflowID),
		line("conversation", conversation),
		line("started by", s.Caller.ID),
		line("task queue", s.TaskQueue),
	)
}
