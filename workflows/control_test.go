package workflows_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"go.temporal.io/sdk/temporal"
)

func message(text string) api.Sent { return api.Sent{Text: text, By: "ada"} }

// refusal returns the type of an update's refusal; empty if it was accepted.
func (u *update) refusal(t *testing.T) api.ControlErrorType {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := u.Get(ctx, nil)
	if err == nil {
		return ""
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	var e api.ControlError
	if !ok || app.Details(&e) != nil || e.Message != app.Message() {
		t.Fatalf("the update ended with %v", err)
	}
	return e.Type
}

// transcript lists a conversation: role and text of each message.
func transcript(messages []api.Message) []string {
	var list []string
	for _, m := range messages {
		line := string(m.Role)
		if m.Text != "" {
			line += " " + m.Text
		}
		list = append(list, line)
	}
	return list
}

// A message during calls follows all their results. A message while the model writes its answer
// causes another turn. The same message, by update or by signal, counts once.
func TestSend_AddsMessagesBeforeTheNextStep(t *testing.T) {
	l := newLab(t)
	l.calls = func(context.Context) {
		l.update(api.SendMessageUpdate, "one", message("during calls"))
		l.SignalWorkflow(api.SendMessageSignal, api.Sent{ID: "one", Text: "during calls",
			By: "ada"})
		l.SignalWorkflow(api.SendMessageSignal, api.Sent{ID: "two", Text: "by signal", By: "ada"})
		l.SignalWorkflow(api.SendMessageSignal, api.Sent{ID: "three", Text: " ", By: "ada"})
	}
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "echo", Arguments: `{"value":1}`},
		{Tool: "broken", Arguments: `{}`}}})
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		l.update(api.SendMessageUpdate, "four", message("wait"))
		return api.ModelResponse{Message: api.Message{Text: "too early"}, Stop: api.StopAnswer}, nil
	})
	l.modelAnswers(api.Message{Text: "now done"})
	l.runAgent(listedAgent(), "Go.")
	if r := l.result(); r.Answer != "now done" || r.Usage.Turns != 3 {
		t.Errorf("result: %+v", r)
	}
	messages := l.prompts[2].Messages
	for i := range messages {
		messages[i].Text, _, _ = strings.Cut(messages[i].Text, "\n")
	}
	expect(t, "messages of the model", transcript(messages), []string{"system Test.", "user Go.", "assistant",
		"tool 1", "tool ERROR execution_error: it is broken", "user during calls",
		"user by signal", "assistant too early", "user wait"})
}

// No message is accepted after it.
func TestSend_ReachesTheSummary(t *testing.T) {
	l := newLab(t)
	a := listedAgent()
	a.Limits.Turns = 1
	var late *update
	for _, m := range []api.Message{{Text: "my answer"}, {Text: "as far as I got"}} {
		l.answers = append(l.answers, func() (api.ModelResponse, error) {
			late = l.update(api.SendMessageUpdate, m.Text, message("what about it?"))
			return api.ModelResponse{Message: m, Stop: api.StopAnswer}, nil
		})
	}
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "turns" || r.Answer != "as far as I got" {
		t.Errorf("result: %+v", r)
	}
	expect(t, "messages of the summary", transcript(l.prompts[1].Messages), []string{"system Test.",
		"user Go.", "assistant my answer", "user what about it?"})
	if got := late.refusal(t); got != api.RunEnding {
		t.Errorf("a message after the summary step began is refused as %q", got)
	}
}

// It also refuses more messages than fit, and messages to runs without an agent.
func TestSend_RefusesInvalidMessages(t *testing.T) {
	l := newLab(t)
	got := map[string]*update{}
	l.calls = func(context.Context) {
		long := strings.Repeat("x", api.MaxSentText)
		got["empty"] = l.update(api.SendMessageUpdate, "a", message(" "))
		got["too long"] = l.update(api.SendMessageUpdate, "b", message(long+"x"))
		got["anonymous"] = l.update(api.SendMessageUpdate, "c", api.Sent{Text: "x"})
		got["long name"] = l.update(api.SendMessageUpdate, "d",
			api.Sent{Text: "x", By: strings.Repeat("b", 300)})
		got["first"], got["second"] = l.update(api.SendMessageUpdate, "e", message(long)),
			l.update(api.SendMessageUpdate, "f", message(long))
		got["full"] = l.update(api.SendMessageUpdate, "g", message("x"))
	}
	l.runAgent(agent(step(call("echo", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	p := newLab(t)
	p.calls = func(context.Context) {
		got["plan"] = p.update(api.SendMessageUpdate, "a",
			message("x"))
	}
	p.runPlan("calls: [{id: a, tool: echo, arguments: {value: 1}}]")
	p.result()
	for what, want := range map[string]api.ControlErrorType{"empty": api.ControlMalformed,
		"too long":  api.ControlMalformed,
		"anonymous": api.ControlMalformed, "long name": api.ControlMalformed, "first": "",
		"second": "", "full": api.SendFull, "plan": api.SendNoAgent} {
		if refused := got[what].refusal(t); refused != want {
			t.Errorf("%s: refused as %q, want %q", what, refused, want)
		}
	}
}

// The number of unread messages is limited, and that of messages and pauses in one history, so that
// updates are left for answers. A paused run can always be resumed.
func TestControls_AreBounded(t *testing.T) {
	const updates = 1800 // the server accepts 2,000
	l := newLab(t)
	var unread, over, paused, resumed *update
	l.calls = func(context.Context) {
		for n := range api.MaxUnseenMessages {
			l.update(api.SendMessageUpdate, fmt.Sprint("m", n), message("x"))
		}
		unread = l.update(api.SendMessageUpdate, "unread", message("x"))
		for n := range (updates - api.MaxUnseenMessages) / 2 {
			l.update(api.PauseUpdate, fmt.Sprint("p", n), api.Pause{By: "ada"})
			resumed = l.update(api.ResumeUpdate, fmt.Sprint("r", n), api.Pause{By: "ada"})
		}
		over = l.update(api.SendMessageUpdate, "over", message("x"))
		paused = l.update(api.PauseUpdate, "paused", api.Pause{By: "ada"})
	}
	l.runAgent(agent(step(call("echo", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	for u, want := range map[*update]api.ControlErrorType{unread: api.SendFull,
		over: api.ControlFull, paused: api.ControlFull, resumed: ""} {
		if got := u.refusal(t); got != want {
			t.Errorf("refused as %q, want %q", got, want)
		}
	}
}

// Running calls end, also one that a worker returns. Nothing starts until the plan is resumed.
func TestPause_StopsPlans(t *testing.T) {
	l := newLab(t)
	var paused, again, resumed, twice *update
	l.calls = func(ctx context.Context) {
		if paused == nil {
			paused = l.update(api.PauseUpdate, "p", api.Pause{By: "ada", Reason: "a look"})
		}
	}
	l.RegisterDelayedCallback(func() {
		expect(t, "executed while it is paused", slices.Sorted(slices.Values(l.executed)),
			[]string{"a echo", "b flaky", "b flaky"})
		again = l.updateRun(api.PauseUpdate, "p2", api.Pause{By: "bob"})
		resumed, twice = l.updateRun(api.ResumeUpdate, "r", api.Pause{By: "bob"}),
			l.updateRun(api.ResumeUpdate, "r2", api.Pause{By: "bob"})
	}, time.Hour)
	began := l.Now()
	l.runPlan(`
calls:
  - {id: a, tool: echo, arguments: {value: x}}
  - {id: b, tool: flaky}
  - {id: c, tool: store, arguments: {text: "${a}"}}
  - {id: d, tool: echo, arguments: {value: "${c}"}}`)
	l.result()
	if took := l.Now().Sub(began); took < time.Hour {
		t.Errorf("the run took %s", took)
	}
	expect(t, "executed", l.executed[3:], []string{"c store", "d echo"})
	for u, want := range map[*update]api.ControlErrorType{paused: "", again: api.PauseAlready,
		resumed: "", twice: api.NotPaused} {
		if got := u.refusal(t); got != want {
			t.Errorf("refused as %q, want %q", got, want)
		}
	}
}

// A paused agent does not answer until it is resumed, reads messages that it was sent meanwhile,
// and can be cancelled.
func TestPause_StopsAgents(t *testing.T) {
	for _, end := range []string{"resumed", "resumed after a message", "cancelled"} {
		t.Run(end, func(t *testing.T) {
			l := newLab(t)
			l.answers = append(l.answers, func() (api.ModelResponse, error) {
				l.update(api.PauseUpdate, "p", api.Pause{By: "ada"})
				return api.ModelResponse{Message: api.Message{Text: "first"}, Stop: api.StopAnswer},
					nil
			})
			l.modelAnswers(api.Message{Text: "second"})
			l.RegisterDelayedCallback(func() {
				if end == "resumed after a message" {
					l.updateRun(api.SendMessageUpdate, "s", message("and?"))
				}
				if end == "cancelled" {
					l.CancelWorkflow()
					return
				}
				l.updateRun(api.ResumeUpdate, "r", api.Pause{By: "ada"})
			}, time.Hour)
			began := l.Now()
			l.runAgent(listedAgent(), "Go.")
			if took := l.Now().Sub(began); took < time.Hour {
				t.Errorf("the run took %s", took)
			}
			switch end {
			case "cancelled":
				l.cancelled()
			case "resumed":
				if r := l.result(); r.Answer != "first" || len(l.prompts) != 1 {
					t.Errorf("result: %+v", r)
				}
			default:
				if r := l.result(); r.Answer != "second" || len(l.prompts) != 2 {
					t.Errorf("result: %+v", r)
				}
			}
		})
	}
}

// Running calls of the turn end, and the others wait, also over a cancellation. Wall time passes: a
// run whose time is over makes its summary when it is resumed.
func TestPause_KeepsWaitingCalls(t *testing.T) {
	two := step(call("store", `{"text":"a"}`), call("store", `{"text":"b"}`))
	for _, test := range []struct {
		end      string
		wallTime time.Duration
		stored   []string
		ids      []string
	}{
		{"resumed", 0, []string{"a", "b"}, []string{"turn-1", "1.1", "1.2", "turn-2"}},
		{"late", time.Minute, []string{"a"}, []string{"turn-1", "1.1", "summary"}},
		{"cancelled", 0, []string{"a"}, []string{"turn-1", "1.1"}},
	} {
		t.Run(test.end, func(t *testing.T) {
			l := newLab(t)
			l.calls = func(context.Context) { l.update(api.PauseUpdate, "p", api.Pause{By: "ada"}) }
			l.RegisterDelayedCallback(func() {
				expect(t, "stored while it is paused", l.stored, []string{"a"})
				if test.end == "cancelled" {
					l.CancelWorkflow()
					return
				}
				l.updateRun(api.ResumeUpdate, "r", api.Pause{By: "ada"})
			}, time.Hour)
			a := agent(two, answer("done"))
			a.Limits.WallTime = api.Duration(test.wallTime)
			l.runAgent(a, "Go.")
			expect(t, "activities", l.ids(), test.ids)
			expect(t, "stored", l.stored, test.stored)
			if test.end == "cancelled" {
				l.cancelled()
				return
			}
			l.result()
			if last := l.conversation(); test.end == "late" &&
				!strings.Contains(last[len(last)-2].Text, "cancelled") {
				t.Errorf("the call that did not run has the answer %+v", last[len(last)-2])
			}
		})
	}
}

// A message that arrives during the compaction before continue-as-new is kept.
func TestSend_DuringContinueAsNew(t *testing.T) {
	var earlier []api.Message
	for range 12 {
		noise := make([]byte, 200<<10)
		_, _ = rand.Read(noise) // it never fails, and cannot be compressed
		earlier = append(earlier, api.Message{Role: api.RoleUser, Text: hex.EncodeToString(noise)})
	}
	encoded, err := codec.EncodeMessages(earlier)
	if err != nil || len(encoded) < api.MaxPayload {
		t.Fatalf("%d bytes, %v", len(encoded), err)
	}
	l := newLab(t)
	l.SetContinueAsNewSuggested(true)
	l.says(10, greets(2))
	var sent *update
	l.answers = append(l.answers, func() (api.ModelResponse, error) {
		sent = l.update(api.SendMessageUpdate, "late", message("remember"))
		return api.ModelResponse{Message: api.Message{Text: "noise"}, Stop: api.StopAnswer}, nil
	})
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: listedAgent(), Prompt: "Go."}, encoded)
	_, continued := l.continued()
	if refused := sent.refusal(t); refused != "" {
		t.Fatalf("the message was refused as %q", refused)
	}
	if got, err := codec.DecodeMessages(continued); err != nil || got[len(got)-1].Text != "remember" {
		t.Errorf("the last message carried over is %.100s, error %v", got[len(got)-1].Text, err)
	}
}

// Messages by signal cannot be refused. Those beyond the bounds of unread messages are read with a
// later model step, and the run does not end before.
func TestSend_BySignalKeepsTheBoundsOfEachStep(t *testing.T) {
	l := newLab(t)
	text := strings.Repeat("x", api.MaxSentText)
	l.calls = func(context.Context) {
		for n := range 5 {
			l.SignalWorkflow(api.SendMessageSignal, api.Sent{ID: fmt.Sprint(n), Text: text,
				By: "ada"})
		}
	}
	l.modelAnswers(api.Message{Calls: []api.Call{{Tool: "echo", Arguments: `{"value":1}`}}},
		api.Message{Text: "one"}, api.Message{Text: "two"}, api.Message{Text: "three"})
	l.runAgent(listedAgent(), "Go.")
	if r := l.result(); r.Answer != "three" || r.Usage.Turns != 4 {
		t.Errorf("got %d turns, answer %q", r.Usage.Turns, r.Answer)
	}
	var got []int
	for _, p := range l.prompts {
		long := 0
		for _, m := range p.Messages {
			if len(m.Text) == len(text) {
				long++
			}
		}
		got = append(got, long)
	}
	if !slices.Equal(got, []int{0, 2, 4, 5}) {
		t.Errorf("the model steps saw %v of the messages", got)
	}
}
