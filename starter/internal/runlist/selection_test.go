package runlist

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit/history"
)

// Values may contain quotes.
func TestSelection_BuildsTheQueryOfItsFlags(t *testing.T) {
	const base = "WorkflowType IN ('switchyard/agent_run', 'switchyard/direct_call', 'switchyard/plan_run', 'switchyard/session_run') AND ExecutionStatus != 'ContinuedAsNew'"
	const top = base + " AND (ParentWorkflowId IS NULL OR TemporalScheduledById IS NOT NULL)"
	for _, test := range []struct {
		flags string
		maybe bool
		roots []string
		want  string
	}{
		{"", false, nil, top},
		{"--agent it's --caller ada --outcome limit_reached", false, nil, top +
			` AND SwitchyardAgent = 'it\'s' AND SwitchyardCaller = 'ada' AND SwitchyardOutcome = 'limit_reached'`},
		{"--outcome cancelled", false, nil, top +
			" AND (SwitchyardOutcome = 'cancelled' OR (SwitchyardOutcome IS NULL AND ExecutionStatus IN ('Canceled', 'Terminated')))"},
		{"--outcome failed", false, nil, top +
			" AND (SwitchyardOutcome = 'failed' OR (SwitchyardOutcome IS NULL AND ExecutionStatus IN ('Failed', 'TimedOut')))"},
		{"--conversation talk --query A=1", false, nil, top +
			" AND SwitchyardConversation = 'talk' AND (A=1)"},
		{"--tool refund", false, nil, top + " AND SwitchyardTools = 'refund'"},
		{"--tool refund", true, nil, top +
			" AND (SwitchyardTools IN ('refund', '...') OR SwitchyardTools IS NULL OR CloseTime IS NULL)"},
		{"--status cancelled", false, nil, top + " AND ExecutionStatus = 'Canceled'"},
		{"--status paused", false, nil, top + " AND CloseTime IS NULL"},
		{"--waiting", false, nil, top + " AND SwitchyardWaiting = true AND CloseTime IS NULL"},
		{`--conversation a\b --caller CORP\ada --agent "x`, false, nil, top +
			` AND SwitchyardConversation STARTS_WITH 'a' AND SwitchyardAgent STARTS_WITH ''` +
			` AND SwitchyardCaller STARTS_WITH 'CORP'`},
		{"--waiting", false, []string{`a\b`, "c", "d"}, top +
			" AND (SwitchyardWaiting = true OR (WorkflowId STARTS_WITH 'a' OR WorkflowId IN ('c', 'd'))) AND CloseTime IS NULL"},
		{"--waiting", false, []string{"a", "b"}, top +
			" AND (SwitchyardWaiting = true OR WorkflowId IN ('a', 'b')) AND CloseTime IS NULL"},
		{"--since 2026-01-31T08:00:00Z --until 2026-02-01T09:00:00+01:00", false, nil, top +
			" AND StartTime >= '2026-01-31T08:00:00Z' AND StartTime < '2026-02-01T08:00:00Z'"},
	} {
		var s Selection
		cmd := &cobra.Command{Use: "list"}
		s.Maybe = test.maybe
		s.Add(cmd.Flags(), 20)
		if err := cmd.ParseFlags(strings.Fields(test.flags)); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(cmd); err != nil {
			t.Errorf("%s: %v", test.flags, err)
		}
		if got := s.condition(test.roots); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.flags, got, test.want)
		}
	}
	running := Selection{status: "running"}
	if !running.keeps(Run{Status: history.RunRunning}, nil) ||
		running.keeps(Run{Status: history.RunPaused}, nil) {
		t.Error("a paused run counts as running")
	}
}

// Queries for some texts find runs that have others.
func TestSelection_KeepsRunsWithItsTextsOnly(t *testing.T) {
	of := func(conversation, agent, caller string) Run {
		return Run{ID: conversation, Conversation: conversation, Agent: agent, Caller: caller}
	}
	s := Selection{Conversation: `a\b`, agent: "x", caller: `CORP\ada`}
	for r, want := range map[*Run]bool{
		new(of(`a\b`, "x", `CORP\ada`)): true,
		new(of(`a\c`, "x", `CORP\ada`)): false,
		new(of(`a\b`, "y", `CORP\ada`)): false,
		new(of(`a\b`, "x", `CORP\bob`)): false,
	} {
		if s.keeps(*r, nil) != want {
			t.Errorf("%+v is kept: %t", r, !want)
		}
	}
	waiting, roots := Selection{waiting: true}, []string{`a\b`}
	if !waiting.keeps(Run{ID: "c", Waiting: true}, roots) ||
		!waiting.keeps(Run{ID: `a\b`}, roots) || waiting.keeps(Run{ID: "ab"}, roots) {
		t.Error("the runs that wait differ")
	}
}
