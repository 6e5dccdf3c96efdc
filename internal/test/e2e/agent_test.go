package e2e

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// The example agent answers with real tools: several turns, calls of the lanes general and serial,
// functions and programs, and one failed call that it recovers from.
func TestLibrarian_AnswersFromDocuments(t *testing.T) {
	program := testserver.Bin(t, "librarian")
	l := newLab(t)
	l.program(program, []string{"LIBRARY=../../.."}, "--tools", "../../../examples/librarian/tools",
		"--dir", "../../..")
	agent, err := agents.Load("../../../examples/librarian/agent.yaml", agents.Known{})
	if err != nil {
		t.Fatal(err)
	}
	run := l.run(api.AgentWorkflow, "librarian", api.RunInput{Agent: agent,
		Prompt: "How do I change a workflow?"})
	r := l.result(run)
	if r.Outcome != api.OutcomeAnswered || !strings.Contains(r.Answer,
		"docs/dev/changing-workflows.md") || strings.Contains(r.Answer, "${") {
		t.Errorf("result: %+v", r)
	}
	lanes, failed := map[string]int{}, 0
	for _, record := range l.records(run) {
		lanes[record.Lane]++
		if record.Status != api.CallCompleted {
			failed++
		}
	}
	if lanes[api.LaneGeneral] < 5 || lanes[api.LaneSerial] < 3 || failed != 1 || r.Usage.Turns < 4 {
		t.Errorf("calls by lane: %v, %d failed, in %d turns", lanes, failed, r.Usage.Turns)
	}
}
