package workflows_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// inSession returns the input of a session.
func inSession() api.RunInput {
	return api.RunInput{Session: &api.Session{Client: "tester 1.0"},
		Caller: api.Caller{ID: "ana"}}
}

// submit submits a call at a time of the run's clock.
func (l *lab) submit(d time.Duration, c api.SessionCall) *update {
	u := &update{accepted: make(chan struct{}), over: make(chan struct{})}
	if c.Caller.ID == "" {
		c.Caller = api.Caller{ID: "ana"}
	}
	l.after(d, func() {
		l.UpdateWorkflow(api.SubmitCallsUpdate, fmt.Sprint(c, d), u, []api.SessionCall{c})
	})
	return u
}

// request sends another update of a session at a time of the run's clock.
func (l *lab) request(d time.Duration, name string, argument any) *update {
	u := &update{accepted: make(chan struct{}), over: make(chan struct{})}
	l.after(d, func() { l.UpdateWorkflow(name, fmt.Sprint(argument, d), u, argument) })
	return u
}

// status returns the answer to a submitted call.
func (u *update) status(t *testing.T) (s api.SessionCallStatus) {
	t.Helper()
	select {
	case <-u.over:
	default:
		t.Fatal("the update has no result")
	}
	if u.err != nil {
		t.Fatalf("the call was refused: %v", u.err)
	}
	return u.result.([]api.SessionCallStatus)[0]
}

// control returns why a request was refused; nil if it was accepted.
func (u *update) control(t *testing.T) *api.ControlError {
	t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](u.err)
	if !ok {
		if u.err != nil {
			t.Fatal(u.err)
		}
		return nil
	}
	var e api.ControlError
	if err := app.Details(&e); err != nil {
		t.Fatal(err)
	}
	return &e
}

// call queries the status of a call.
func (l *lab) ofCall(id string) api.SessionCallStatus {
	l.t.Helper()
	var s []api.SessionCallStatus
	value, err := l.QueryWorkflow(api.CallStatusQuery, []string{id})
	if err == nil {
		err = value.Get(&s)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return s[0]
}

// text returns a status in one line: state, and what became of the call.
func text(s api.SessionCallStatus) string {
	parts := []string{s.ID, string(s.State)}
	if s.Attached {
		parts = append(parts, "attached")
	}
	if s.Outcome != nil && s.Outcome.Result != nil {
		parts = append(parts, string(s.Outcome.Result.Output))
	}
	if s.Outcome != nil && s.Outcome.Error != nil {
		parts = append(parts, string(s.Outcome.Error.Type))
	}
	return strings.Join(parts, " ")
}

// unclear makes the call with that ID end with an unknown outcome.
func unclear(id string) func(activity.Info) error {
	return func(info activity.Info) error {
		if info.ActivityID != id {
			return nil
		}
		return executor.Failure(&api.Error{Type: api.ErrOutcomeUnknown,
			Phase: api.PhaseExecution, Message: "no answer"})
	}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

const minute = api.Duration(time.Minute)

func TestSession_MakesCallsUntilItIsIdle(t *testing.T) {
	l := newLab(t)
	greet := l.submit(0, api.SessionCall{ID: "a", Tool: "greet", Arguments: `{"name":"Ann"}`,
		Wait: minute, Trace: "trace-1"})
	flaky := l.submit(time.Second, api.SessionCall{ID: "b", Tool: "flaky", Arguments: "{}"})
	broken := l.submit(time.Second, api.SessionCall{ID: "c", Tool: "broken", Arguments: "{}",
		Wait: minute})
	unknown := l.submit(2*time.Second, api.SessionCall{ID: "d", Tool: "gret", Arguments: "{}",
		Wait: minute})
	l.after(20*time.Minute, func() {
		same(t, "the call that the client did not wait for", text(l.ofCall("b")),
			`b ended "now"`)
		same(t, "an unknown call", text(l.ofCall("x")), "x unknown")
	})
	began := l.Now()
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	r := l.result()
	same(t, "greet", text(greet.status(t)), `a ended "hello Ann "`)
	same(t, "flaky", text(flaky.status(t)), "b running")
	same(t, "broken", text(broken.status(t)), "c ended execution_error")
	same(t, "unknown tool", text(unknown.status(t)), "d ended tool_not_found")
	same(t, "near names", unknown.status(t).Outcome.Error.Near, []string{"greet"})
	same(t, "outcome", r.Outcome, api.OutcomeCompleted)
	same(t, "usage", r.Usage, api.Usage{Calls: 4, Failed: 2})
	// flaky waits ten minutes before its second attempt, and the session is idle after that.
	if took := l.Now().Sub(began).Round(time.Minute); took != 40*time.Minute {
		t.Errorf("the session ended after %v, want 40m", took)
	}
	if o := l.scheduled[0].call.Origin; o.Trace != "trace-1" ||
		!reflect.DeepEqual(o.Caller, api.Caller{Type: api.CallerSession, ID: "ana"}) {
		t.Errorf("the origin of a call is %+v", o)
	}
}

func TestSession_AttachesRepeatedCalls(t *testing.T) {
	l := newLab(t)
	l.returns = unclear("2")
	store := api.SessionCall{ID: "1", Tool: "store", Arguments: `{"text":"x"}`, Wait: minute}
	with := func(id, key, arguments string) api.SessionCall {
		c := store
		c.ID, c.Key, c.Arguments = id, key, arguments
		return c
	}
	for _, c := range []struct {
		about string
		at    time.Duration
		call  api.SessionCall
		want  string
	}{
		{"a call", 0, with("1", "", `{"text":"x"}`), "1 ended 1"},
		{"an equal call while it runs", 0, with("1b", "", `{ "text" : "x" }`), "1 ended attached 1"},
		{"an equal call after it", time.Minute, with("1c", "", `{"text":"x"}`), "1c ended 2"},
		{"the same id", 2 * time.Minute, with("1", "", `{"text":"x"}`), "1 ended 1"},
		{"a call with unknown outcome", 3 * time.Minute, with("2", "", `{"text":"y"}`),
			"2 ended outcome_unknown"},
		{"an equal call after it", 4 * time.Minute, with("2b", "", `{"text":"y"}`),
			"2 ended attached outcome_unknown"},
		{"an equal call with a key of its own", 5 * time.Minute, with("3", "k", `{"text":"y"}`),
			"3 ended 3"},
		{"the same key", 6 * time.Minute, with("3b", "k", `{"text":"y"}`), "3 ended attached 3"},
		{"an equal read call while it runs", 7 * time.Minute, api.SessionCall{ID: "4",
			Tool: "greet", Arguments: `{"name":"a"}`, Wait: minute}, `4 ended "hello a "`},
		{"an equal read call while it runs", 7 * time.Minute, api.SessionCall{ID: "5",
			Tool: "greet", Arguments: `{"name":"a"}`, Wait: minute}, `5 ended "hello a "`},
	} {
		u := l.submit(c.at, c.call)
		t.Cleanup(func() { same(t, c.about, text(u.status(t)), c.want) })
	}
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	r := l.result()
	same(t, "stored texts", l.stored, []string{"x", "x", "y"})
	same(t, "calls", r.Usage.Calls, 6)
}

// A client whose connection breaks repeats its call, perhaps after the call has ended. It gets the
// result once; a further equal call is another one.
func TestSession_KeepsTheResultOfACallWhoseClientLeft(t *testing.T) {
	l := newLab(t)
	store := func(d time.Duration, id string) *update {
		return l.submit(d, api.SessionCall{ID: id, Tool: "store", Arguments: `{"text":"x"}`,
			Wait: minute})
	}
	store(0, "1")
	l.request(time.Minute, api.LeaveCallUpdate, api.LeaveCall{ID: "1"})
	unknown := l.request(time.Minute, api.LeaveCallUpdate, api.LeaveCall{ID: "x"})
	repeated, other := store(2*time.Minute, "1b"), store(3*time.Minute, "1c")
	store(4*time.Minute, "2")
	l.request(5*time.Minute, api.LeaveCallUpdate, api.LeaveCall{ID: "2"})
	l.after(5*time.Minute+time.Second, func() {
		l.SetContinueAsNewSuggested(true)
		l.updateRun(api.SubmitCallsUpdate, "same", []api.SessionCall{{ID: "1", Tool: "store",
			Arguments: "{}", Caller: api.Caller{ID: "ana"}}})
	})
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	in := l.continuedSession()
	same(t, "repeated", text(repeated.status(t)), "1 ended attached 1")
	same(t, "another call", text(other.status(t)), "1c ended 2")
	same(t, "an unknown call", unknown.control(t).Type, api.NoCall)
	same(t, "stored texts", l.stored, []string{"x", "x", "x"})

	l = newLab(t)
	repeated, other = store(0, "2b"), store(time.Minute, "2c")
	l.ExecuteWorkflow(api.SessionWorkflow, in)
	l.result()
	same(t, "repeated later", text(repeated.status(t)), "2 ended attached 3")
	same(t, "another call later", text(other.status(t)), "2c ended 1")
}

func TestSession_CancelsCalls(t *testing.T) {
	l := newLab(t)
	running := l.submit(0, api.SessionCall{ID: "r", Tool: "hang", Arguments: "{}", Wait: minute})
	l.submit(time.Second, api.SessionCall{ID: "n", Tool: "note", Arguments: `{"text":"n"}`})
	l.request(2*time.Second, api.CancelCallUpdate, api.CancelCall{ID: "r", By: "ana",
		Reason: "too slow"})
	over := l.request(time.Minute, api.CancelCallUpdate, api.CancelCall{ID: "r", By: "ana"})
	unknown := l.request(time.Minute, api.CancelCallUpdate, api.CancelCall{ID: "x", By: "ana"})
	blank := l.request(time.Minute, api.CancelCallUpdate, api.CancelCall{ID: "r"})
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	l.result()
	same(t, "the running call", text(running.status(t)), "r ended cancelled")
	same(t, "a call that is over", over.control(t), (*api.ControlError)(nil))
	same(t, "an unknown call", unknown.control(t),
		&api.ControlError{Type: api.NoCall, Message: "the session has no call x"})
	same(t, "nobody", blank.control(t), &api.ControlError{Type: api.ControlMalformed,
		Message: "the name of the caller is missing"})
	same(t, "executed", l.executed, []string{"r hang", "n note"})
}

func TestSession_EndsOnRequest(t *testing.T) {
	// The second attempt of the call begins after ten minutes.
	for grace, attempts := range map[time.Duration]int{0: 1, time.Hour: 2} {
		l := newLab(t)
		l.submit(0, api.SessionCall{ID: "f", Tool: "flaky", Arguments: "{}"})
		l.request(time.Second, api.EndSessionUpdate, api.EndSession{By: "ana",
			Grace: api.Duration(grace)})
		late := l.submit(time.Second, api.SessionCall{ID: "l", Tool: "greet", Arguments: "{}"})
		l.ExecuteWorkflow(api.SessionWorkflow, inSession())
		same(t, "outcome", l.result().Outcome, api.OutcomeCompleted)
		same(t, "attempts with grace "+grace.String(), len(l.executed), attempts)
		if e := late.control(t); e == nil || e.Type != api.RunEnding {
			t.Errorf("a late call was answered %v", e)
		}
	}
}

func TestSession_EndsAtItsLimits(t *testing.T) {
	l := newLab(t)
	in := inSession()
	in.Session.Limits = api.Limits{Calls: 2, WallTime: 5 * minute}
	var greets []*update
	for i := range 3 {
		greets = append(greets, l.submit(0, api.SessionCall{ID: fmt.Sprint("g", i), Tool: "note",
			Arguments: `{"text":"a"}`, Key: fmt.Sprint(i), Wait: minute}))
	}
	l.ExecuteWorkflow(api.SessionWorkflow, in)
	r := l.result()
	same(t, "outcome", string(r.Outcome)+" "+r.Limit, "limit_reached wall_time")
	same(t, "the call beyond the limit", text(greets[2].status(t)), "g2 ended budget_exceeded")
	same(t, "stored", len(l.stored), 2)
}

// continued returns the input with which a session continues.
func (l *lab) continuedSession() api.RunInput {
	l.t.Helper()
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		l.t.Fatalf("the session ended with %v", l.GetWorkflowError())
	}
	var in api.RunInput
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		l.t.Fatal(err)
	}
	return in
}

func TestSession_ContinuesAsNewWithWhatItKnows(t *testing.T) {
	l := newLab(t)
	l.returns = unclear("2")
	l.submit(0, api.SessionCall{ID: "1", Tool: "store", Arguments: `{"text":"x"}`, Key: "k"})
	l.submit(0, api.SessionCall{ID: "2", Tool: "store", Arguments: `{"text":"y"}`})
	l.submit(0, api.SessionCall{ID: "3", Tool: "greet", Arguments: `{"name":"a"}`})
	l.after(time.Second, func() { l.SetContinueAsNewSuggested(true) })
	l.after(time.Minute, func() {
		l.updateRun(api.SubmitCallsUpdate, "same", []api.SessionCall{{
			ID: "3", Tool: "greet", Arguments: "{}", Caller: api.Caller{ID: "ana"}}})
	})
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	in := l.continuedSession()

	later := newLab(t)
	key := later.submit(0, api.SessionCall{ID: "1b", Tool: "store", Arguments: `{"text":"x"}`,
		Key: "k"})
	unknown := later.submit(0, api.SessionCall{ID: "2b", Tool: "store", Arguments: `{"text":"y"}`})
	repeated := later.submit(0, api.SessionCall{ID: "3", Tool: "greet", Arguments: `{"name":"a"}`})
	later.ExecuteWorkflow(api.SessionWorkflow, in)
	r := later.result()
	same(t, "the same key", text(key.status(t)), "1 ended attached 1")
	same(t, "an unknown outcome", text(unknown.status(t)), "2 ended attached outcome_unknown")
	same(t, "the same id", text(repeated.status(t)), `3 ended "hello a "`)
	same(t, "executed again", later.executed, []string(nil))
	same(t, "usage over the chain", r.Usage, api.Usage{Calls: 3, Failed: 1})
}

func TestSession_AnswersAtOnceThatACallAwaitsAPerson(t *testing.T) {
	l := newGuardedLab(t)
	pay := l.submit(0, api.SessionCall{ID: "p", Tool: "pay", Arguments: `{"value":1}`,
		Wait: 5 * minute})
	again := l.submit(time.Second, api.SessionCall{ID: "p2", Tool: "pay",
		Arguments: `{"value":1}`, Wait: 5 * minute})
	l.after(2*time.Second, func() {
		same(t, "the call", text(pay.status(t)), "p awaits_approval")
		same(t, "an equal call", text(again.status(t)), "p awaits_approval attached")
	})
	l.request(time.Minute, api.EndSessionUpdate, api.EndSession{By: "ana"})
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	l.result()

	l = newPeoplesLab(t)
	ask := l.submit(0, api.SessionCall{ID: "q", Tool: "ask", Arguments: `{"question":"Which?"}`,
		Wait: 5 * minute})
	l.after(time.Second, func() {
		s := ask.status(t)
		same(t, "the asking call", text(s), "q awaits_answer")
		same(t, "its question", s.Question.Text, "Which?")
	})
	l.reply(time.Minute, says("q", "ana", `"red"`))
	l.after(2*time.Minute, func() { same(t, "the result", text(l.ofCall("q")), `q ended "red"`) })
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	l.result()
}

func TestSession_AnswersAtOnceIfManyWait(t *testing.T) {
	l := newLab(t)
	var waits []*update
	for i := range 9 {
		waits = append(waits, l.submit(0, api.SessionCall{ID: fmt.Sprint("f", i), Tool: "flaky",
			Arguments: "{}", Key: fmt.Sprint(i), Wait: 5 * minute}))
	}
	l.after(time.Minute, func() {
		answered := 0
		for _, u := range waits {
			select {
			case <-u.over:
				answered++
			default:
			}
		}
		same(t, "answered while all wait", answered, 1)
	})
	l.request(2*time.Minute, api.EndSessionUpdate, api.EndSession{By: "ana"})
	l.ExecuteWorkflow(api.SessionWorkflow, inSession())
	l.result()
}

func TestSession_NeedsASession(t *testing.T) {
	l := newLab(t)
	l.ExecuteWorkflow(api.SessionWorkflow, api.RunInput{})
	e := l.failure(api.RunInvalid, nil)
	same(t, "the failure", e.Message(), "nothing was run: $.session: the input has no session")
}
