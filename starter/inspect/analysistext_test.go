package inspect

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit/stats"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
)

// Tokens per solved run of an agent of which no run was solved are not told as 0, which would be
// the best there is.
func TestNoneSolved(t *testing.T) {
	t.Parallel()
	r := stats.Report{Runs: stats.RunCounts{All: 3, Solved: 1, Failed: 1, Open: 1},
		Usage: api.Usage{Turns: 1, InputTokens: 50}, TokensPerSolvedRun: 50,
		Agents: []stats.AgentStats{
			{Name: "lost", Runs: stats.RunCounts{All: 1, Failed: 1},
				Usage: api.Usage{InputTokens: 30}},
			{Name: "free", Runs: stats.RunCounts{All: 1, Solved: 1}},
		}}
	w := &strings.Builder{}
	writeAnalysis(w, cli.Palette{}, r)
	text := strings.Join(strings.Fields(w.String()), " ")
	for _, want := range []string{"1 solved, 1 failed, 1 running",
		"50 in, 0 out, in 1 model step solved 50 tokens per solved run", "lost 1 0 1 30 - $0.0000", "free 1 1 0 0 0 $0.0000"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, w)
		}
	}
}

// Runs of a conversation have one id, so that their verdicts need those of the executions to be
// told apart.
func TestEvaluationTable_NamesExecutionsOfOneConversation(t *testing.T) {
	t.Parallel()
	one := &api.EvaluatedResult{WorkflowID: "talk", RunID: "r1", Evaluation: "solved",
		EvaluatedBy: "end"}
	two := &api.EvaluatedResult{WorkflowID: "talk", RunID: "r2", Evaluation: "open",
		EvaluatedBy: "end"}
	for want, evaluated := range map[string][]*api.EvaluatedResult{
		"run evaluation talk solved (from its outcome)":                           {one},
		"run run id evaluation talk r1 solved (from its outcome) talk r2 running": {one, two},
	} {
		if got := strings.Join(strings.Fields(evaluationTable(evaluated).Text(cli.Palette{})),
			" "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestNoLane proves that the calls that came to no lane have a row with something in its first
// cell.
func TestNoLane(t *testing.T) {
	text := groupTable("lane", []stats.GroupStats{{}, {Name: "general"}}).Text(cli.Palette{})
	if !strings.Contains(text, "\n-            0 ") {
		t.Errorf("the table is\n%s", text)
	}
}
