package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
)

// inquire is a tool that asks people during its call, several at a time if its arguments say so.
var inquire = tool.NewFunction("inquire", func(ctx context.Context, in struct {
	Text  string `json:"text"`
	Times int    `json:"times"`
}) (string, error) {
	if err := write(ctx, entry{Text: "asks"}); err != nil {
		return "", err
	}
	replies := make([]string, in.Times)
	faults := make(chan error)
	for i := range in.Times {
		go func() {
			reply, err := tool.Ask(ctx, in.Text,
				json.RawMessage(`{"type":"string","maxLength":20}`))
			replies[i] = reply.Question + " " + jsonvalue.Plain(reply.Value)
			if reply.Decline {
				replies[i] = people.ReplyNote(reply)
			}
			faults <- err
		}()
	}
	var err error
	for range in.Times {
		err = errors.Join(err, <-faults)
	}
	if err != nil {
		return "", err
	}
	slices.Sort(replies)
	return strings.Join(replies, ", "), write(ctx, entry{Text: "heard"})
})

// inquireAndHost asks, and waits for the gate after the answer.
var inquireAndHost = tool.NewFunction("inquire_and_hold", func(ctx context.Context,
	in textArgs) (string, error) {
	reply, err := tool.Ask(ctx, in.Text, nil)
	if err != nil {
		return "", err
	}
	if err := write(ctx, entry{Text: "heard"}); err != nil {
		return "", err
	}
	return reply.Question + " " + jsonvalue.Plain(reply.Value), until(ctx, gateIsOpen)
})

// inquireTwice asks one question after the other.
var inquireTwice = tool.NewFunction("inquire_twice", func(ctx context.Context,
	_ none) ([]string, error) {
	first, err := tool.Ask(ctx, "First?", json.RawMessage(`{"type":"string"}`))
	if err != nil {
		return nil, err
	}
	second, err := tool.Ask(ctx, "Second?", nil)
	return []string{people.ReplyNote(first), people.ReplyNote(second)}, err
})

func gateIsOpen() bool { _, err := os.Stat(os.Getenv(gateFile)); return err == nil }

// output returns the result of a direct call, as text.
func (l *lab) output(id string) string {
	l.t.Helper()
	return jsonvalue.Plain(l.result(l.Client.GetWorkflow(l.ctx, id, "")).Output)
}

// If the worker is killed while a call waits, the call is retried on another worker, asks the same
// question and no second one, is not timed out by the wait, and gets the reply. A call whose reply
// arrived just before its worker was killed gets it without another question.
func TestAsk_SurvivesTheWorker(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	l.runCall("waits", "inquire", `{"text":"Continue?"}`)
	asked := l.awaitQuestions("waits", 1)["1.1/1"]
	if asked.Text != "Continue?" || asked.Call != "1.1" || asked.Tool != "inquire" ||
		string(asked.Schema) != `{"type":"string","maxLength":20}` ||
		asked.Until.Sub(asked.Asked) > time.Hour {
		t.Errorf("the question is %+v", asked)
	}
	first.Kill()
	second := l.worker()
	l.await("for the second attempt to ask, longer than the tool's timeout", func() bool {
		return len(l.entries()) >= 2 && time.Since(asked.Asked) > 3*time.Second
	})
	if again := l.awaitQuestions("waits", 1)["1.1/1"]; !again.Asked.Equal(asked.Asked) {
		t.Errorf("the question after the crash is %+v, before it was %+v", again, asked)
	}
	if e := l.reply("waits", value("1.1/1", "alice", `"a text that is much too long"`)); e == nil ||
		e.Type != api.ReplyUnfit || len(e.Problems) != 1 {
		t.Errorf("a reply that does not fit: %+v", e)
	}
	if e := l.reply("waits", api.Reply{Question: "1.1/1", By: "alice", Value: []byte(`"yes"`),
		Reason: "why not"}); e != nil {
		t.Error(e)
	}
	if got := l.output("waits"); got != "1.1/1 yes" {
		t.Errorf("the call gave %q", got)
	}
	record := l.records(l.Client.GetWorkflow(l.ctx, "waits", ""))[0]
	if got := strings.Join(record.Notes,
		"; "); got != "question 1.1/1 was answered by alice: why not" || record.Attempts < 2 {
		t.Errorf("%d attempts, notes %q", record.Attempts, got)
	}
	if l.sendReply("waits", value("1.1/1", "alice", `"yes"`)) == nil {
		t.Error("a run that has ended takes replies")
	}

	l.runCall("replied", "inquire_and_hold", `{"text":"Continue?"}`)
	l.awaitQuestions("replied", 1)
	if e := l.reply("replied", value("1.1/1", "alice", `"yes"`)); e != nil {
		t.Error(e)
	}
	l.await("for the reply to be heard", func() bool {
		return slices.ContainsFunc(l.entries(),
			func(e entry) bool { return e.Tool == "inquire_and_hold" })
	})
	second.Kill()
	l.openGate()
	l.worker()
	if got := l.output("replied"); got != "1.1/1 yes" {
		t.Errorf("the call gave %q", got)
	}
}

// If a run has more questions than the server lets wait at a time, later ones are asked when others
// are answered, and each reply reaches its question.
func TestAsk_LimitsOpenQuestions(t *testing.T) {
	l := newLab(t)
	l.worker()
	const times = 15
	l.runCall("run", "inquire", fmt.Sprintf(`{"text":"Again?","times":%d}`, times))
	replied := map[string]bool{}
	var want []string
	l.await("for every question to be asked", func() bool {
		for _, q := range l.questions("run") {
			if !replied[q.ID] {
				replied[q.ID] = true
				if e := l.reply("run", value(q.ID, "alice", `"to `+q.ID+`"`)); e != nil {
					t.Fatal(e)
				}
				want = append(want, q.ID+" to "+q.ID)
			}
		}
		return len(replied) == times
	})
	slices.Sort(want)
	if got := l.output("run"); got != strings.Join(want, ", ") {
		t.Errorf("got %q", got)
	}
}

// A question during a call is declined, abandoned, not allowed, or withdrawn with a cancelled call.
func TestAsk_ReportsOtherEnds(t *testing.T) {
	l := newLab(t)
	l.worker()
	l.runCall("declined", "inquire", `{"text":"May I?"}`)
	l.awaitQuestions("declined", 1)
	if e := l.reply("declined", api.Reply{Question: "1.1/1", By: "bob", Decline: true,
		Reason: "no"}); e != nil {
		t.Error(e)
	}
	if got := l.output("declined"); got != "declined by bob: no" {
		t.Errorf("the call gave %q", got)
	}

	late := l.runAgent("late", asker(step(call("inquire_once", `{"text":"Quick?"}`)),
		step(call("ask", `{"question":"Too late?"}`)), answer("done")))
	l.await("for the next question", func() bool {
		q := l.questions("late")
		return len(q) == 1 &&
			q[0].ID == "2.1"
	})
	if e := l.reply("late", value("1.1/1", "bob", `"yes"`)); e == nil ||
		e.Type != api.ReplyClosed ||
		e.Message != `question "1.1/1" is closed: no answer came in time; open: 2.1` {
		t.Errorf("a reply that comes too late: %+v", e)
	}
	if e := l.reply("late", value("2.1", "bob", `"yes"`)); e != nil {
		t.Error(e)
	}
	l.result(late)
	expect(t, "records", l.statuses(late), []string{"1.1 inquire_once failed approval_timeout",
		"2.1 ask completed"})

	unasked := l.runCall("unasked", "inquire_unasked", `{"text":"Hello?"}`)
	l.failure(unasked, api.RunCallsFailed)
	expect(t, "records", l.statuses(unasked),
		[]string{"1.1 inquire_unasked failed precondition_failed"})

	a := asker(step(call("inquire", `{"text":"Still?"}`)), answer("never"))
	cancelled := l.runAgent("cancelled", a)
	l.awaitQuestions("cancelled", 1)
	l.cancel("cancelled")
	l.cancelled(cancelled)
	expect(t, "records", l.statuses(cancelled), []string{"1.1 inquire cancelled cancelled"})

	a.Limits = api.Limits{WallTime: api.Duration(2 * time.Second)}
	limited := l.runAgent("limited", a)
	if r := l.result(limited); r.Limit != "wall_time" {
		t.Errorf("result: %+v", r)
	}
	if n := len(l.questions("limited")); n != 0 {
		t.Errorf("%d questions are open", n)
	}
	expect(t, "records", l.statuses(limited), []string{"1.1 inquire cancelled cancelled"})
}
