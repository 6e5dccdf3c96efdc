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

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/temporal"
)

func message(text string) switchyard.Sent { return switchyard.Sent{Text: text, By: "ada"} }

// refusal is the type with which an update was refused; empty where it was not.
func (u *update) refusal(t *testing.T) switchyard.ControlErrorType {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := u.Get(ctx, nil)
	if err == nil {
		return ""
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	var e switchyard.ControlError
	if !ok || app.Details(&e) != nil || e.Message != app.Message() {
		t.Fatalf("the update ended with %v", err)
	}
	return e.Type
}

// said lists a conversation, role and text of each message.
func said(messages []switchyard.Message) []string {
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

// TestSend proves that a message that comes while calls run stands behind all their results before the next model step, that
// one that comes while the model writes its answer makes the run take another turn, and that the same message sent twice, by
// update or by signal, is one.
func TestSend(t *testing.T) {
	l := newLab(t)
	l.calls = func(context.Context) {
		l.update(switchyard.SendUpdate, "one", message("during calls"))
		l.SignalWorkflow(switchyard.SendSignal, switchyard.Sent{ID: "one", Text: "during calls", By: "ada"})
		l.SignalWorkflow(switchyard.SendSignal, switchyard.Sent{ID: "two", Text: "by signal", By: "ada"})
		l.SignalWorkflow(switchyard.SendSignal, switchyard.Sent{ID: "three", Text: " ", By: "ada"})
	}
	l.tell(switchyard.Message{Calls: []switchyard.Call{{Tool: "echo", Arguments: `{"value":1}`}, {Tool: "broken", Arguments: `{}`}}})
	l.answers = append(l.answers, func() (switchyard.ModelResponse, error) {
		l.update(switchyard.SendUpdate, "four", message("wait"))
		return switchyard.ModelResponse{Message: switchyard.Message{Text: "too early"}, Stop: switchyard.StopAnswer}, nil
	})
	l.tell(switchyard.Message{Text: "now done"})
	l.runAgent(toldAgent(), "Go.")
	if r := l.result(); r.Answer != "now done" || r.Usage.Turns != 3 {
		t.Errorf("result: %+v", r)
	}
	told := l.prompts[2].Messages
	for i := range told {
		told[i].Text, _, _ = strings.Cut(told[i].Text, "\n")
	}
	expect(t, "the model was told", said(told), []string{"system Test.", "user Go.", "assistant", "tool 1", "tool ERROR execution_error: it is broken", "user during calls",
		"user by signal", "assistant too early", "user wait"})
}

// TestSendAtLimit proves that the summary step sees a message that came before it, and that none is taken after it.
func TestSendAtLimit(t *testing.T) {
	l := newLab(t)
	a := toldAgent()
	a.Limits.Turns = 1
	var late *update
	for _, m := range []switchyard.Message{{Text: "my answer"}, {Text: "as far as I got"}} {
		l.answers = append(l.answers, func() (switchyard.ModelResponse, error) {
			late = l.update(switchyard.SendUpdate, m.Text, message("what about it?"))
			return switchyard.ModelResponse{Message: m, Stop: switchyard.StopAnswer}, nil
		})
	}
	l.runAgent(a, "Go.")
	if r := l.result(); r.Limit != "turns" || r.Answer != "as far as I got" {
		t.Errorf("result: %+v", r)
	}
	expect(t, "the summary was told", said(l.prompts[1].Messages), []string{"system Test.", "user Go.", "assistant my answer", "user what about it?"})
	if got := late.refusal(t); got != switchyard.RunEnding {
		t.Errorf("a message after the summary step began is refused as %q", got)
	}
}

// TestSendRefused proves that a run takes no message that is none, no more than fit, and none where it is not an agent's.
func TestSendRefused(t *testing.T) {
	l := newLab(t)
	got := map[string]*update{}
	l.calls = func(context.Context) {
		long := strings.Repeat("x", switchyard.MaxSentText)
		got["empty"] = l.update(switchyard.SendUpdate, "a", message(" "))
		got["too long"] = l.update(switchyard.SendUpdate, "b", message(long+"x"))
		got["nobody's"] = l.update(switchyard.SendUpdate, "c", switchyard.Sent{Text: "x"})
		got["long name"] = l.update(switchyard.SendUpdate, "d", switchyard.Sent{Text: "x", By: strings.Repeat("b", 300)})
		got["first"], got["second"] = l.update(switchyard.SendUpdate, "e", message(long)), l.update(switchyard.SendUpdate, "f", message(long))
		got["full"] = l.update(switchyard.SendUpdate, "g", message("x"))
	}
	l.runAgent(agent(step(call("echo", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	p := newLab(t)
	p.calls = func(context.Context) { got["plan"] = p.update(switchyard.SendUpdate, "a", message("x")) }
	p.runPlan("calls: [{id: a, tool: echo, arguments: {value: 1}}]")
	p.result()
	for what, want := range map[string]switchyard.ControlErrorType{"empty": switchyard.ControlMalformed, "too long": switchyard.ControlMalformed,
		"nobody's": switchyard.ControlMalformed, "long name": switchyard.ControlMalformed, "first": "", "second": "", "full": switchyard.SendFull, "plan": switchyard.SendNoAgent} {
		if refused := got[what].refusal(t); refused != want {
			t.Errorf("%s: refused as %q, want %q", what, refused, want)
		}
	}
}

// TestControlsAreBounded proves that a run takes no more messages unread than it says, and no more messages and pauses in one history
// than leave people updates to answer with, and that a paused run can be resumed all the same.
func TestControlsAreBounded(t *testing.T) {
	l := newLab(t)
	var unread, over, paused, resumed *update
	l.calls = func(context.Context) {
		for n := range switchyard.MaxUnseenMessages {
			l.update(switchyard.SendUpdate, fmt.Sprint("m", n), message("x"))
		}
		unread = l.update(switchyard.SendUpdate, "unread", message("x"))
		for n := range (switchyard.MaxControls - switchyard.MaxUnseenMessages) / 2 {
			l.update(switchyard.PauseUpdate, fmt.Sprint("p", n), switchyard.Pause{By: "ada"})
			resumed = l.update(switchyard.ResumeUpdate, fmt.Sprint("r", n), switchyard.Pause{By: "ada"})
		}
		over = l.update(switchyard.SendUpdate, "over", message("x"))
		paused = l.update(switchyard.PauseUpdate, "paused", switchyard.Pause{By: "ada"})
	}
	l.runAgent(agent(step(call("echo", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	for u, want := range map[*update]switchyard.ControlErrorType{unread: switchyard.SendFull, over: switchyard.ControlFull, paused: switchyard.ControlFull, resumed: ""} {
		if got := u.refusal(t); got != want {
			t.Errorf("refused as %q, want %q", got, want)
		}
	}
}

// TestPausePlan proves that of a paused plan the running calls end, also one that a worker hands back, nothing starts until it
// is resumed, and that it then goes on.
func TestPausePlan(t *testing.T) {
	l := newLab(t)
	var paused, again, resumed, twice *update
	l.calls = func(ctx context.Context) {
		if paused == nil {
			paused = l.update(switchyard.PauseUpdate, "p", switchyard.Pause{By: "ada", Reason: "a look"})
		}
	}
	l.RegisterDelayedCallback(func() {
		expect(t, "executed while it is paused", slices.Sorted(slices.Values(l.executed)), []string{"a echo", "b flaky", "b flaky"})
		again = l.tellRun(switchyard.PauseUpdate, "p2", switchyard.Pause{By: "bob"})
		resumed, twice = l.tellRun(switchyard.ResumeUpdate, "r", switchyard.Pause{By: "bob"}), l.tellRun(switchyard.ResumeUpdate, "r2", switchyard.Pause{By: "bob"})
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
	for u, want := range map[*update]switchyard.ControlErrorType{paused: "", again: switchyard.PauseAlready, resumed: "", twice: switchyard.NotPaused} {
		if got := u.refusal(t); got != want {
			t.Errorf("refused as %q, want %q", got, want)
		}
	}
}

// TestPauseAgent proves that a paused agent does not end with an answer until it is resumed, that it reads a message that it was
// sent meanwhile, and that a paused run can be cancelled.
func TestPauseAgent(t *testing.T) {
	for _, end := range []string{"resumed", "resumed after a message", "cancelled"} {
		t.Run(end, func(t *testing.T) {
			l := newLab(t)
			l.answers = append(l.answers, func() (switchyard.ModelResponse, error) {
				l.update(switchyard.PauseUpdate, "p", switchyard.Pause{By: "ada"})
				return switchyard.ModelResponse{Message: switchyard.Message{Text: "first"}, Stop: switchyard.StopAnswer}, nil
			})
			l.tell(switchyard.Message{Text: "second"})
			l.RegisterDelayedCallback(func() {
				if end == "resumed after a message" {
					l.tellRun(switchyard.SendUpdate, "s", message("and?"))
				}
				if end == "cancelled" {
					l.CancelWorkflow()
					return
				}
				l.tellRun(switchyard.ResumeUpdate, "r", switchyard.Pause{By: "ada"})
			}, time.Hour)
			began := l.Now()
			l.runAgent(toldAgent(), "Go.")
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

// TestPauseKeepsCalls proves that of a paused agent's turn the calls that run end and the others wait, over a cancel too; and
// that wall time goes on: a run whose time is over makes its summary when it is resumed.
func TestPauseKeepsCalls(t *testing.T) {
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
			l.calls = func(context.Context) { l.update(switchyard.PauseUpdate, "p", switchyard.Pause{By: "ada"}) }
			l.RegisterDelayedCallback(func() {
				expect(t, "stored while it is paused", l.stored, []string{"a"})
				if test.end == "cancelled" {
					l.CancelWorkflow()
					return
				}
				l.tellRun(switchyard.ResumeUpdate, "r", switchyard.Pause{By: "ada"})
			}, time.Hour)
			a := agent(two, answer("done"))
			a.Limits.WallTime = switchyard.Duration(test.wallTime)
			l.runAgent(a, "Go.")
			expect(t, "activities", l.ids(), test.ids)
			expect(t, "stored", l.stored, test.stored)
			if test.end == "cancelled" {
				l.cancelled()
				return
			}
			l.result()
			if last := l.conversation(); test.end == "late" && !strings.Contains(last[len(last)-2].Text, "cancelled") {
				t.Errorf("the call that did not run is told as %+v", last[len(last)-2])
			}
		})
	}
}

// TestPauseIsCarried proves that a run that continues as new stays paused, with the messages that it was sent and with the
// memory of which they were.
func TestPauseIsCarried(t *testing.T) {
	l := newLab(t)
	l.calls = func(context.Context) {
		l.update(switchyard.SendUpdate, "one", message("remember"))
		l.update(switchyard.PauseUpdate, "p", switchyard.Pause{By: "ada", Reason: "a look"})
	}
	l.SetContinueAsNewSuggested(true)
	l.runAgent(agent(step(call("echo", `{"value":1}`)), answer("done")), "Go.")
	next, earlier := l.continued()
	c := next.Carry
	if c.Paused == nil || c.Paused.By != "ada" || c.Paused.Reason != "a look" || c.Paused.Since.IsZero() || len(c.Sent) != 1 || c.Sent[0] != "one" {
		t.Fatalf("carried over: %+v", c)
	}
	if got, err := switchyard.DecodeMessages(earlier); err != nil || got[len(got)-1].Text != "remember" {
		t.Errorf("the messages carried over are %+v, error %v", got, err)
	}
	second := newLab(t)
	var again *update
	second.RegisterDelayedCallback(func() {
		expect(t, "activities of the second part while it is paused", second.ids(), nil)
		again = second.tellRun(switchyard.SendUpdate, "one", message("remember"))
		second.tellRun(switchyard.ResumeUpdate, "r", switchyard.Pause{By: "ada"})
	}, time.Hour)
	second.ExecuteWorkflow(switchyard.AgentWorkflow, next, earlier)
	second.result()
	if got := again.refusal(t); got != "" {
		t.Errorf("a message sent again is refused as %q", got)
	}
	expect(t, "the conversation", said(second.conversation()), []string{"system Test.", "user Go.", "assistant", "tool 1", "user remember", "assistant done"})
}

// TestSentWhileCarrying proves that a message is carried over that comes while the conversation is made short enough to be.
func TestSentWhileCarrying(t *testing.T) {
	var earlier []switchyard.Message
	for range 12 {
		noise := make([]byte, 200<<10)
		_, _ = rand.Read(noise) // it never fails, and cannot be compressed
		earlier = append(earlier, switchyard.Message{Role: switchyard.RoleUser, Text: hex.EncodeToString(noise)})
	}
	encoded, err := switchyard.EncodeMessages(earlier)
	if err != nil || len(encoded) < switchyard.MaxPayload {
		t.Fatalf("%d bytes, %v", len(encoded), err)
	}
	l := newLab(t)
	l.SetContinueAsNewSuggested(true)
	l.says(10, greets(2))
	var sent *update
	l.answers = append(l.answers, func() (switchyard.ModelResponse, error) {
		sent = l.update(switchyard.SendUpdate, "late", message("remember"))
		return switchyard.ModelResponse{Message: switchyard.Message{Text: "noise"}, Stop: switchyard.StopAnswer}, nil
	})
	l.ExecuteWorkflow(switchyard.AgentWorkflow, switchyard.RunInput{Agent: toldAgent(), Prompt: "Go."}, encoded)
	_, carried := l.continued()
	if refused := sent.refusal(t); refused != "" {
		t.Fatalf("the message was refused as %q", refused)
	}
	if got, err := switchyard.DecodeMessages(carried); err != nil || got[len(got)-1].Text != "remember" {
		t.Errorf("the last message carried over is %.100s, error %v", got[len(got)-1].Text, err)
	}
}
