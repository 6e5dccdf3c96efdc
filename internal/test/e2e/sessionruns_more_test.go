package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/gateway"
	"github.com/switchyard/switchyard/gateway/runs"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// outcome returns what became of a call, in one line.
func outcome(s api.SessionCallStatus) string {
	switch {
	case s.Outcome == nil:
		return string(s.State)
	case s.Outcome.Error != nil:
		return string(s.Outcome.Error.Type)
	}
	return string(s.Outcome.Result.Output)
}

// A call that asks returns before the time that its client would wait, and ends with the answer.
func TestSessionRun_AsksAPersonInACall(t *testing.T) {
	l := newLab(t)
	l.worker()
	s := l.session("session/asks")
	began := time.Now()
	status, err := s.Call(l.ctx, api.SessionCall{ID: "q", Tool: "inquire",
		Arguments: `{"text":"Which colour?"}`, Wait: api.Duration(time.Minute)})
	if err != nil || status.State != api.SessionCallAwaitsAnswer ||
		status.Question.Text != "Which colour?" || time.Since(began) > 30*time.Second {
		t.Fatalf("the call after %v: %+v, %v", time.Since(began), status, err)
	}
	if err := s.Run().Answer(l.ctx, api.Reply{Question: status.Question.ID, By: "bob",
		Value: json.RawMessage(`"red"`)}); err != nil {
		t.Fatal(err)
	}
	status, err = s.Wait(l.ctx, status, time.Minute)
	if err != nil || outcome(status) != `"q/1 red"` {
		t.Errorf("the answered call: %s, %v", outcome(status), err)
	}
}

// Exclusive calls of a session run one after another in the order in which they were submitted.
func TestSessionRun_KeepsTheOrderOfExclusiveCalls(t *testing.T) {
	l := newLab(t)
	l.worker()
	l.worker() // any worker can take a call
	s := l.session("session/order")
	const calls = 8
	var want []string
	for i := range calls {
		id := fmt.Sprint("c", i)
		if _, err := s.Call(l.ctx, api.SessionCall{ID: id, Tool: "tick_alone",
			Arguments: `{"ms":100}`}); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	for _, id := range want {
		l.made(s, api.SessionCall{ID: id, Tool: "tick_alone", Arguments: `{"ms":100}`})
	}
	var got []string
	last := map[int]time.Duration{}
	for _, e := range l.entries() {
		got = append(got, e.Call)
		if e.Start < last[e.PID] {
			t.Errorf("%s began before its predecessor had ended", e.Call)
		}
		last[e.PID] = e.End
	}
	if !slices.Equal(got, want) {
		t.Errorf("the calls ran in the order %q", got)
	}
}

// Cancelling the whole session ends its calls: those that run, those that wait for others, and
// those that wait for a person. The next call begins another session.
func TestSessionRun_IsCancelledWithItsCalls(t *testing.T) {
	l := newLab(t)
	l.worker()
	s := l.session("session/cancelled")
	var open []api.SessionCallStatus
	for _, c := range []api.SessionCall{{ID: "runs", Tool: "hold_read"},
		{ID: "waits", Tool: "tick_alone", Arguments: `{"ms":1}`},
		{ID: "asks", Tool: "publish", Arguments: `{"text":"a"}`}} {
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		status, err := s.Call(l.ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, status)
	}
	l.awaitEntries(1)
	if err := s.Run().Cancel(l.ctx, "ana", "enough"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Run().Result(l.ctx)
	if e, ok := errors.AsType[*switchyard.RunError](err); !ok || e.Status != history.RunCancelled {
		t.Errorf("the session ended with %v", err)
	}
	for _, status := range open {
		now, err := s.Status(l.ctx, status.ID, status.RunID)
		if err != nil || outcome(now) != string(api.ErrCancelled) {
			t.Errorf("%s: %+v, %v", status.ID, now, err)
		}
	}
	next := l.made(s, api.SessionCall{ID: "next", Tool: "append", Arguments: `{"text":"b"}`})
	if next.Outcome == nil || next.Outcome.Error != nil || next.RunID == open[0].RunID {
		t.Errorf("the next call: %+v", next)
	}
}

// While the server restarts, calls of a session go on and their clients get the results.
func TestSessionRun_SurvivesARestartOfTheServer(t *testing.T) {
	database := filepath.Join(t.TempDir(), "server.db")
	l := newLab(t, "--db-filename", database)
	w := l.worker()
	s := l.session("session/restart")
	const calls = 10
	var all sync.WaitGroup
	make := func(id, tool string) {
		all.Go(func() {
			c := api.SessionCall{ID: id, Tool: tool, Arguments: "{}", Key: id,
				Wait: api.Duration(3 * time.Second)}
			for l.ctx.Err() == nil {
				status, err := s.Call(l.ctx, c)
				if err == nil && status.Outcome != nil {
					if status.Outcome.Error != nil {
						t.Errorf("%s: %s", id, outcome(status))
					}
					return
				}
			}
			t.Errorf("%s has no outcome", id)
		})
	}
	make("held", "hold_read") // may run twice: its worker cannot send heartbeats
	l.awaitEntries(1)
	for i := range calls {
		make(fmt.Sprint("n", i), "number")
	}
	l.Server.Kill()
	_, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		t.Fatal(err)
	}
	l.Server = testserver.NewServer(t, "--db-filename", database, "--port", port)
	l.openGate()
	all.Wait()
	w.Kill() // a stop in order takes 30 s after a restart of the server
	for call, n := range l.executions() {
		if n != 1 && call != "held hold_read" {
			t.Errorf("%s was executed %d times", call, n)
		}
	}
	if n := len(l.executions()); n != calls+1 {
		t.Errorf("%d calls were executed", n)
	}
}

// Queries for the calls of sessions that have ended are answered by workers that have not seen the
// session, all at once.
func TestSessionRun_AnswersManyQueriesAfterItsEnd(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	const sessions, calls = 2, 30
	var runs [sessions]string
	var all sync.WaitGroup
	for n := range sessions {
		s := l.session(fmt.Sprint("session/queries", n))
		for i := range calls {
			all.Go(func() {
				status := l.made(s, api.SessionCall{ID: fmt.Sprint("c", i), Tool: "flaky",
					Arguments: "{}", Key: fmt.Sprint(i)})
				if i == 0 {
					runs[n] = status.RunID
				}
			})
		}
		all.Wait()
		if err := s.End(l.ctx, api.EndSession{By: "ana"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run().Result(l.ctx); err != nil {
			t.Fatal(err)
		}
	}
	first.Kill()
	l.worker("--sticky-cache", "0")
	for n := range sessions {
		for i := range calls {
			all.Go(func() {
				value, err := l.Client.QueryWorkflow(l.ctx, fmt.Sprint("session/queries", n),
					runs[n], api.CallStatusQuery, []string{fmt.Sprint("c", i)})
				var status []api.SessionCallStatus
				if err == nil {
					err = value.Get(&status)
				}
				if err != nil || len(status) != 1 || outcome(status[0]) != `"now"` {
					t.Errorf("call %d of session %d: %+v, %v", i, n, status, err)
				}
			})
		}
	}
	all.Wait()
}

// The caller of a session is its search attribute and the fairness key of its activities, and
// policies know that a session calls.
func TestSessionRun_ShowsItsCaller(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	l.writeFile(file, `policies: [{name: sessions, then: deny, message: not in sessions,
  tools: [number], when: "caller.type == 'session' && caller.id == 'ana'"}]`)
	l.worker("--policies-file", file)
	c := switchyard.NewClient(l.Client, switchyard.Options{})
	for _, who := range []string{"ana", "bob"} {
		s := c.Session("session/"+who, switchyard.SessionStart{Client: "e2e 1.0",
			Caller: api.Caller{ID: who, Auth: api.AuthKey}})
		want := map[string]string{"ana": string(api.ErrPolicyViolation), "bob": "2"}[who]
		l.made(s, api.SessionCall{ID: "a", Tool: "append", Arguments: `{"text":"x"}`})
		if got := outcome(l.made(s, api.SessionCall{ID: "n", Tool: "number",
			Arguments: "{}"})); who == "ana" && got != want || who == "bob" && got == want {
			t.Errorf("the call of %s ended with %s", who, got)
		}
		l.await("for the session in the list", func() bool {
			code, out := l.command("list", "--caller", who, "--output", "json")
			return code == 0 && strings.Contains(out, "session/"+who) &&
				!strings.Contains(out, "session/"+map[string]string{"ana": "bob",
					"bob": "ana"}[who])
		})
		scheduled := 0
		for _, h := range l.histories("session/"+who, "") {
			for _, e := range h.GetEvents() {
				if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
					scheduled++
					if key := e.GetActivityTaskScheduledEventAttributes().GetPriority().
						GetFairnessKey(); key != "" && key != "session/"+who {
						t.Errorf("the fairness key of an activity is %q", key)
					}
				}
				if a := e.GetWorkflowExecutionStartedEventAttributes(); a != nil &&
					a.GetPriority().GetFairnessKey() != "session/"+who {
					t.Errorf("the fairness key of the run is %q", a.GetPriority().GetFairnessKey())
				}
			}
		}
		if scheduled == 0 {
			t.Error("the session has no activity")
		}
	}
	_, out := l.command("report", "--output", "json")
	var report stats.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Sessions) != 2 ||
		report.Sessions[0].Calls != 2 || report.Sessions[0].Runs.All != 1 {
		t.Errorf("the report: %+v, %v", report.Sessions, err)
	}
}

// An authenticated caller does not decide about the calls of a run that it started, whichever kind
// the run is.
func TestApprovals_AreNotDecidedByTheOneWhoStartedTheAgent(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	run, err := c.Run(l.ctx, guarded(step(call("publish", `{"text":"a"}`)), answer("done")), "Go.", switchyard.StartOptions{
		ID: "foureyes", Caller: "ada", CallerAuth: api.AuthKey})
	if err != nil {
		t.Fatal(err)
	}
	a := l.awaitApprovals("foureyes", 1)["1.1"]
	decide := func(who string) error {
		return run.Decide(l.ctx, api.Decision{Call: a.Call, Digest: a.Digest,
			Kind: api.DecisionApprove, By: who, Auth: api.AuthKey})
	}
	refusal, ok := errors.AsType[*api.ReplyError](decide("ada"))
	if !ok || refusal.Type != api.DecisionOwnCall {
		t.Errorf("its own approval is answered %v", refusal)
	}
	if err := decide("bob"); err != nil {
		t.Error(err)
	}
	if _, err := run.Result(l.ctx); err != nil {
		t.Error(err)
	}
}

// Two tokens of one person have different claims. In the session that both use, each request gets
// what its own claims give, and records say which claims that were.
func TestSessionRun_JudgesEachRequestByItsOwnClaims(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	l.writeFile(file, `policies: [{name: staff, when: "caller.claims.group != 'staff'", then: deny, message: staff only}]`)
	l.worker("--policies-file", file)
	s := &runs.Sessions{Client: switchyard.NewClient(l.Client, switchyard.Options{})}
	submit := func(id, group string) api.SessionCallStatus {
		t.Helper()
		of := gateway.Session{Client: "editor", Caller: api.Caller{Type: api.CallerSession,
			ID: "ana", Auth: api.AuthToken, Claims: map[string]any{"group": group}}}
		status, err := s.Submit(l.ctx, of, api.SessionCall{ID: id, Tool: "number", Arguments: "{}",
			Wait: api.Duration(time.Minute)})
		if err != nil || status.Outcome == nil {
			t.Fatalf("call %s: %+v, %v", id, status, err)
		}
		return status
	}
	for i, group := range []string{"staff", "guests", "staff", "guests"} {
		status := submit(fmt.Sprint("c", i), group)
		if denied := status.Outcome.Error != nil; denied != (group == "guests") {
			t.Errorf("call %d with the group %s: %+v", i, group, status.Outcome.Error)
		}
	}
	if n := len(l.entries()); n != 2 {
		t.Errorf("%d calls were executed, want the 2 of staff", n)
	}
	run := switchyard.NewClient(l.Client, switchyard.Options{}).Open(
		gateway.Session{Caller: api.Caller{ID: "ana"}}.RunID())
	var got []string
	for r, err := range run.Records(l.ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(r.CallID, " ", r.Caller.ID, " ", r.Caller.Auth, " ",
			r.Caller.Claims["group"], " ", r.Status))
	}
	slices.Sort(got)
	expect(t, "records", got, []string{"c0 ana jwt staff completed", "c1 ana jwt guests refused",
		"c2 ana jwt staff completed", "c3 ana jwt guests refused"})
}

// fewUpdates has the server accept 60 updates of a run.
var fewUpdates = []string{"--dynamic-config-value", "history.maxTotalUpdates=60"}

// waitsForApproval makes a call that waits for approval and returns it.
func (l *lab) waitsForApproval(s *switchyard.Session, id string) *api.Approval {
	l.t.Helper()
	status, err := s.Call(l.ctx, api.SessionCall{ID: id, Tool: "publish",
		Arguments: `{"text":"approved"}`, Wait: api.Duration(time.Minute)})
	if err != nil || status.Approval == nil {
		l.t.Fatalf("the call does not wait for approval: %+v, %v", status, err)
	}
	return status.Approval
}

// A person decides late, after more calls than the history of the session can take: it continues in
// new histories with the call that waits.
func TestSessionRun_ContinuesWithCallsThatWaitForApproval(t *testing.T) {
	l := newLab(t, fewUpdates...)
	l.worker()
	s := l.session("session/waiting")
	approval := l.waitsForApproval(s, "w")
	for i := range 60 {
		id := fmt.Sprint("c", i)
		l.made(s, api.SessionCall{ID: id, Tool: "number", Arguments: "{}"})
		if i%2 == 0 { // a history that is full refuses it
			if err := s.Leave(l.ctx, api.LeaveCall{ID: id}); err != nil {
				t.Log(err)
			}
		}
	}
	l.must(s.Run().Decide(l.ctx, api.Decision{Call: "w", Digest: approval.Digest,
		Kind: api.DecisionApprove, By: "bob"}))
	l.made(s, api.SessionCall{ID: "w", Tool: "publish", Arguments: `{"text":"approved"}`})
	written := 0
	for _, e := range l.entries() {
		if e.Text == "approved" {
			written++
		}
	}
	if written != 1 {
		t.Errorf("the approved call was executed %d times", written)
	}
	summary, err := s.Run().Summary(l.ctx)
	l.must(err)
	if len(summary.Parts) < 2 || len(summary.Approvals) != 0 {
		t.Errorf("the session has %d histories and the open approvals %+v", len(summary.Parts),
			summary.Approvals)
	}
	for r, err := range s.Run().Records(l.ctx) {
		l.must(err)
		if r.CallID == "w" && (r.Approval == nil || r.Approval.By != "bob" ||
			r.Status != api.CallCompleted) {
			t.Errorf("the record of the approved call is %+v with %+v", r, r.Approval)
		}
	}
	l.must(s.End(l.ctx, api.EndSession{By: "ana"}))
}

// Clients use up the updates of a history that a running call keeps from ending. People decide,
// cancel and end the session with those that are left.
func TestSessionRun_LeavesUpdatesToPeople(t *testing.T) {
	l := newLab(t, fewUpdates...)
	l.worker()
	s := l.session("session/updates")
	_, err := s.Call(l.ctx, api.SessionCall{ID: "held", Tool: "hold_read", Arguments: "{}"})
	l.must(err)
	approval := l.waitsForApproval(s, "w")
	refused := false
	for i := 0; i < 100 && !refused; i++ {
		id := fmt.Sprint("c", i)
		_, err := s.Call(l.ctx, api.SessionCall{ID: id, Tool: "number", Arguments: "{}"})
		if refused = err != nil; !refused {
			err = s.Leave(l.ctx, api.LeaveCall{ID: id})
			refused = err != nil
		}
	}
	if !refused {
		t.Fatal("the session takes calls beyond the updates of its history")
	}
	l.must(s.Run().Decide(l.ctx, api.Decision{Call: "w", Digest: approval.Digest,
		Kind: api.DecisionApprove, By: "bob"}))
	l.must(s.Cancel(l.ctx, api.CancelCall{ID: "held", By: "ana"}))
	l.must(s.End(l.ctx, api.EndSession{By: "ana", Grace: api.Duration(time.Minute)}))
	r, err := s.Run().Result(l.ctx)
	l.must(err)
	if r.Outcome != api.OutcomeCompleted {
		t.Errorf("the session ended with %+v", r)
	}
}
