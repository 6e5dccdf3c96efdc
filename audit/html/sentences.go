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

// describeEnd returns the status of a run for people, and whether it is good, bad or neither.
// awaited is
// what the run waits for people to do.
func describeEnd(s history.Summary, person *api.RunEvaluation, awaited []audit.Awaited) (text,
	tone string) {
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
	return audit.ListAwaited(len(s.Approvals) > 0, len(s.Questions) > 0)
}

// decision returns the line with the evaluation of the run; none for an open run.
func (t *Timeline) decision() [][2]string {
	text := audit.EvaluationText(audit.Evaluation(t.runs[0].summary, t.Person))
	return details(line("evaluation", text))
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
func (t *Timeline) words(rows []row) []string {
	s, first := t.runs[0].summary, ""
	if t.Incomplete {
		first = "This page is incomplete: the server no longer has the first histories of the run."
	}
	return nonEmpty([]string{first, howLong(s, t.Now), callText(rows), usageText(s.Usage),
		runText(s, len(t.runs)-1, t.Gone)})
}

// howLong says when a run began and how long it took.
func howLong(s history.Summary, now time.Time) string {
	began := "It started at " + s.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	if s.Closed.IsZero() {
		return began + " and had run for " + shortDuration(now.Sub(s.Started)) +
			" when this page was made."
	}
	return began + " and took " + shortDuration(s.Closed.Sub(s.Started)) + "."
}

// callText counts calls by status.
func callText(rows []row) string {
	counts, calls, retries := map[string]int{}, 0, 0
	for _, r := range rows {
		if r.Kind == "call" {
			calls++
			counts[r.status]++
			retries += max(r.record.Attempts-1, 0)
		}
	}
	if calls == 0 {
		return "It made no calls."
	}
	var parts []string
	for _, status := range []string{"completed", "failed", "refused", "cancelled", "withheld",
		"running"} {
		if n := counts[status]; n > 0 {
			parts = append(parts, display.Thousands(n)+" "+status)
		}
	}
	text := display.Plural(calls, "call") + ": " + strings.Join(parts, ", ")
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
	u.Calls = 0
	return joined(display.Plural(u.Turns, "model step"), usedText(u)) + "."
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
		parts = append(parts, "the calls of "+display.Plural(gone, "sub-agent")+
			" are missing, because their histories are deleted or there are too many")
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

// usedText returns the usage of a run or a model step in short.
func usedText(u api.Usage) string {
	calls, tokens, cost := "", "", ""
	if u.Calls > 0 {
		calls = display.Plural(u.Calls, "call")
	}
	if u.InputTokens+u.OutputTokens > 0 {
		tokens = display.Thousands(u.InputTokens) + " tokens in, " +
			display.Thousands(u.OutputTokens) + " out"
	}
	if u.Cost > 0 {
		cost = money(u.Cost)
	}
	return listed(calls, tokens, cost)
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
