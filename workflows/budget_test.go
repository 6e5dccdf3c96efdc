package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Its limits are the lower of its own and an equal share of what the run has left, with every
// admitted call of the turn counted, and its own turns.
func TestSubAgent_GetsAShareOfTheBudget(t *testing.T) {
	own := above("greet", step(call("greet", `{"name":"a"}`)), answer("ok"))
	own.Limits = api.Limits{Turns: 7, Calls: 3, Tokens: 1 << 30, Cost: 0.5,
		WallTime: api.Duration(time.Hour)}
	l, inputs := newTree(t, agentTool("free", above("greet", answer("ok"))),
		agentTool("bound", own))
	a := listedAgent()
	a.Tools = []string{"free", "bound", "greet"}
	a.Limits = api.Limits{Turns: 9, Calls: 20, Tokens: 1000, Cost: 101,
		WallTime: api.Duration(time.Minute)}
	l.modelAnswers(
		api.Message{Calls: []api.Call{{Tool: "free"}, {Tool: "greet", Arguments: `{"name":"b"}`},
			{Tool: "nosuch"}, {Tool: "bound"}}},
		api.Message{Calls: []api.Call{{Tool: "free"}}},
		api.Message{Text: "done"},
	)
	l.runAgent(a, "Go.")
	r := l.result()
	first, second, last := inputs["1.1"].Agent.Limits, inputs["1.4"].Agent.Limits,
		inputs["2.1"].Agent.Limits
	// A step costs 15 tokens and 20 dollars. Of 20 calls, three are admitted in the first turn,
	// which leaves 17 for two sub-agents.
	if want := (api.Limits{Calls: 8, Tokens: 492, Cost: 40.5}); limitsBut(first) != want ||
		first.WallTime <= 0 || first.WallTime > a.Limits.WallTime {
		t.Errorf("the first of two gets %+v, want %+v", first, want)
	}
	if want := (api.Limits{Turns: 7, Calls: 3, Tokens: 492,
		Cost: 0.5}); limitsBut(second) != want || second.WallTime > a.Limits.WallTime {
		t.Errorf("the second gets %+v, want %+v", second, want)
	}
	// The calls so far: four of the run and one of a sub-agent, and now one more. The tokens
	// include those of both sub-agents.
	if last.Calls != 20-4-1-1 || last.Tokens >= 1000-30 || last.Tokens < 1000-100 ||
		last.Cost != 61 {
		t.Errorf("the only one of the next turn gets %+v", last)
	}
	if r.Answer != "done" || r.Usage.Calls != 6 || r.Usage.Turns != 3 {
		t.Errorf("result: %+v", r)
	}
}

func limitsBut(l api.Limits) api.Limits {
	l.WallTime = 0
	return l
}

// The usage of sub-agents can end the run that called them.
func TestSubAgent_DoesNotStartWithoutBudget(t *testing.T) {
	for name, test := range map[string]struct {
		limits api.Limits
		texts  []string
		limit  string
	}{
		"tokens": {api.Limits{Tokens: 15},
			[]string{"1.1 ERROR budget_exceeded: the run's budget of tokens",
				"1.2 ERROR budget_exceeded"}, "tokens"},
		"cost": {api.Limits{Cost: 20},
			[]string{"1.1 ERROR budget_exceeded: the run's budget of cost",
				"1.2 ERROR budget_exceeded"}, "cost"},
		"calls": {api.Limits{Calls: 3},
			[]string{"1.1 done", "1.2 ERROR budget_exceeded: the run may make 3 more calls"},
			"calls"},
		"used": {api.Limits{Tokens: 25}, []string{"1.1 as far as I got", "1.2 as far as I got"},
			"tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newTree(t, agentTool("sub", above("greet", step(call("greet", `{"name":"a"}`)),
				answer("done"))))
			a := listedAgent()
			a.Tools, a.Limits = []string{"sub"}, test.limits
			l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "sub"}, {Tool: "sub"}}},
				api.Message{Text: "as far as I got"})
			l.runAgent(a, "Go.")
			r := l.result()
			if r.Outcome != api.OutcomeLimit || r.Limit != test.limit {
				t.Errorf("result: %+v", r)
			}
			for i, text := range l.callResults() {
				if !strings.HasPrefix(text, test.texts[i]) {
					t.Errorf("got %q, want %q", text, test.texts[i])
				}
			}
		})
	}
}

// It summarizes while its share suffices for that, so it does not exceed the share. One that stops
// at a limit reserves nothing. A first step that uses the whole share is summarized.
func TestSubAgent_ReservesBudgetForItsSummary(t *testing.T) {
	for name, test := range map[string]struct {
		limits api.Limits
		steps  int
	}{
		"tokens": {api.Limits{Tokens: 60}, 4},
		"cost":   {api.Limits{Cost: 80}, 4},
		"stops":  {api.Limits{Tokens: 60, OnReached: api.LimitStops}, 4},
		"first":  {api.Limits{Tokens: 10}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			own := listedAgent()
			own.Tools, own.Limits = []string{"greet"}, test.limits
			l, _ := newTree(t, agentTool("sub", own))
			// Each step takes 15 tokens and 20 dollars.
			l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "sub"}}})
			for range test.steps {
				l.modelAnswers(api.Message{Text: "so far",
					Calls: []api.Call{{Tool: "greet", Arguments: `{"name":"a"}`}}})
			}
			l.modelAnswers(api.Message{Text: "done"})
			a := listedAgent()
			a.Tools = []string{"sub"}
			l.runAgent(a, "Go.")
			if r := l.result(); r.Answer != "done" || r.Usage.InputTokens+
				r.Usage.OutputTokens != 15*(test.steps+2) {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// Agents that call each other in a circle end at the maximum depth, where the call is refused.
func TestSubAgent_DepthIsBounded(t *testing.T) {
	again := step(nameCalls("next", "loop", `{"topic":"again"}`))
	l, inputs := newTree(t, agentTool("loop", above("loop", again, answer("[${next}]"))))
	l.runAgent(above("loop", again, answer("${next}")), "Go.")
	r := l.result()
	if len(inputs) != api.MaxDepth || !strings.HasPrefix(r.Answer,
		"[[[[[ERROR precondition_failed: this run is a sub-agent 5 deep already") {
		t.Errorf("%d runs, answer %q", len(inputs), r.Answer)
	}
}

func nameCalls(id, tool, arguments string) api.ScriptCall {
	c := call(tool, arguments)
	c.ID = id
	return c
}
