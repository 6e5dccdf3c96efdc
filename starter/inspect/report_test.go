package inspect

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit/stats"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
)

// Zero would be the best possible value.
func TestTokensPerSuccessfulRun_AreUnknownWithoutSuccessfulRuns(t *testing.T) {
	t.Parallel()
	r := stats.Report{Runs: stats.RunCounts{All: 3, Successful: 1, Failed: 1, Open: 1,
		Mistyped: 1},
		Usage: api.Usage{Turns: 1, InputTokens: 50}, TokensPerSuccessfulRun: 50,
		Agents: []stats.AgentStats{
			{Name: "lost", Runs: stats.RunCounts{All: 1, Failed: 1},
				Usage: api.Usage{InputTokens: 30}},
			{Name: "free", Runs: stats.RunCounts{All: 1, Successful: 1}},
		}}
	w := &strings.Builder{}
	writeReport(w, cli.Palette{}, r)
	text := strings.Join(strings.Fields(w.String()), " ")
	for _, want := range []string{"1 successful, 1 failed, 1 running; 1 mistyped call not counted",
		"50 in, 0 out, in 1 model step success 50 tokens per successful run", "lost 1 0 1 30 - $0.0000", "free 1 1 0 0 0 $0.0000"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, w)
		}
	}
}

// The first cell of the row is not empty.
func TestCallsWithoutLane_HaveARow(t *testing.T) {
	text := groupTable("lane", []stats.GroupStats{{}, {Name: "general"}}).Text(cli.Palette{})
	if !strings.Contains(text, "\n-            0 ") {
		t.Errorf("the table is\n%s", text)
	}
}
