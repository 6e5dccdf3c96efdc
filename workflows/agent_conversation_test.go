package workflows_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// They follow the instructions and precede the prompt, whether they fit into the pin step or have
// to be queried in pages.
func TestAgent_StartsWithEarlierMessages(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": 300 << 10} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			var earlier []api.Message
			for i := range 12 {
				earlier = append(earlier, api.Message{Role: api.RoleUser,
					Text: fmt.Sprint(i, strings.Repeat("x", size))})
			}
			l.modelAnswers(api.Message{Text: "ok"})
			encoded, err := codec.EncodeMessages(earlier)
			if err != nil {
				t.Fatal(err)
			}
			l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: listedAgent(),
				Prompt: "And now?"}, encoded)
			l.result()
			want := slices.Concat([]api.Message{{Role: api.RoleSystem, Text: "Test."}}, earlier,
				[]api.Message{{Role: api.RoleUser, Text: "And now?"}})
			got := l.prompts[0].Messages
			if !slices.EqualFunc(got, want,
				func(a, b api.Message) bool { return a.Digest() == b.Digest() }) {
				t.Errorf("the model saw %d messages, want %d", len(got), len(want))
			}
			if asked := l.queries[api.ConversationQuery] > 1; asked != (name == "large") {
				t.Errorf("%d pages were asked for", l.queries[api.ConversationQuery])
			}
		})
	}
}

// What a run of another run is to begin with is not dropped by a worker that lacks the feature.
func TestAgent_RefusesWhatNoFeatureOpens(t *testing.T) {
	for name, in := range map[string]api.RunInput{
		"beginning": {Beginning: &api.Beginning{Turn: 1}},
		"feature":   {Features: api.Features{"unknown": []byte(`{}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			in.Agent, in.Prompt = listedAgent(), "And now?"
			l.ExecuteWorkflow(api.AgentWorkflow, in, nil)
			var problems []api.Problem
			if l.failure(api.RunInvalid, &problems); len(problems) != 1 ||
				problems[0].Path != "$.features" {
				t.Errorf("problems: %+v", problems)
			}
		})
	}
}

// The run continues with its whole state, and its second part ends as an undivided run does.
func TestAgent_ContinuesAsNew(t *testing.T) {
	a := agent(step(call("store", `{"text":"a"}`), call("broken", `{}`)),
		step(call("echo", `{"value":"${s}"}`)), answer("done"))
	a.Model.Script.Value.Steps[0].Calls[0].ID = "s"
	a.Model.Script.Value.Steps[1].Calls[0] = api.ScriptCall{Tool: "echo",
		Arguments: []byte(`{"value":"${s}"}`)}
	a.Limits = api.Limits{Turns: 3, WallTime: api.Duration(time.Hour)}
	l := newLab(t)
	l.SetContinueAsNewSuggested(true)
	began := l.Now()
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go.", Conversation: "talk",
		Trace:     "t",
		Variables: map[string]any{"project": "apollo"}, Mode: api.ModeLenient})
	next, earlier := l.continued()
	if next.Prompt != "" || next.Conversation != "talk" || next.Trace != "t" ||
		next.Mode != api.ModeLenient || next.Variables["project"] != "apollo" {
		t.Errorf("the next run's input is %+v", next)
	}
	whole := l.conversation()
	if got, err := codec.DecodeMessages(earlier); err != nil || len(got) != 5 ||
		!slices.EqualFunc(got, whole,
			func(a, b api.Message) bool { return a.Digest() == b.Digest() }) {
		t.Errorf("%d of %d messages are carried over, error %v", len(got), len(whole), err)
	}
	c := next.State
	if c == nil || c.Turn != 1 || c.Usage.Turns != 1 || c.Usage.Calls != 2 || c.Usage.Failed != 1 ||
		c.Started.Before(began) || len(c.Pinned.Value.Catalog.Tools) != 10 {
		t.Fatalf("carried over: %+v", c)
	}

	next.State.Run = "the-first-run"
	second := newLab(t)
	second.ExecuteWorkflow(api.AgentWorkflow, next, earlier)
	r := second.result()
	if r.Answer != "done" || r.Usage.Turns != 3 || r.Usage.Calls != 3 || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "activities of the second part", second.ids(), []string{"turn-2", "2.1", "turn-3"})
	if o := second.scheduled[1].call.Origin; o.Run != "the-first-run" || o.Conversation != "talk" ||
		o.Variables["project"] != "apollo" {
		t.Errorf("calls of the second part have the origin %+v", o)
	}
	if got := second.conversation(); len(got) != 8 || got[6].Text != "1" ||
		got[0].Role != api.RoleSystem {
		t.Errorf("conversation: %+v", got)
	}

	third := newLab(t)
	next.State.Started = third.Now().Add(-2 * time.Hour)
	third.ExecuteWorkflow(api.AgentWorkflow, next, earlier)
	if r := third.result(); r.Limit != "wall_time" {
		t.Errorf("a run whose wall time passed before the cut ended with %+v", r)
	}
}

// A run moves to another version of its deployment after a turn, as a new execution that starts on
// that version, unless its conversation would have to be shortened.
func TestAgent_MovesToAnotherVersionAfterATurn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prompt string
		// unused is the rest of the script, which the next execution's input has compressed.
		unused string
		moves  bool
	}{{"short", "Go.", "", true}, {"long", noise(t, 900<<10), "", false},
		{"compressed", "Go.", strings.Repeat("a", 2<<20), false}} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.SetTargetWorkerDeploymentVersionChanged(true)
			l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: tt.prompt,
				Agent: agent(step(call("store", `{"text":"a"}`)), answer("done"),
					answer(tt.unused))})
			if !tt.moves {
				if r := l.result(); r.Answer != "done" || r.Usage.Turns != 2 {
					t.Errorf("result: %+v", r)
				}
				return
			}
			next, _ := l.continued()
			if next.State == nil || next.State.Turn != 1 {
				t.Errorf("the next execution begins with %+v", next.State)
			}
			moved, _ := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
			if moved.InitialVersioningBehavior !=
				workflow.ContinueAsNewVersioningBehaviorAutoUpgrade {
				t.Errorf("the next execution starts as %v", moved.InitialVersioningBehavior)
			}
		})
	}
}

// continued returns the inputs of the continuing run.
func (l *lab) continued() (input api.RunInput, earlier []byte) {
	l.t.Helper()
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		l.t.Fatalf("the run ended with %v, want it continued as new", l.GetWorkflowError())
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &input,
		&earlier); err != nil {
		l.t.Fatal(err)
	}
	if next.WorkflowType.Name != api.AgentWorkflow {
		l.t.Errorf("it continues as %s", next.WorkflowType.Name)
	}
	return input, earlier
}

// A conversation that does not fit into a new execution is summarized, because the server would
// refuse the payload forever. If the rest is still too long, the run ends with what it knows.
func TestAgent_CompactsBeforeItContinues(t *testing.T) {
	for _, rest := range []int{0, 2 * api.MaxPayload} {
		a := agent(step(call("store", `{"text":"a"}`)), answer("done"))
		a.Model.Script.Value.Summary = "too long"
		a.Instructions = noise(t, rest)
		earlier, err := codec.EncodeMessages([]api.Message{{Role: api.RoleUser,
			Text: noise(t, api.MaxPayload)},
			{Role: api.RoleUser, Text: noise(t, api.MaxPayload)}})
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t)
		l.SetContinueAsNewSuggested(true)
		l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."}, earlier)
		third := "compact-1"
		if rest > 0 {
			third = "summary" // no conversation fits beside the agent
		}
		expect(t, "the first activities", l.ids()[:3], []string{"turn-1", "1.1", third})
		if rest > 0 {
			if r := l.result(); r.Outcome != api.OutcomeLimit || r.Limit != "conversation" ||
				r.Answer != "too long" {
				t.Errorf("result: %+v", r)
			}
			continue
		}
		next, continued := l.continued()
		if len(continued) > api.MaxPayload/2 || next.State.Window.Compactions != 1 ||
			next.State.Usage.Turns != 2 {
			t.Errorf("%d bytes are carried, with %+v", len(continued), next.State)
		}
		second := newLab(t)
		second.ExecuteWorkflow(api.AgentWorkflow, next, continued)
		if r := second.result(); r.Answer != "done" || r.Usage.Turns != 3 {
			t.Errorf("result: %+v", r)
		}
	}
}

// A conversation of many megabytes is summarized before it is continued, however small its
// compressed form is. Control characters take six bytes each as JSON.
func TestAgent_CompactsConversationsTooLargeToDecode(t *testing.T) {
	for name, test := range map[string]struct{ message, prompt string }{
		"many characters": {strings.Repeat("the same line\n", 100_000), "Go."},
		"many escaped characters": {strings.Repeat("\x01", 405_000),
			strings.Repeat("\x01", 405_000)},
	} {
		t.Run(name, func(t *testing.T) {
			earlier, err := codec.EncodeMessages(slices.Repeat([]api.Message{{Role: api.RoleUser,
				Text: test.message}}, 13))
			if err != nil {
				t.Fatal(err)
			}
			l := newLab(t)
			l.SetContinueAsNewSuggested(true)
			l.ExecuteWorkflow(api.AgentWorkflow,
				api.RunInput{Agent: agent(step(call("store", `{"text":"a"}`)), answer("done")),
					Prompt: test.prompt}, earlier)
			expect(t, "activities", l.ids(), []string{"turn-1", "1.1", "compact-1"})
			_, continued := l.continued()
			if messages, err := codec.DecodeMessages(continued); err != nil || len(messages) > 5 {
				t.Errorf("%d messages are carried, %v", len(messages), err)
			}
		})
	}
}

// noise returns about n bytes of text that cannot be compressed.
func noise(t *testing.T, n int) string {
	t.Helper()
	data := make([]byte, n)
	if _, err := rand.Read(data); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}
