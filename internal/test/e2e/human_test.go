package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// questions queries the open questions of a run.
func (l *lab) questions(id string) []api.Question {
	l.t.Helper()
	value, err := l.Client.QueryWorkflow(l.ctx, id, "", api.QuestionsQuery)
	if err != nil {
		return nil // no worker yet
	}
	var list []api.Question
	if err := value.Get(&list); err != nil {
		l.t.Fatal(err)
	}
	return list
}

// awaitQuestions waits until n questions of a run are open, and returns them by id.
func (l *lab) awaitQuestions(id string, n int) map[string]api.Question {
	l.t.Helper()
	open := map[string]api.Question{}
	l.await(fmt.Sprint("for open questions: ", n), func() bool {
		clear(open)
		for _, q := range l.questions(id) {
			open[q.ID] = q
		}
		return len(open) == n
	})
	return open
}

// reply replies to a question of a run and returns the refusal, if any.
func (l *lab) reply(id string, r api.Reply) *api.ReplyError {
	l.t.Helper()
	err := l.sendReply(id, r)
	if err == nil {
		return nil
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		l.t.Fatalf("the reply of %s to %s ended with %v", r.By, r.Question, err)
	}
	var refused api.ReplyError
	if err := app.Details(&refused); err != nil || string(refused.Type) != app.Type() {
		l.t.Fatalf("the reply of %s to %s ended with %v; its details: %v", r.By, r.Question, app,
			err)
	}
	return &refused
}

func (l *lab) sendReply(id string, r api.Reply) error {
	handle, err := l.Client.UpdateWorkflow(l.ctx, client.UpdateWorkflowOptions{WorkflowID: id,
		UpdateName: api.AnswerQuestionUpdate,
		Args:       []any{r}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return handle.Get(l.ctx, nil)
}

// decline declines a question of a run as soon as it is open and a worker has its call.
func (l *lab) decline(id, question string) {
	l.t.Helper()
	no := api.Reply{Question: question, By: "bob", Decline: true, Reason: "not on a Friday"}
	l.await("for the call to be taken and declined", func() bool {
		if !slices.ContainsFunc(l.questions(id),
			func(q api.Question) bool { return q.ID == question }) {
			return false
		}
		pending, err := audit.Pending(l.ctx, l.Client, id, "")
		if err != nil || !slices.ContainsFunc(pending,
			func(r audit.Running) bool {
				return r.ID == question &&
					r.State == audit.StateRunning
			}) {
			return false
		}
		if e := l.reply(id, no); e != nil {
			l.t.Fatalf("the refusal: %+v", e)
		}
		return true
	})
}

func value(question, by, json string) api.Reply {
	return api.Reply{Question: question, By: by, Value: []byte(json)}
}

// asker returns an agent with the tools that ask people, and append.
func asker(steps ...api.ScriptStep) *api.Agent {
	return withTools(agent(steps...),
		"ask budget hurry ask_unserved inquire inquire_and_hold inquire_once inquire_unasked append")
}

func (l *lab) historyLength(id string) int {
	l.t.Helper()
	return len(l.histories(id, "")[0].GetEvents())
}

// A call of a human tool waits while the other calls of its turn run, also if the worker is killed
// meanwhile. An invalid answer returns to the person with every fault. A valid one is the call's
// result, validated, with the name of the person.
func TestHuman_WaitsForAPerson(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	budget := call("budget", `{"for":"paint","card":"4711"}`)
	budget.ID = "b"
	run := l.runAgent("run", asker(step(call("ask", `{"question":"Which colour?","pin":"0815"}`),
		budget, call("append", `{"text":"on"}`)), answer("${b.amount}")))
	l.awaitEntries(1)
	open := l.awaitQuestions("run", 2)
	if q := open["1.2"]; q.Text != "How much may be spent for paint with ***?" ||
		q.Tool != "budget" || q.Call != "1.2" || len(q.Schema) == 0 ||
		q.Until.Sub(q.Asked).Hours() != 48 {
		t.Errorf("the question is %+v", q)
	}
	if q := open["1.1"]; q.Text != "Which colour?" || len(q.Schema) > 0 ||
		q.Until.Sub(q.Asked).Hours() != 168 {
		t.Errorf("the question is %+v", q)
	}
	l.await("for the other call to end", func() bool {
		return len(l.statuses(run)) == 3 &&
			l.statuses(run)[0] == "1.3 append completed"
	})
	first.Kill()
	l.worker()
	if e := l.reply("run", value("1.2", "alice", `{"amount":501,"coment":"x"}`)); e == nil ||
		e.Type != api.ReplyUnfit || len(e.Problems) != 2 || e.Problems[0].Path != "$.amount" {
		t.Errorf("an answer that does not fit: %+v", e)
	}
	if n := len(l.awaitQuestions("run", 2)); n != 2 {
		t.Errorf("%d questions are open after it", n)
	}
	if e := l.reply("run", api.Reply{Question: "1.2", By: "alice", Value: []byte(`{"amount":12}`),
		Reason: "it is cheap"}); e != nil {
		t.Errorf("the right answer: %+v", e)
	}
	if e := l.reply("run", value("1.1", "bob", `"blue"`)); e != nil {
		t.Errorf("the right answer: %+v", e)
	}
	if r := l.result(run); r.Answer != "12" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "records", l.statuses(run), []string{"1.3 append completed", "1.2 budget completed",
		"1.1 ask completed"})
	record := l.records(run)[1]
	if got := strings.Join(record.Notes, "; "); got != "answered by alice: it is cheap" ||
		string(record.Result.Output) != `{"amount":12}` || record.Attempts != 1 {
		t.Errorf("record: %+v, notes %q", record, got)
	}
	if n := len(l.questions("run")); n != 0 {
		t.Errorf("%d questions are open at the end", n)
	}
}

// The refusal is a separate error with the open questions, and leaves nothing in the run's history.
// A question accepts one reply.
func TestReplies_AreRefusedUnlessTheQuestionIsOpen(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", asker(step(call("ask", `{"question":"One?"}`),
		call("ask", `{"question":"Two?"}`)), answer("done")))
	l.awaitQuestions("run", 2)
	if e := l.reply("run", value("1.1", "alice", `1`)); e != nil {
		t.Fatalf("the first reply: %v", e)
	}
	l.awaitQuestions("run", 1)
	before := l.historyLength("run")
	for _, test := range []struct {
		reply api.Reply
		want  api.ReplyErrorType
		says  string
	}{
		{value("1.1", "bob", `2`), api.ReplyClosed, `question "1.1" is closed: answered by alice; open: 1.2`},
		{value("1.3", "bob", `2`), api.ReplyUnknown, `the run has no question "1.3"; open: 1.2`},
		{value("", "bob", `2`), api.ReplyUnknown, `the run has no question ""; open: 1.2`},
		{value("1.2", "", `2`), api.ReplyMalformed, "the reply has no name"},
		{value("1.2", " ", `2`), api.ReplyMalformed, "the reply has no name"},
		{value("1.2", strings.Repeat("b", 300), `2`), api.ReplyMalformed, "the name of the person who replies is too long"},
		{api.Reply{Question: "1.2", By: "bob"}, api.ReplyMalformed, "the reply neither has a value nor declines"},
		{api.Reply{Question: "1.2", By: "bob", Value: []byte(`2`), Decline: true},
			api.ReplyMalformed, "a reply either has a value or declines"},
		{value("1.2", "bob", `"`+strings.Repeat("x", api.MaxPayload)+`"`), api.ReplyMalformed,
			"the answer is too large: the maximum is 1.5 MiB of JSON"},
	} {
		if e := l.reply("run", test.reply); e == nil || e.Type != test.want ||
			e.Message != test.says {
			t.Errorf("the reply of %.10q to %q: %+v, want %s: %s", test.reply.By,
				test.reply.Question, e, test.want, test.says)
		}
	}
	if after := l.historyLength("run"); after != before {
		t.Errorf("the refused replies left %d events in history", after-before)
	}
	if e := l.reply("run", value("1.2", "alice", `"`+strings.Repeat("<", 200<<10)+`"`)); e != nil {
		t.Errorf("a long answer: %v", e)
	}
	l.result(run)
	if r := l.records(run)[1]; r.Result.Cut == 0 || len(r.Result.Output) > 6*(32<<10)+2 {
		t.Errorf("a long answer is not cut as a long result is: %d bytes, %d cut",
			len(r.Result.Output), r.Result.Cut)
	}
}

// A reply that was not sent by starter and that no server accepts does not end the run: its
// question stays open and accepts another reply.
func TestReplies_TooLargeForTheServerAreRefused(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", asker(step(call("ask", `{"question":"What?"}`)), answer("done")))
	l.awaitQuestions("run", 1)
	if err := l.sendReply("run", value("1.1", "bob", `"`+strings.Repeat("x", 3<<20)+
		`"`)); err == nil {
		t.Error("3 MB are an answer")
	}
	l.await("for the run to continue",
		func() bool { return l.sendReply("run", value("1.1", "alice", `"short"`)) == nil })
	l.result(run)
	expect(t, "records", l.statuses(run), []string{"1.1 ask completed"})
}

// The call ends as approval_denied with the reason.
func TestHuman_DeclineEndsOnlyItsCall(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", asker(step(call("ask", `{"question":"May I?"}`),
		call("append", `{"text":"a"}`)), answer("done")))
	l.awaitQuestions("run", 1)
	l.awaitEntries(1)
	l.decline("run", "1.1")
	if r := l.result(run); r.Usage.Failed != 1 || r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	if answer := l.conversation(run)[3]; answer.CallID != "1.1" || !answer.Failed ||
		!strings.Contains(answer.Text, "declined by bob: not on a Friday") {
		t.Errorf("the model reads %+v", answer)
	}
	expect(t, "records", l.statuses(run), []string{"1.2 append completed",
		"1.1 ask failed approval_denied"})
}

// A call without an answer in time ends as approval_timeout, and its question is closed.
func TestHuman_TimesOut(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", asker(step(call("hurry", `{}`)),
		step(call("ask", `{"question":"Still there?"}`)), answer("done")))
	l.await("for the second question", func() bool {
		q := l.questions("run")
		return len(q) == 1 &&
			q[0].ID == "2.1"
	})
	if e := l.reply("run", value("1.1", "bob", `1`)); e == nil || e.Type != api.ReplyClosed ||
		e.Message != `question "1.1" is closed: approval_timeout: the question of hurry was not answered within 2s; open: 2.1` {
		t.Errorf("an answer that comes too late: %+v", e)
	}
	if e := l.reply("run", value("2.1", "bob", `1`)); e != nil {
		t.Error(e)
	}
	l.result(run)
	expect(t, "records", l.statuses(run), []string{"1.1 hurry failed approval_timeout",
		"2.1 ask completed"})
}

// Cancelling a run that waits for a person ends it immediately, also if no worker has taken the
// call. The end of the wall time ends the wait.
func TestHuman_EndsWithItsRun(t *testing.T) {
	l := newLab(t)
	l.worker("--lanes", "general")
	for _, tool := range []string{"ask", "ask_unserved"} {
		arguments := map[string]string{"ask": `{"question":"Yes?"}`, "ask_unserved": `{}`}[tool]
		run := l.runAgent(tool, asker(step(call(tool, arguments)), answer("never")))
		l.awaitQuestions(tool, 1)
		l.cancel(tool)
		l.cancelled(run)
		expect(t, "records", l.statuses(run), []string{"1.1 " + tool + " cancelled cancelled"})
	}
	a := asker(step(call("ask", `{"question":"Yes?"}`)), answer("never"))
	a.Limits = api.Limits{WallTime: api.Duration(2 * time.Second)}
	run := l.runAgent("limited", a)
	if r := l.result(run); r.Limit != "wall_time" {
		t.Errorf("result: %+v", r)
	}
	expect(t, "records", l.statuses(run), []string{"1.1 ask cancelled cancelled"})
}

// A call that no worker has taken can be answered. Declining it names what it waits for and leaves
// the question open.
func TestHuman_AnswersBeforeAnyWorker(t *testing.T) {
	l := newLab(t)
	l.worker("--lanes", "general")
	run := l.runAgent("run", asker(step(call("ask_unserved", `{}`), call("ask_unserved", `{}`)),
		answer("done")))
	l.awaitQuestions("run", 2)
	no := api.Reply{Question: "1.1", By: "bob", Decline: true}
	if e := l.reply("run", no); e == nil || e.Type != api.ReplyEarly {
		t.Errorf("a refusal before a worker has the call: %+v", e)
	}
	if e := l.reply("run", value("1.2", "bob", `"early"`)); e != nil {
		t.Errorf("an answer before a worker has the call: %+v", e)
	}
	if e := l.reply("run", value("1.2", "bob", `"again"`)); e == nil || e.Type != api.ReplyClosed {
		t.Errorf("a second one: %+v", e)
	}
	l.worker("--lanes", "serial")
	l.decline("run", "1.1")
	l.result(run)
	expect(t, "records", l.statuses(run), []string{"1.2 ask_unserved completed",
		"1.1 ask_unserved failed approval_denied"})
}

func TestHuman_InPlansAndDirectCalls(t *testing.T) {
	l := newLab(t)
	l.worker()
	plan := l.runPlan("plan", api.Plan{Calls: []api.PlanCall{
		{ID: "money", Tool: "budget", Arguments: []byte(`{"for":"glue"}`)},
		{ID: "note", Tool: "append", Arguments: []byte(`{"text":"${money.comment}"}`)},
	}})
	direct := l.runCall("direct", "ask", `{"question":"Well?"}`)
	if q := l.awaitQuestions("plan",
		1)["money"]; q.Text != "How much may be spent for glue with ?" {
		t.Errorf("the plan asks %+v", q)
	}
	l.awaitQuestions("direct", 1)
	if e := l.reply("plan", value("money", "alice",
		`{"amount":3,"comment":"only three"}`)); e != nil {
		t.Error(e)
	}
	if e := l.reply("direct", value("1.1", "alice", `{"any":["thing"]}`)); e != nil {
		t.Error(e)
	}
	if r := l.result(plan); string(r.Output) != `{"note":{"text":"only three"}}` {
		t.Errorf("the plan's result: %s", r.Output)
	}
	if r := l.result(direct); string(r.Output) != `{"any":["thing"]}` {
		t.Errorf("the direct call's result: %s", r.Output)
	}
}

// A run that is reset to before its question asks again: an earlier answer does not count, whether
// or not the server reapplies the reply, and the history contains the open question.
func TestHuman_AsksAgainAfterAReset(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", asker(step(named("a", call("ask", `{"question":"Which?"}`))),
		step(named("b", call("inquire_and_hold", `{"text":"Really?"}`))), answer("${a} and ${b}")))
	l.openGate()
	l.awaitQuestions("run", 1)
	if e := l.reply("run", value("1.1", "alice", `"old"`)); e != nil {
		t.Error(e)
	}
	l.await("for the second question", func() bool {
		q := l.questions("run")
		return len(q) == 1 &&
			q[0].ID == "2.1/1"
	})
	again := l.reset(run, "turn-1")
	l.await("for the question to be asked again",
		func() bool { q := l.questions("run"); return len(q) == 1 && q[0].ID == "1.1" })
	open, err := audit.Questions(l.ctx, l.Client, "run", again.GetRunID())
	if err != nil || len(open) != 1 || open[0].ID != "1.1" {
		t.Errorf("open: %+v, %v", open, err)
	}
	if e := l.reply("run", value("1.1", "bob", `"new"`)); e != nil {
		t.Error(e)
	}
	l.await("for the second question", func() bool {
		q := l.questions("run")
		return len(q) == 1 &&
			q[0].ID == "2.1/1"
	})
	if e := l.reply("run", value("2.1/1", "bob", `"really"`)); e != nil {
		t.Error(e)
	}
	r := l.result(again)
	if !strings.HasPrefix(r.Answer, "new") || !strings.Contains(r.Answer, "really") {
		t.Errorf("the answer is %q", r.Answer)
	}
}
