package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

func (l *lab) runAgent(a *switchyard.Agent, prompt string) {
	l.ExecuteWorkflow(switchyard.AgentWorkflow, switchyard.RunInput{Agent: a, Prompt: prompt})
}

// TestAgentLoop proves the loop: one turn with calls of every fate, parallel and exclusive ones, each executed once as
// an activity under its own name and id, with results told to the model in the order of the calls, and the answer.
func TestAgentLoop(t *testing.T) {
	l := newLab(t)
	l.runAgent(agent(
		step(
			call("greet", `{"name":"Ann"}`),
			call("store", `{"text":"a"}`),
			call("broken", `{}`),
			call("greeet", `{}`),
			call("greet", `{"name":1,"tmes":2}`),
			call("greet", `{"name":`),
			call("store", `{"text":"b"}`),
			call("retired", `{"value":1}`),
			call("flaky", `{}`),
			call("needy", `{}`),
		),
		step(call("echo", `{"value":[1,2]}`)),
		answer("done"),
	), "Go.")
	r := l.result()
	if want := (switchyard.Usage{Turns: 3, Calls: 11, Failed: 6, InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens}); r.Usage != want || r.Usage.InputTokens == 0 {
		t.Errorf("usage: got %+v, want %+v", r.Usage, want)
	}
	if r.Outcome != switchyard.OutcomeAnswered || r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	executed := slices.Sorted(slices.Values(l.executed))
	expect(t, "executed", executed, []string{"1.1 greet", "1.2 store", "1.3 broken", "1.7 store", "1.9 flaky", "1.9 flaky", "2.1 echo"})
	expect(t, "stored", l.stored, []string{"a", "b"})

	want := []struct{ role, callID, text string }{
		{"system", "", "Test."}, {"user", "", "Go."}, {"assistant", "", ""},
		{"tool", "1.1", "hello Ann "},
		{"tool", "1.2", "1"},
		{"tool", "1.3", "ERROR execution_error: it is broken"},
		{"tool", "1.4", "Did you mean: greet"},
		{"tool", "1.5", "$.name: "},
		{"tool", "1.6", "ERROR validation_error"},
		{"tool", "1.7", "2"},
		{"tool", "1.8", "ERROR tool_not_active"},
		{"tool", "1.9", "now"},
		{"tool", "1.10", "ERROR precondition_failed"},
		{"assistant", "", ""}, {"tool", "2.1", "[1,2]"}, {"assistant", "", "done"},
	}
	got := l.conversation()
	if len(got) != len(want) {
		t.Fatalf("the conversation has %d messages, want %d: %+v", len(got), len(want), got)
	}
	for i, m := range got {
		if w := want[i]; string(m.Role) != w.role || m.CallID != w.callID || !strings.Contains(m.Text, w.text) {
			t.Errorf("message %d: got %s %s %q, want %+v", i, m.Role, m.CallID, m.Text, w)
		}
		if m.Failed != strings.HasPrefix(m.Text, "ERROR ") {
			t.Errorf("message %d is marked failed=%v: %q", i, m.Failed, m.Text)
		}
	}
}

// TestAgentInputs proves what activities are given: a tool its validated arguments, defaults among them, digest and
// origin; a model step no conversation, only digests of what is new since the last one.
func TestAgentInputs(t *testing.T) {
	l := newLab(t)
	l.ExecuteWorkflow(switchyard.AgentWorkflow, switchyard.RunInput{
		Agent:        agent(step(call("greet", `{"name":"Ann"}`), call("old", `{"value":7}`)), step(call("needy", `{}`)), answer("done")),
		Prompt:       "Go.",
		Conversation: "talk", Trace: "trace-1", Variables: map[string]any{"project": "apollo"},
	})
	l.result()
	var greet, needy switchyard.Execution
	var steps []string
	for _, s := range l.scheduled {
		switch s.tool {
		case "greet":
			greet = s.call
		case "needy":
			needy = s.call
		case switchyard.ModelActivity:
			steps = append(steps, fmt.Sprintf("%s turn=%d seen=%d new=%d", s.id, s.step.Turn, s.step.Seen, len(s.step.New)))
		}
	}
	expect(t, "model steps", steps, []string{"turn-1 turn=1 seen=2 new=0", "turn-2 turn=2 seen=2 new=3", "turn-3 turn=3 seen=5 new=2"})
	if string(greet.Arguments) != `{"name":"Ann","times":1}` || greet.Digest == "" {
		t.Errorf("greet got %s of the spec %q", greet.Arguments, greet.Digest)
	}
	o := needy.Origin
	if o.Conversation != "talk" || o.Trace != "trace-1" || o.Caller != (switchyard.Caller{Type: switchyard.CallerAgent, ID: "tester"}) || o.Variables["project"] != "apollo" {
		t.Errorf("origin: %+v", o)
	}
	if len(l.queries) != 0 {
		t.Errorf("one process asked the run %v, though it produced every message itself", l.queries)
	}
	if got := l.conversation()[4].Text; !strings.Contains(got, "tool old is deprecated") {
		t.Errorf("a call of a deprecated tool is answered %q", got)
	}
	if got := l.conversation()[6].Text; got != `{"project":"apollo"}` {
		t.Errorf("a tool sees the variables %s", got)
	}
}

// TestAgentOrder proves that parallel_first runs the shared calls of a lane before its exclusive ones, that the default
// does not, and that results come in the order of the calls either way.
func TestAgentOrder(t *testing.T) {
	for order, want := range map[switchyard.Order][]string{
		"":                            {"1.1 note", "1.2 greet", "1.3 note"},
		switchyard.OrderParallelFirst: {"1.2 greet", "1.1 note", "1.3 note"},
	} {
		l := newLab(t)
		a := agent(step(call("note", `{"text":"x"}`), call("greet", `{"name":"a"}`), call("note", `{"text":"y"}`)), answer("done"))
		a.Order = order
		l.runAgent(a, "Go.")
		l.result()
		expect(t, "order "+string(order), l.executed, want)
		var answered []string
		for _, m := range l.conversation() {
			if m.CallID != "" {
				answered = append(answered, m.CallID)
			}
		}
		expect(t, "results", answered, []string{"1.1", "1.2", "1.3"})
	}
}

// TestAgentLimits proves that each limit ends the run with one summary step without tools that answers with what is
// known, that the limit is named, and that no call runs beyond it.
func TestAgentLimits(t *testing.T) {
	greet := call("greet", `{"name":"Ann"}`)
	greeting := switchyard.Message{Calls: []switchyard.Call{{Tool: "greet", Arguments: greet.ArgumentsText}}}
	for _, test := range []struct {
		limit    string
		limits   switchyard.Limits
		ids      []string
		executed []string
	}{
		{"turns", switchyard.Limits{Turns: 2}, []string{"turn-1", "1.1", "turn-2", "2.1", "summary"}, []string{"1.1 greet", "2.1 greet"}},
		{"calls", switchyard.Limits{Calls: 1}, []string{"turn-1", "1.1", "summary"}, []string{"1.1 greet"}},
		{"tokens", switchyard.Limits{Tokens: 30}, []string{"turn-1", "1.1", "turn-2", "2.1", "summary"}, []string{"1.1 greet", "2.1 greet"}},
		{"cost", switchyard.Limits{Cost: 39.5}, []string{"turn-1", "1.1", "turn-2", "2.1", "summary"}, []string{"1.1 greet", "2.1 greet"}},
	} {
		t.Run(test.limit, func(t *testing.T) {
			l := newLab(t)
			a := toldAgent()
			a.Limits = test.limits
			for range len(test.ids) / 2 {
				l.tell(greeting)
			}
			l.tell(switchyard.Message{Text: "as far as I got"})
			l.runAgent(a, "Go.")
			r := l.result()
			if r.Outcome != switchyard.OutcomeLimit || r.Limit != test.limit || r.Answer != "as far as I got" {
				t.Errorf("result: %+v", r)
			}
			if want := float64(r.Usage.Turns) * 20; r.Usage.Cost != want {
				t.Errorf("the cost is %v, want %v", r.Usage.Cost, want)
			}
			expect(t, "activities", l.ids(), test.ids)
			expect(t, "executed", l.executed, test.executed)
			last := l.prompts[len(l.prompts)-1]
			if last.Limit != test.limit || len(last.Tools) != 0 {
				t.Errorf("the summary step was asked with limit %q and %d tools", last.Limit, len(last.Tools))
			}
			if first := l.prompts[0]; first.Limit != "" || len(first.Tools) != 9 {
				t.Errorf("the first step was asked with limit %q and %d tools, want the 9 that are not disabled", first.Limit, len(first.Tools))
			}
		})
	}
}

// TestAgentCallBudget proves that the calls of one turn beyond the budget are refused, the first ones admitted.
func TestAgentCallBudget(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("nosuch", `{}`), call("greet", `{"name":"a"}`), call("greet", `{"name":"b"}`), call("greet", `{"name":"c"}`)))
	a.Limits.Calls = 2
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "calls" || r.Usage.Failed != 2 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed", slices.Sorted(slices.Values(l.executed)), []string{"1.2 greet", "1.3 greet"})
	if m := l.conversation()[6]; m.CallID != "1.4" || !strings.Contains(m.Text, "budget_exceeded") {
		t.Errorf("the call beyond the budget is answered %+v", m)
	}
}

// TestAgentDefaultTurns proves that an agent without a limit of turns stops after the default number.
func TestAgentDefaultTurns(t *testing.T) {
	l := newLab(t)
	for range switchyard.DefaultTurns {
		l.tell(switchyard.Message{Calls: []switchyard.Call{{Tool: "nosuch"}}})
	}
	l.tell(switchyard.Message{Text: "stopped"})
	l.runAgent(toldAgent(), "Go.")
	if r := l.result(); r.Limit != "turns" || r.Usage.Turns != switchyard.DefaultTurns+1 {
		t.Errorf("result: %+v", r)
	}
}

// TestAgentWallTime proves that the wall time cancels the running calls, starts no waiting ones, and that the summary
// step sees a conversation in which every call is answered.
func TestAgentWallTime(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("greet", `{"name":"a"}`), call("hang", `{}`), call("note", `{"text":"never"}`)), answer("not reached"))
	a.Limits.WallTime = switchyard.Duration(time.Second)
	l.runAgent(a, "Go.")
	r := l.result()
	if r.Outcome != switchyard.OutcomeLimit || r.Limit != "wall_time" || r.Answer != "as far as I got" {
		t.Errorf("result: %+v", r)
	}
	if r.Usage.Calls != 3 || r.Usage.Failed != 2 {
		t.Errorf("usage: %+v", r.Usage)
	}
	expect(t, "stored", l.stored, nil)
	answered := l.answeredCalls()
	if !slices.Equal(answered, []string{"1.1 done", "1.2 cancelled", "1.3 cancelled"}) {
		t.Errorf("calls: %v", answered)
	}
}

// answeredCalls returns for each answered call of the conversation whether it is done, failed or cancelled.
func (l *lab) answeredCalls() []string {
	var list []string
	for _, m := range l.conversation() {
		switch {
		case m.CallID == "":
		case !m.Failed:
			list = append(list, m.CallID+" done")
		case strings.Contains(m.Text, string(switchyard.ErrCancelled)):
			list = append(list, m.CallID+" cancelled")
		default:
			list = append(list, m.CallID+" failed")
		}
	}
	return list
}

// TestAgentWallTimeInModelStep proves that the wall time also ends a model step that does not come back.
func TestAgentWallTimeInModelStep(t *testing.T) {
	l := newLab(t)
	stop := make(chan struct{})
	l.answers = append(l.answers, func() (switchyard.ModelResponse, error) {
		l.mu.Unlock() // the next step asks while this one hangs
		<-stop
		l.mu.Lock()
		return switchyard.ModelResponse{}, errors.New("too late")
	})
	l.tell(switchyard.Message{Text: "in time"})
	a := toldAgent()
	a.Limits.WallTime = switchyard.Duration(time.Second)
	l.runAgent(a, "Go.")
	close(stop)
	if r := l.result(); r.Limit != "wall_time" || r.Answer != "in time" {
		t.Errorf("result: %+v", r)
	}
}

// TestAgentCancelled proves that a cancelled run ends as cancelled: while a tool runs only after that call, with the
// waiting calls never started; while the model answers, and while the summary is made.
func TestAgentCancelled(t *testing.T) {
	for _, test := range []struct {
		at       string
		ids      []string
		executed []string
	}{
		{"hang", []string{"turn-1", "1.1"}, []string{"1.1 hang"}},
		{"turn-1", []string{"turn-1"}, nil},
		{"summary", []string{"turn-1", "1.1", "summary"}, []string{"1.1 greet"}},
	} {
		t.Run(test.at, func(t *testing.T) {
			l := newLab(t)
			first := call("hang", `{}`)
			if test.at == "summary" {
				first = call("greet", `{"name":"a"}`)
			}
			a := agent(step(first, call("note", `{"text":"never"}`)), answer("not reached"))
			if test.at == "summary" {
				a = agent(step(first))
				a.Limits.Turns = 1
			}
			l.cancelAt(test.at)
			l.runAgent(a, "Go.")
			l.cancelled()
			expect(t, "activities", l.ids(), test.ids)
			expect(t, "executed", l.executed, test.executed)
			expect(t, "stored", l.stored, nil)
		})
	}
}

// cancelAt cancels the run when the activity of that id has started, or when the tool hang runs. The test environment
// ends a cancelled activity for the workflow at once.
func (l *lab) cancelAt(id string) {
	if id == "hang" {
		l.hangs = l.CancelWorkflow
		return
	}
	watched := l.started
	l.SetOnActivityStartedListener(func(info *activity.Info, ctx context.Context, args converter.EncodedValues) {
		watched(info, ctx, args)
		if info.ActivityID == id {
			l.CancelWorkflow()
		}
	})
}

// TestAgentRefusal proves that a model that declines fails the run with its words and the usage so far.
func TestAgentRefusal(t *testing.T) {
	l := newLab(t)
	l.answers = append(l.answers, func() (switchyard.ModelResponse, error) {
		return switchyard.ModelResponse{Message: switchyard.Message{Text: "I would rather not."}, Stop: switchyard.StopRefusal}, nil
	})
	l.runAgent(toldAgent(), "Go.")
	var details switchyard.RunResult
	if app := l.failure(switchyard.RunRefused, &details); !strings.Contains(app.Message(), "I would rather not.") {
		t.Errorf("message: %s", app.Message())
	}
	if details.Usage.Turns != 1 {
		t.Errorf("details: %+v", details)
	}
}

// TestAgentModelFails proves that a passing failure of the model is tried again, that one for good fails the run at
// once, that a lasting one does after the attempts, each with what the model's side said.
func TestAgentModelFails(t *testing.T) {
	busy := func() (switchyard.ModelResponse, error) {
		return switchyard.ModelResponse{}, &activities.ModelError{Message: "busy", RetryAfter: time.Hour}
	}
	broken := func() (switchyard.ModelResponse, error) {
		return switchyard.ModelResponse{}, &activities.ModelError{Message: "wrong key", Permanent: true}
	}
	t.Run("passing", func(t *testing.T) {
		l := newLab(t)
		l.answers = append(l.answers, busy, busy)
		l.tell(switchyard.Message{Text: "fine"})
		begin := l.Now()
		l.runAgent(toldAgent(), "Go.")
		if r := l.result(); r.Answer != "fine" || r.Usage.Turns != 1 {
			t.Errorf("result: %+v", r)
		}
		if took := l.Now().Sub(begin); took < 2*time.Hour {
			t.Errorf("the model asked for two hours of patience and got %s", took)
		}
	})
	t.Run("permanent", func(t *testing.T) {
		l := newLab(t)
		l.answers = append(l.answers, broken)
		l.runAgent(toldAgent(), "Go.")
		var usage switchyard.Usage
		if app := l.failure(switchyard.RunModelFailed, &usage); !strings.Contains(app.Message(), "wrong key") || len(l.prompts) != 1 {
			t.Errorf("%d attempts, message: %s", len(l.prompts), app.Message())
		}
	})
	t.Run("lasting", func(t *testing.T) {
		l := newLab(t)
		a := toldAgent()
		a.Model.MaxAttempts = 3
		l.answers = append(l.answers, busy, busy, busy, busy)
		l.runAgent(a, "Go.")
		if app := l.failure(switchyard.RunModelFailed, nil); !strings.Contains(app.Message(), "busy") || len(l.prompts) != 3 {
			t.Errorf("%d attempts, message: %s", len(l.prompts), app.Message())
		}
	})
	t.Run("empty answer", func(t *testing.T) {
		l := newLab(t)
		a := toldAgent()
		a.Model.MaxAttempts = 2
		l.tell(switchyard.Message{}, switchyard.Message{})
		l.runAgent(a, "Go.")
		l.failure(switchyard.RunModelFailed, nil)
	})
}

// TestAgentInvalid proves that a run that cannot start fails at once, names every reason, and runs nothing.
func TestAgentInvalid(t *testing.T) {
	unknown := agent(answer("x"))
	unknown.Tools = []string{"greeet", "echo", "store2"}
	provider := agent(answer("x"))
	provider.Model.Provider = "nobody"
	for name, test := range map[string]struct {
		input switchyard.RunInput
		paths []string
	}{
		"no agent":         {switchyard.RunInput{}, []string{"$.agent"}},
		"unknown tools":    {switchyard.RunInput{Agent: unknown}, []string{"$.tools[0]", "$.tools[2]"}},
		"unknown provider": {switchyard.RunInput{Agent: provider}, []string{"$.model.provider"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.ExecuteWorkflow(switchyard.AgentWorkflow, test.input)
			var problems []switchyard.Problem
			app := l.failure(switchyard.RunInvalid, &problems)
			var paths []string
			for _, p := range problems {
				paths = append(paths, p.Path)
				if !strings.Contains(app.Message(), p.Message) {
					t.Errorf("message %q lacks %q", app.Message(), p.Message)
				}
			}
			expect(t, "problems", paths, test.paths)
			expect(t, "activities", l.ids(), nil)
		})
	}
}

// TestAgentMode proves that the run's mode of reading arguments goes before the agent's.
func TestAgentMode(t *testing.T) {
	lenient := step(call("greet", `{"name":"a","times":"2","more":1}`))
	for _, test := range []struct {
		run, agent switchyard.Mode
		executed   []string
	}{
		{"", "", nil},
		{"", switchyard.ModeLenient, []string{"1.1 greet"}},
		{switchyard.ModeLenient, switchyard.ModeStrict, []string{"1.1 greet"}},
		{switchyard.ModeStrict, switchyard.ModeLenient, nil},
	} {
		l := newLab(t)
		a := agent(lenient, answer("done"))
		a.Mode = test.agent
		l.ExecuteWorkflow(switchyard.AgentWorkflow, switchyard.RunInput{Agent: a, Prompt: "Go.", Mode: test.run})
		l.result()
		expect(t, fmt.Sprintf("run %q agent %q", test.run, test.agent), l.executed, test.executed)
	}
}

// TestAgentEarlierMessages proves that a run starts with the messages it is given, after the instructions and before
// the prompt, whether they are small enough for the pin step or have to be asked for in pages.
func TestAgentEarlierMessages(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": 300 << 10} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			var earlier []switchyard.Message
			for i := range 12 {
				earlier = append(earlier, switchyard.Message{Role: switchyard.RoleUser, Text: fmt.Sprint(i, strings.Repeat("x", size))})
			}
			l.tell(switchyard.Message{Text: "ok"})
			encoded, err := switchyard.EncodeMessages(earlier)
			if err != nil {
				t.Fatal(err)
			}
			l.ExecuteWorkflow(switchyard.AgentWorkflow, switchyard.RunInput{Agent: toldAgent(), Prompt: "And now?"}, encoded)
			l.result()
			want := slices.Concat([]switchyard.Message{{Role: switchyard.RoleSystem, Text: "Test."}}, earlier, []switchyard.Message{{Role: switchyard.RoleUser, Text: "And now?"}})
			got := l.prompts[0].Messages
			if !slices.EqualFunc(got, want, func(a, b switchyard.Message) bool { return a.Digest() == b.Digest() }) {
				t.Errorf("the model saw %d messages, want %d", len(got), len(want))
			}
			if asked := l.queries[switchyard.ConversationQuery] > 1; asked != (name == "large") {
				t.Errorf("%d pages were asked for", l.queries[switchyard.ConversationQuery])
			}
		})
	}
}

// TestAgentOverProcesses proves that a model step in a process that holds nothing of the run sees the whole conversation
// and the pinned tools, by query.
func TestAgentOverProcesses(t *testing.T) {
	l := newLabOf(t, 2)
	l.tell(
		switchyard.Message{Calls: []switchyard.Call{{Tool: "greet", Arguments: `{"name":"a"}`}, {Tool: "broken"}}},
		switchyard.Message{Calls: []switchyard.Call{{Tool: "greet", Arguments: `{"name":"b"}`}}},
		switchyard.Message{Text: "done"},
	)
	l.runAgent(toldAgent(), "Go.")
	l.result()
	whole := l.conversation()
	for i, upTo := range []int{2, 5, 7} {
		got := l.prompts[i].Messages
		if !slices.EqualFunc(got, whole[:upTo], func(a, b switchyard.Message) bool { return a.Digest() == b.Digest() }) {
			t.Errorf("step %d saw %+v", i+1, got)
		}
	}
	if l.queries[switchyard.SetupQuery] != 1 || l.queries[switchyard.ConversationQuery] != 3 {
		t.Errorf("queries: %v, want one for the setup and one per step", l.queries)
	}
}

// TestAgentContinuesAsNew proves that a run goes on in a fresh history with everything it knows, and that the second
// part ends as if there had been no cut.
func TestAgentContinuesAsNew(t *testing.T) {
	a := agent(step(call("store", `{"text":"a"}`), call("broken", `{}`)), step(call("echo", `{"value":"${s}"}`)), answer("done"))
	a.Model.Script.Value.Steps[0].Calls[0].ID = "s"
	a.Model.Script.Value.Steps[1].Calls[0] = switchyard.ScriptCall{Tool: "echo", Arguments: []byte(`{"value":"${s}"}`)}
	a.Limits = switchyard.Limits{Turns: 3, WallTime: switchyard.Duration(time.Hour)}
	l := newLab(t)
	l.SetContinueAsNewSuggested(true)
	began := l.Now()
	l.ExecuteWorkflow(switchyard.AgentWorkflow, switchyard.RunInput{Agent: a, Prompt: "Go.", Conversation: "talk", Trace: "t",
		Variables: map[string]any{"project": "apollo"}, Mode: switchyard.ModeLenient})
	next, earlier := l.continued()
	if next.Prompt != "" || next.Conversation != "talk" || next.Trace != "t" || next.Mode != switchyard.ModeLenient || next.Variables["project"] != "apollo" {
		t.Errorf("the next run's input is %+v", next)
	}
	whole := l.conversation()
	if got, err := switchyard.DecodeMessages(earlier); err != nil || len(got) != 5 || !slices.EqualFunc(got, whole, func(a, b switchyard.Message) bool { return a.Digest() == b.Digest() }) {
		t.Errorf("%d of %d messages are carried over, error %v", len(got), len(whole), err)
	}
	c := next.Carry
	if c == nil || c.Turn != 1 || c.Usage.Turns != 1 || c.Usage.Calls != 2 || c.Usage.Failed != 1 || c.Started.Before(began) || len(c.Pinned.Value.Catalog.Tools) != 10 {
		t.Fatalf("carried over: %+v", c)
	}

	second := newLab(t)
	second.ExecuteWorkflow(switchyard.AgentWorkflow, next, earlier)
	r := second.result()
	if r.Answer != "done" || r.Usage.Turns != 3 || r.Usage.Calls != 3 || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "activities of the second part", second.ids(), []string{"turn-2", "2.1", "turn-3"})
	if got := second.conversation(); len(got) != 8 || got[6].Text != "1" || got[0].Role != switchyard.RoleSystem {
		t.Errorf("conversation: %+v", got)
	}

	third := newLab(t)
	next.Carry.Started = third.Now().Add(-2 * time.Hour)
	third.ExecuteWorkflow(switchyard.AgentWorkflow, next, earlier)
	if r := third.result(); r.Limit != "wall_time" {
		t.Errorf("a run whose wall time passed before the cut ended with %+v", r)
	}
}

// continued returns the inputs of the run that continues this one.
func (l *lab) continued() (input switchyard.RunInput, earlier []byte) {
	l.t.Helper()
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		l.t.Fatalf("the run ended with %v, want it continued as new", l.GetWorkflowError())
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &input, &earlier); err != nil {
		l.t.Fatal(err)
	}
	if next.WorkflowType.Name != switchyard.AgentWorkflow {
		l.t.Errorf("it continues as %s", next.WorkflowType.Name)
	}
	return input, earlier
}
