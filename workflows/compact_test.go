package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
)

// says makes the model answer once with the message and a number of input tokens.
func (l *lab) says(tokens int, m api.Message) {
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		return api.ModelResponse{Message: m, Stop: api.StopAnswer,
			Usage: api.Usage{InputTokens: tokens, OutputTokens: 1}}, nil
	})
}

// overflows makes the model fail once because the conversation is too long.
func (l *lab) overflows() {
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		return api.ModelResponse{}, &models.Error{Message: "too long", Overflow: true}
	})
}

// greets returns a turn with a call of greet; the name has n characters.
func greets(n int) api.Message {
	return api.Message{Calls: []api.Call{{Tool: "greet", Arguments: fmt.Sprintf(`{"name":"%s"}`,
		strings.Repeat("n", n))}}}
}

// windowed returns an agent whose model has a window of 1,000 tokens.
func windowed() *api.Agent {
	a := listedAgent()
	a.Model.Window = 1000
	return a
}

// shown describes the messages of a prompt: roles, and the calls that results answer.
func shown(p models.Prompt) string {
	var parts []string
	for _, m := range p.Messages {
		switch {
		case m.IsSummary():
			parts = append(parts, "summary")
		case m.CallID != "":
			parts = append(parts, m.CallID)
		default:
			parts = append(parts, string(m.Role))
		}
	}
	return strings.Join(parts, " ")
}

// A conversation near the window is summarized by a separate step that counts for the run's usage.
// The model then gets instructions, task, summary and the latest complete turns, in any process. A
// later compaction also summarizes the summary.
func TestCompaction_SummarizesNearTheWindow(t *testing.T) {
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			l := newLabOf(t, processes)
			for i := range 4 {
				l.says(100*(i+1), greets(100))
			}
			l.says(850, greets(100))
			l.says(300, api.Message{Text: "four were greeted"})
			l.says(200, greets(100))
			l.says(900, greets(100))
			l.says(300, api.Message{Text: "six were greeted"})
			l.says(200, api.Message{Text: "done"})
			l.runAgent(windowed(), "Greet them.")
			r := l.result()
			expect(t, "activities", l.ids(), []string{"turn-1", "1.1", "turn-2", "2.1", "turn-3",
				"3.1", "turn-4", "4.1", "turn-5", "5.1",
				"compact-1", "turn-6", "6.1", "turn-7", "7.1", "compact-2", "turn-8"})
			if r.Answer != "done" || r.Usage.Turns != 10 || r.Usage.InputTokens != 100+200+300+400+
				850+300+200+900+300+200 {
				t.Errorf("result: %+v", r)
			}
			older, after, again := l.prompts[5], l.prompts[6], l.prompts[8]
			if len(older.Older) != 8 || len(older.Tools) > 0 || len(older.Messages) != 2 {
				t.Errorf("the step that sums up was asked about %d messages with %d tools in %d",
					len(older.Older), len(older.Tools), len(older.Messages))
			}
			if text := older.Messages[1].Text; !strings.Contains(text, "Greet them.") ||
				strings.Contains(text, "5.1") || !strings.Contains(text,
				"<result of call 4.1>\nhello nnn") {
				t.Errorf("it reads %s", text)
			}
			if got := shown(after); got != "system user summary assistant 5.1" {
				t.Errorf("the model is shown %s", got)
			}
			if s := after.Messages[2]; s.Role != api.RoleUser || !strings.HasSuffix(s.Text,
				"\nfour were greeted") || !strings.Contains(s.Text, "8 earlier messages") {
				t.Errorf("the summary is %+v", s)
			}
			if got := again.Older; !got[0].IsSummary() || !strings.Contains(again.Messages[1].Text,
				"four were greeted") {
				t.Errorf("the second step that sums up was asked about %+v", got)
			}
			if got := shown(l.prompts[9]); got != "system user summary assistant 7.1" {
				t.Errorf("after the second one the model is shown %s", got)
			}
		})
	}
}

// Nothing is summarized if the window is unknown or far from full, or if the conversation would not
// become much shorter.
func TestCompaction_RunsOnlyIfUseful(t *testing.T) {
	for name, test := range map[string]struct {
		window, tokens int
		at             float64
	}{
		"unknown window":        {0, 5000, 0},
		"room left":             {1000, 700, 0},
		"room left by the file": {1000, 850, 0.95},
		"nothing older":         {1000, 950, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.says(test.tokens, greets(10))
			l.says(test.tokens, api.Message{Text: "done"})
			a := windowed()
			a.Model.Window, a.Model.CompactAt = test.window, test.at
			l.runAgent(a, "Go.")
			l.result()
			expect(t, "activities", l.ids(), []string{"turn-1", "1.1", "turn-2"})
		})
	}
}

// Its usage can end the run before another turn.
func TestCompaction_CountsForLimits(t *testing.T) {
	l := newLab(t)
	for range 3 {
		l.says(250, greets(100))
	}
	l.says(900, greets(100))
	l.says(600, api.Message{Text: "so far"})
	l.says(10, api.Message{Text: "stopped"})
	a := windowed()
	a.Limits.Tokens = 2000
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "tokens" || r.Answer != "stopped" {
		t.Errorf("result: %+v", r)
	}
	expect(t, "the last activities", l.ids()[8:], []string{"compact-1", "summary"})
}

// A step whose conversation is too long is repeated with a shorter one, also without a known
// window. If the summarizing step overflows, it gets less to read.
func TestOverflow_IsCompacted(t *testing.T) {
	l := newLab(t)
	for range 4 {
		l.says(10, greets(3000))
	}
	l.overflows()
	l.overflows() // the step that sums up
	l.says(10, api.Message{Text: "greeted"})
	l.says(10, api.Message{Text: "done"})
	l.runAgent(listedAgent(), "Go.")
	if r := l.result(); r.Answer != "done" || r.Usage.Turns != 6 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "the last activities", l.ids()[8:], []string{"turn-5", "compact-1", "compact-2",
		"turn-5"})
	if a, b := len(l.prompts[5].Messages[1].Text), len(l.prompts[6].Messages[1].Text); b > a*2/3 ||
		b < a/3 {
		t.Errorf("the summarizing step got %d bytes and then %d", a, b)
	}
	if got := shown(l.prompts[7]); got != "system user summary assistant 4.1" {
		t.Errorf("the model is shown %s", got)
	}
}

// The run ends at the limit "conversation" with what is known, or fails with the reason if even
// that is too long, after a few steps.
func TestOverflow_EndsTheRunIfItPersists(t *testing.T) {
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprint(ends), func(t *testing.T) {
			l := newLab(t)
			l.says(10, greets(10))
			for range 3 {
				l.overflows()
				l.says(10, api.Message{Text: "greeted"})
			}
			l.answers = slices.Delete(l.answers, 4, 5) // the summary alone is not summed up again
			l.answers = slices.Delete(l.answers, 5, 6)
			if ends {
				l.says(10, api.Message{Text: "as far as I got"})
			}
			for range 5 {
				l.overflows()
			}
			l.runAgent(listedAgent(), "Go.")
			if len(l.prompts) > 10 {
				t.Errorf("%d steps were made", len(l.prompts))
			}
			if ends {
				if r := l.result(); r.Limit != "conversation" || r.Answer != "as far as I got" {
					t.Errorf("result: %+v", r)
				}
				return
			}
			if err := l.failure(api.RunModelFailed, nil); err.Message() != "the summary at the limit of conversation failed: the conversation is longer than the model's window, and could not be made short enough" {
				t.Errorf("the run failed: %v", err)
			}
		})
	}
}

// A model that refuses to summarize, or has only empty answers, fails the run.
func TestCompaction_FailsWithTheModel(t *testing.T) {
	for reason, response := range map[string]api.ModelResponse{
		"the model declined to sum up the conversation: no":                        {Message: api.Message{Text: "no"}, Stop: api.StopRefusal},
		"the model was asked to sum up the conversation and answered with nothing": {},
	} {
		t.Run(reason, func(t *testing.T) {
			l := newLab(t)
			l.says(100, greets(300))
			l.says(100, greets(300))
			l.says(900, greets(300))
			for range 5 {
				l.answers = append(l.answers, func() (api.ModelResponse, error) {
					return response,
						nil
				})
			}
			l.runAgent(windowed(), "Go.")
			if err := l.failure(api.RunModelFailed, nil); err.Message() !=
				"the summing up of the conversation after turn 3 failed: "+reason {
				t.Errorf("the run failed: %v", err)
			}
		})
	}
}

// Results that fill the window are cut with a note, while the calls keep them whole. Without
// anything to summarize there is no such step.
func TestHugeTurn_IsCutForTheModel(t *testing.T) {
	l := newLab(t)
	l.says(100, api.Message{Calls: []api.Call{{Tool: "greet", Arguments: `{"name":"Ann"}`},
		greets(40_000).Calls[0], greets(20_000).Calls[0]}})
	l.says(200, api.Message{Text: "done"})
	l.runAgent(windowed(), "Go.")
	l.result()
	expect(t, "activities", slices.Sorted(slices.Values(l.ids())), []string{"1.1", "1.2", "1.3",
		"turn-1", "turn-2"})
	p := l.prompts[1]
	if got := shown(p); got != "system user assistant 1.1 1.2 1.3" {
		t.Errorf("the model is shown %s", got)
	}
	for i, want := range []string{"hello Ann ",
		"bytes are left out: the turn would not fit into your window",
		"bytes are left out: the turn"} {
		if text := p.Messages[3+i].Text; !strings.Contains(text, want) || len(text) > 6000 {
			t.Errorf("result %d is shown with %d bytes: %.100s", i+1, len(text), text)
		}
	}
	if c := p.Messages[2].Calls; len(c[1].Arguments) > 200 || !strings.Contains(c[1].Arguments,
		"left_out") || c[0].Arguments != `{"name":"Ann"}` {
		t.Errorf("the calls are shown as %.200v", c)
	}
}

// The prompt stays after an earlier conversation, also over continue-as-new. The shorter
// conversation and what is known of the window are continued.
func TestCompaction_KeepsThePromptOfTheRun(t *testing.T) {
	var earlier []api.Message
	for i := range 10 {
		earlier = append(earlier, api.Message{Role: api.RoleUser,
			Text: fmt.Sprint(i, strings.Repeat(" words", 50))})
	}
	encoded, err := codec.EncodeMessages(earlier)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	l.SetContinueAsNewSuggested(true)
	l.says(790, greets(200))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: windowed(), Prompt: "My own task."},
		encoded)
	next, continued := l.continued()
	if w := next.State.Window; w == nil || w.Size != 1000 || w.Tokens < 791 || w.Task != 11 ||
		w.Compactions != 0 {
		t.Fatalf("carried: %+v", next.State.Window)
	}
	next.State.Window.Tokens = 850

	second := newLab(t)
	second.says(300, api.Message{Text: "there were words"})
	second.says(300, greets(200))
	for range 2 {
		second.says(850, greets(200))
		second.says(300, api.Message{Text: "words, and a greeting"})
	}
	second.says(300, api.Message{Text: "done"})
	second.ExecuteWorkflow(api.AgentWorkflow, next, continued)
	second.result()
	expect(t, "the first activities", second.ids()[:2], []string{"compact-1", "turn-2"})
	if got := shown(second.prompts[1]); !strings.HasPrefix(got, "system summary") ||
		!strings.HasSuffix(got, " user assistant 1.1") {
		t.Errorf("the model is shown %s", got)
	}
	if got := shown(second.prompts[len(second.prompts)-1]); !strings.HasPrefix(got,
		"system user summary assistant") || !strings.HasSuffix(got, "assistant 4.1") {
		t.Errorf("at the end the model is shown %s", got)
	}
	for i, p := range second.prompts {
		if p.Older == nil && !slices.ContainsFunc(p.Messages,
			func(m api.Message) bool { return m.Text == "My own task." }) {
			t.Errorf("step %d is not shown the task: %s", i+1, shown(p))
		}
	}
}

// The scripted model's summary replaces what it can no longer read.
func TestCompaction_OfInlineSteps(t *testing.T) {
	a := agent(
		api.ScriptStep{Calls: []api.ScriptCall{{ID: "code", Tool: "echo",
			ArgumentsText: `{"value":"4711"}`}}},
		step(call("greet", `{"name":"`+strings.Repeat("a", 900)+`"}`)),
		step(call("greet", `{"name":"`+strings.Repeat("b", 900)+`"}`)),
		step(call("greet", `{"name":"`+strings.Repeat("c", 900)+`"}`)),
		step(call("greet", `{"name":"`+strings.Repeat("d", 900)+`"}`)),
		answer("the code is ${code}"))
	for _, lane := range []string{"", api.LaneInline} {
		for name, set := range map[string]func(){
			"known window":   func() { a.Model.Window, a.Model.Script.Value.Window = 1000, 0 },
			"unknown window": func() { a.Model.Window, a.Model.Script.Value.Window = 0, 1000 },
		} {
			t.Run(lane+" "+name, func(t *testing.T) {
				l := newLab(t)
				a.Model.Lane = lane
				set()
				l.runAgent(a, "Go.")
				if r := l.result(); r.Answer != "the code is 4711" || r.Usage.Turns <= 6 {
					t.Errorf("result: %+v", r)
				}
				if whole := l.conversation(); slices.ContainsFunc(whole,
					func(m api.Message) bool { return m.CallID == "1.1" }) {
					t.Error("the first result is still in the conversation")
				}
			})
		}
	}
}
