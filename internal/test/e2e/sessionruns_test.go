package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
)

// session returns a handle of a session. Its history is replayed at the end of the test.
func (l *lab) session(id string) *switchyard.Session {
	l.t.Helper()
	c := switchyard.NewClient(l.Client, switchyard.Options{Caller: "ana"})
	l.t.Cleanup(func() {
		s, err := c.Open(id).Summary(l.t.Context())
		if err == nil {
			l.replay(id, s.Run)
		}
	})
	return c.Session(id, switchyard.SessionStart{Client: "e2e 1.0"})
}

// made makes a call that must have an outcome within a minute.
func (l *lab) made(s *switchyard.Session, c api.SessionCall) api.SessionCallStatus {
	l.t.Helper()
	c.Wait = api.Duration(time.Minute)
	status, err := s.Call(l.ctx, c)
	if err != nil {
		l.t.Errorf("call %s: %v", c.ID, err)
	} else if status.Outcome == nil {
		l.t.Errorf("call %s has no outcome: %+v", c.ID, status)
	}
	return status
}

// A session makes 1,000 calls, 50 at a time, over several histories. Every call is executed once,
// and every outcome stays available, also after the session has ended.
func TestSessionRun_MakesAThousandCallsFiftyAtATime(t *testing.T) {
	inFull(t)
	l := newLab(t)
	l.worker()
	s := l.session("session/many")
	const clients, each = 50, 20
	began := time.Now()
	statuses := make([]api.SessionCallStatus, clients*each)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range each {
				n := c*each + i
				statuses[n] = l.made(s, api.SessionCall{ID: fmt.Sprint("c", n), Tool: "number",
					Arguments: "{}", Key: fmt.Sprint(n)})
			}
		})
	}
	all.Wait()
	t.Logf("1,000 calls took %v", time.Since(began).Round(time.Millisecond))
	if err := s.End(l.ctx, api.EndSession{By: "ana"}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run().Result(l.ctx); err != nil || r.Outcome != api.OutcomeCompleted ||
		r.Usage.Calls != clients*each {
		t.Errorf("the session ended with %+v, %v", r, err)
	}
	for call, n := range l.executions() {
		if n != 1 {
			t.Errorf("%s was executed %d times", call, n)
		}
	}
	if n := len(l.entries()); n != clients*each {
		t.Errorf("%d calls were executed", n)
	}
	for _, n := range []int{0, 500, 999} {
		again, err := s.Status(l.ctx, fmt.Sprint("c", n), statuses[n].RunID)
		if err != nil || again.Outcome == nil {
			t.Errorf("the outcome of an earlier call: %+v, %v", again, err)
		}
	}
	summary, err := s.Run().Summary(l.ctx)
	if err != nil || summary.Kind != history.RunSession || len(summary.Parts) < 2 {
		t.Errorf("the session has %d histories: %v", len(summary.Parts), err)
	}
	records := 0
	for r, err := range s.Run().Records(l.ctx) {
		if records++; err != nil || r.Status != api.CallCompleted ||
			r.Caller.Type != api.CallerSession || r.Caller.ID != "ana" {
			t.Fatalf("record %d is %+v, %v", records, r, err)
		}
	}
	if records != clients*each {
		t.Errorf("%d records", records)
	}
}

// After kill -9 of the worker, calls that may run twice are repeated, and a once call is not, also
// if its client sends it again.
func TestSessionRun_SurvivesAKilledWorker(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	s := l.session("session/killed")
	once := api.SessionCall{ID: "once", Tool: "hold_once", Arguments: "{}"}
	for _, c := range []api.SessionCall{once, {ID: "read", Tool: "hold_read", Arguments: "{}"}} {
		if status, err := s.Call(l.ctx, c); err != nil ||
			status.State != api.SessionCallRunning {
			t.Fatalf("call %s: %+v, %v", c.ID, status, err)
		}
	}
	l.awaitEntries(2)
	first.Kill()
	l.openGate()
	l.worker()
	read := l.made(s, api.SessionCall{ID: "read", Tool: "hold_read", Arguments: "{}"})
	if read.Outcome == nil || read.Outcome.Result == nil {
		t.Errorf("the call that may run twice: %+v", read)
	}
	once.ID = "once2"
	repeated := l.made(s, once)
	if repeated.ID != "once" || !repeated.Attached || repeated.Outcome == nil ||
		repeated.Outcome.Error.Type != api.ErrOutcomeUnknown {
		t.Errorf("the repeated once call: %+v", repeated)
	}
	got := l.executions()
	if got["once hold_once"] != 1 || got["read hold_read"] != 2 || len(got) != 2 {
		t.Errorf("executions: %v", got)
	}
}

// Two clients that send the same call at the same time get one execution, and the session ends when
// it has been idle.
func TestSessionRun_TakesACallOfTwoClientsOnce(t *testing.T) {
	l := newLab(t)
	l.worker()
	start := switchyard.SessionStart{Client: "e2e 1.0", IdleTimeout: 2 * time.Second}
	c := switchyard.NewClient(l.Client, switchyard.Options{Caller: "ana"})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			got := l.made(c.Session("session/two", start), api.SessionCall{ID: "same",
				Tool: "number", Arguments: "{}"})
			if got.ID != "same" || got.Outcome == nil || got.Outcome.Error != nil {
				t.Errorf("a client got %+v", got)
			}
		})
	}
	both.Wait()
	if n := len(l.entries()); n != 1 {
		t.Errorf("the call was executed %d times", n)
	}
	r, err := c.Open("session/two").Result(l.ctx)
	if err != nil || r.Outcome != api.OutcomeCompleted {
		t.Errorf("the idle session ended with %+v, %v", r, err)
	}
	// A client that repeats the call after the end of the session gets its outcome.
	again := l.made(c.Session("session/two", start), api.SessionCall{ID: "same", Tool: "number",
		Arguments: "{}"})
	if n := len(l.entries()); n != 1 || string(again.Outcome.Result.Output) != "1" {
		t.Errorf("the repetition got %+v; the call was executed %d times", again, n)
	}
	// The next call begins another session under the same ID.
	l.made(c.Session("session/two", start), api.SessionCall{ID: "next", Tool: "number",
		Arguments: "{}"})
	if n := len(l.entries()); n != 2 {
		t.Errorf("%d calls were executed", n)
	}
	// Another caller's call with that ID is another call.
	_, err = c.Open("session/two").Result(l.ctx)
	l.must(err)
	other := switchyard.NewClient(l.Client, switchyard.Options{Caller: "bob"})
	if got := l.made(other.Session("session/two", start), api.SessionCall{ID: "next",
		Tool: "number", Arguments: "{}"}); len(l.entries()) != 3 {
		t.Errorf("another caller got %+v", got)
	}
}

// A call is made while no worker executes workflows, and the client learns by other means that the
// equal one before it has ended. The worker that comes then takes the update before the end of the
// activity, and makes the call nevertheless.
func TestSessionRun_MakesACallAnewAfterTheEqualOneEnded(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	lanes := filepath.Join(dir, "lanes.yaml")
	l.writeFile(lanes, "lanes: {elsewhere: {}}\n")
	l.must(os.Mkdir(filepath.Join(dir, "tools"), 0o700))
	l.writeFile(filepath.Join(dir, "tools", "pay.yaml"), `name: pay
version: 1.0.0
description: Pays.
entry: {type: function, handler: hold}
execution: {effect: once, lane: elsewhere, heartbeat: 1m}
`)
	flags := []string{"--tools", filepath.Join(dir, "tools"), "--lanes-file", lanes,
		"--lanes", "general"}
	first := l.workerIn(nil, flags...)
	began, end := make(chan int64, 2), make(chan struct{})
	l.elsewhere(func(n int64) *api.Error {
		began <- n
		<-end
		return nil
	})
	s := l.session("session/anew")
	call := api.SessionCall{ID: "c1", Tool: "pay", Arguments: "{}"}
	if _, err := s.Call(l.ctx, call); err != nil {
		t.Fatal(err)
	}
	l.await("for the call", func() bool { return len(began) == 1 })
	first.Kill()
	close(end)
	l.await("for the end of the call", func() bool {
		described, err := l.Client.DescribeWorkflowExecution(l.ctx, "session/anew", "")
		return err == nil && len(described.GetPendingActivities()) == 0
	})
	call.ID = "c2"
	made := make(chan api.SessionCallStatus, 1)
	go func() { made <- l.made(s, call) }()
	l.workerIn(nil, flags...)
	if status := <-made; status.Attached || len(began) != 2 {
		t.Errorf("the second call got %+v, and %d were executed", status, len(began))
	}
}

// A call of a session waits for a person's approval, and another one is cancelled.
func TestSessionRun_CallsWaitForApproval(t *testing.T) {
	l := newLab(t)
	l.worker()
	s := l.session("session/approval")
	for _, id := range []string{"yes", "no"} {
		status, err := s.Call(l.ctx, api.SessionCall{ID: id, Tool: "publish", Key: id,
			Arguments: `{"text":"a"}`})
		if err == nil {
			status, err = s.Status(l.ctx, id, "")
		}
		if err != nil || status.State != api.SessionCallAwaitsApproval {
			t.Fatalf("call %s: %+v, %v", id, status, err)
		}
		if id == "yes" {
			err = s.Run().Decide(l.ctx, api.Decision{Call: id, Digest: status.Approval.Digest,
				Kind: api.DecisionApprove, By: "bob"})
		} else {
			err = s.Cancel(l.ctx, api.CancelCall{ID: id, Reason: "not needed"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]api.CallStatus{"yes": api.CallCompleted,
		"no": api.CallCancelled} {
		l.made(s, api.SessionCall{ID: id, Tool: "publish", Arguments: `{"text":"a"}`})
		for r, err := range s.Run().Records(l.ctx) {
			if err != nil || r.CallID == id && r.Status != want {
				t.Errorf("the record of %s is %+v, %v", id, r, err)
			}
		}
	}
}

// A session that is full, because a question keeps it from continuing in a new history, is replayed
// by the worker that takes over from a killed one. Its next call is answered not much later than
// that of a session without a history.
func TestSessionRun_AnswersSoonAfterAKillWhenItIsFull(t *testing.T) {
	inFull(t)
	const calls, clients = 1790, 50
	l := newLab(t)
	first := l.worker()
	full, empty := l.session("session/full"), l.session("session/empty")
	if status, err := full.Call(l.ctx, api.SessionCall{ID: "ask", Tool: "ask",
		Arguments: `{"question":"Which?"}`, Wait: api.Duration(time.Minute)}); err != nil ||
		status.Question == nil {
		t.Fatalf("the question: %+v, %v", status, err)
	}
	l.made(empty, api.SessionCall{ID: "first", Tool: "number", Arguments: "{}"})
	began := time.Now()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := c; n < calls; n += clients {
				l.made(full, api.SessionCall{ID: fmt.Sprint("c", n), Tool: "number",
					Arguments: "{}", Key: fmt.Sprint(n)})
			}
		})
	}
	all.Wait()
	t.Logf("%d calls took %v", calls, time.Since(began).Round(time.Millisecond))
	first.Kill()
	l.worker()
	began = time.Now()
	took := map[*switchyard.Session]time.Duration{}
	var mu sync.Mutex
	for _, s := range []*switchyard.Session{full, empty} {
		all.Go(func() {
			l.made(s, api.SessionCall{ID: "next", Tool: "number", Arguments: "{}"})
			mu.Lock()
			defer mu.Unlock()
			took[s] = time.Since(began)
		})
	}
	all.Wait()
	t.Logf("the next call took %v in the full session and %v in the empty one", took[full],
		took[empty])
	if took[full] > took[empty]+answerWithin() {
		t.Errorf("the full session took %v longer", took[full]-took[empty])
	}
	if n := len(l.entries()); n != calls+3 {
		t.Errorf("%d calls were executed, want %d", n, calls+3)
	}
	if summary, err := full.Run().Summary(l.ctx); err != nil || len(summary.Parts) != 1 {
		t.Errorf("the full session has %d histories: %v", len(summary.Parts), err)
	}
}
