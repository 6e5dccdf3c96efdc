package terminal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

func asked(run, id, text, schema string) audit.RunQuestion {
	return audit.RunQuestion{WorkflowID: run, Question: api.Question{ID: id, Call: "1.1",
		Tool: "ask", Text: text, Schema: []byte(schema)}}
}

// Questions, also of sub-agents, are below the calls, each with the command that answers it, within
// the height of the window. They disappear when they are closed.
func TestLiveView_ShowsOpenQuestions(t *testing.T) {
	v := Tracker{}
	own := asked("demo", "1.1", "Shall I\n\x1b[2Jgo on?", "")
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, e := range []api.Event{
		{Type: api.EventStepCompleted, Turn: 1,
			Step: &api.ModelResponse{Message: api.Message{Calls: []api.Call{{ID: "1.1", Tool: "ask",
				Arguments: "{}"}}}}},
		{Type: api.EventToolStarted, Turn: 1, CallID: "1.1", Tool: "ask", Summary: "ask", Time: now,
			WorkflowID: "demo"},
		{Type: api.EventQuestionAsked, Turn: 1, CallID: "1.1", WorkflowID: "demo",
			Question: &own.Question},
	} {
		v.event(e)
	}
	v.updateRunning([]audit.Running{{Kind: audit.KindCall, ID: "1.1", Tool: "ask",
		State: audit.StateRunning}})
	v.childQuestions = []audit.RunQuestion{asked("demo/1.2", "1.1", "And I?", `{"type":"object"}`)}
	want := []string{"turn 1 · say", "  * 1.1 ask · waits for an answer",
		"? 1.1 Shall I  [2Jgo on?", "  starter answer demo 1.1 --text TEXT",
		"? 1.1 And I?", "  starter answer demo/1.2 1.1 --value JSON"}
	got := v.live(now, "*", 20)
	want[0] = got[0]
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := v.live(now, "*", 6); len(got) > 6 ||
		!slices.Contains(got, "  starter answer demo 1.1 --text TEXT") ||
		strings.Contains(strings.Join(got, "\n"), "And I?") {
		t.Errorf("in a small terminal: %q", got)
	}
	if got := v.rest(now); got[len(got)-1] != want[5] {
		t.Errorf("at the view's end: %q", got)
	}
	v.event(api.Event{Type: api.EventQuestionClosed, Turn: 1, CallID: "1.1",
		Question: &own.Question})
	v.childQuestions = nil
	if got := v.questionLines(20); len(got) > 0 {
		t.Errorf("closed questions are shown: %q", got)
	}
}
