package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/payloads"
)

func asked(run, id, text, schema string) audit.RunQuestion {
	return audit.RunQuestion{WorkflowID: run, Question: api.Question{ID: id, Call: "1.1", Tool: "ask", Text: text, Schema: []byte(schema)}}
}

// TestLiveQuestions proves that a live view shows open questions below the calls, those of sub-agents too, each with the
// command that answers it, within the height that there is; and that they go when they are closed.
func TestLiveQuestions(t *testing.T) {
	v := tracker{}
	own := asked("demo", "1.1", "Shall I\n\x1b[2Jgo on?", "")
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, e := range []api.Event{
		{Type: api.EventStepCompleted, Turn: 1, Step: &api.ModelResponse{Message: api.Message{Calls: []api.Call{{ID: "1.1", Tool: "ask", Arguments: "{}"}}}}},
		{Type: api.EventToolStarted, Turn: 1, CallID: "1.1", Tool: "ask", Summary: "ask", Time: now, WorkflowID: "demo"},
		{Type: api.EventQuestionAsked, Turn: 1, CallID: "1.1", WorkflowID: "demo", Question: &own.Question},
	} {
		v.event(e)
	}
	v.pending([]audit.Running{{Kind: audit.KindCall, ID: "1.1", Tool: "ask", State: audit.StateRunning}})
	v.below = []audit.RunQuestion{asked("demo/1.2", "1.1", "And I?", `{"type":"object"}`)}
	want := []string{"turn 1 · say", "  * 1.1 ask · waits for an answer", "? 1.1 Shall I  [2Jgo on?", "  starter answer demo 1.1 --text TEXT",
		"? 1.1 And I?", "  starter answer demo/1.2 1.1 --value JSON"}
	got := v.live(now, "*", 20)
	want[0] = got[0]
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := v.live(now, "*", 6); len(got) > 6 || !slices.Contains(got, "  starter answer demo 1.1 --text TEXT") || strings.Contains(strings.Join(got, "\n"), "And I?") {
		t.Errorf("in a small terminal: %q", got)
	}
	if got := v.rest(now); got[len(got)-1] != want[5] {
		t.Errorf("at the view's end: %q", got)
	}
	v.event(api.Event{Type: api.EventQuestionClosed, Turn: 1, CallID: "1.1", Question: &own.Question})
	v.below = nil
	if got := v.questionLines(20); len(got) > 0 {
		t.Errorf("closed questions are shown: %q", got)
	}
}

// TestHowToAnswer proves that the command that is shown for a question can be pasted, whatever the run's id, says
// which form the answer has, and leads to the same server.
func TestHowToAnswer(t *testing.T) {
	for _, test := range []struct {
		connection        connectionFlags
		run, schema, want string
	}{
		{connectionFlags{}, "demo-1", "", "starter answer demo-1 1.1 --text TEXT"},
		{connectionFlags{}, "demo-1/2.1", `{"type":"string","enum":["a"]}`, "starter answer demo-1/2.1 1.1 --text TEXT"},
		{connectionFlags{}, "demo-1", `{"type":["string","null"]}`, "starter answer demo-1 1.1 --value JSON"},
		{connectionFlags{}, "demo-1", `{"anyOf":[]}`, "starter answer demo-1 1.1 --value JSON"},
		{connectionFlags{}, "it's $HOME", "", `starter answer 'it'\''s $HOME' 1.1 --text TEXT`},
		{connectionFlags{address: "127.0.0.1:9", namespace: "default"}, "demo-1", "", "starter answer demo-1 1.1 --address 127.0.0.1:9 --text TEXT"},
		{connectionFlags{namespace: "my team", profile: "prod", apiKey: "secret"}, "demo-1", "", "starter answer demo-1 1.1 --namespace 'my team' --profile prod --text TEXT"},
		{connectionFlags{payloads: payloads.Config{Keys: "my keys", Compression: payloads.CompressionNone}}, "demo-1", "",
			"starter answer demo-1 1.1 --payload-keys 'my keys' --payload-compression none --text TEXT"},
	} {
		if got := test.connection.reach().howToAnswer(asked(test.run, "1.1", "?", test.schema)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestChoose proves which question an answer is for: the one that is named, also in a sub-agent's run, the only one, or
// one that is open no more, about which the run itself knows best; and that nothing is guessed.
func TestChoose(t *testing.T) {
	open := []audit.RunQuestion{asked("demo", "1.1", "?", ""), asked("demo/1.2", "1.1", "?", ""), asked("demo/1.2", "2.1", "?", ""), asked("demo/1.3", "2.1", "?", "")}
	for _, test := range []struct {
		name, question string
		open           []audit.RunQuestion
		run, chosen    string
		code           int
	}{
		{name: "the run's own", question: "1.1", open: open, run: "demo", chosen: "1.1"},
		{name: "a sub-agent's", question: "2.1", open: open[:3], run: "demo/1.2", chosen: "2.1"},
		{name: "that of several", question: "2.1", open: open, code: exitUsage},
		{name: "closed", question: "0.1", open: open, run: "demo", chosen: "0.1"},
		{name: "the only one", open: open[:1], run: "demo", chosen: "1.1"},
		{name: "the only one of a sub-agent", open: open[1:2], run: "demo/1.2", chosen: "1.1"},
		{name: "none", code: exitFailed},
		{name: "one of many", open: open, code: exitUsage},
	} {
		r := api.Reply{Question: test.question}
		run, err := choose(&runReference{workflowID: "demo"}, test.open, &r, reach{})
		if err != nil {
			if own, ok := err.(*exitError); !ok || own.code != test.code {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if run.workflowID != test.run || r.Question != test.chosen || test.code != 0 {
			t.Errorf("%s: question %s of %s", test.name, r.Question, run.workflowID)
		}
	}
}
