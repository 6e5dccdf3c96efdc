package main

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/stats"
)

// Tokens per solved run of an agent of which no run was solved are not told as 0, which would be the best there is.
func TestNoneSolved(t *testing.T) {
	t.Parallel()
	r := stats.Report{Runs: stats.RunCounts{All: 3, Solved: 1, Failed: 1, Open: 1}, Usage: api.Usage{Turns: 1, InputTokens: 50}, TokensPerSolvedRun: 50, Agents: []stats.AgentStats{
		{Name: "lost", Runs: stats.RunCounts{All: 1, Failed: 1}, Usage: api.Usage{InputTokens: 30}},
		{Name: "free", Runs: stats.RunCounts{All: 1, Solved: 1}},
	}}
	w := &strings.Builder{}
	writeAnalysis(w, palette{}, r)
	text := strings.Join(strings.Fields(w.String()), " ")
	for _, want := range []string{"1 solved, 1 failed, 1 still goes on", "50 in, 0 out, in 1 model step TPST", "lost 1 0 1 30 - $0.0000", "free 1 1 0 0 0 $0.0000"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, w)
		}
	}
}

// The end of a run tells what its checker said, in one line, also where that came to no verdict.
func TestCheckerIsTold(t *testing.T) {
	t.Parallel()
	for want, checked := range map[string]*api.Checked{
		"":                                       nil,
		"fits says that it is solved: six it is": {Tool: "fits", Solved: true, Reason: "six\nit is"},
		"fits says that it is not solved":        {Tool: "fits"},
		"fits gave no verdict: no form: $: must be one": {Tool: "fits", Problem: "no form:\n  $: must be one"},
	} {
		r := report{end: api.Event{Result: &api.RunResult{Checked: checked}}}
		if got := r.checked(); got != want {
			t.Errorf("%+v is told as %q, want %q", checked, got, want)
		}
	}
}

// Runs of a conversation have one id, so that their verdicts need those of the executions to be told apart.
func TestVerdictTable(t *testing.T) {
	t.Parallel()
	one := &api.EvaluatedResult{WorkflowID: "talk", RunID: "r1", Evaluation: "solved", EvaluatedBy: "end"}
	two := &api.EvaluatedResult{WorkflowID: "talk", RunID: "r2", Evaluation: "open", EvaluatedBy: "end"}
	for want, evaluated := range map[string][]*api.EvaluatedResult{
		"run verdict talk solved by its end":                            {one},
		"run run id verdict talk r1 solved by its end talk r2 not over": {one, two},
	} {
		if got := strings.Join(strings.Fields(evaluationTable(evaluated).text(palette{})), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
