package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// dial returns a client of the lab's server.
func (l *lab) dial() *switchyard.Client {
	l.t.Helper()
	c, err := switchyard.Dial(l.ctx, switchyard.Options{Address: l.Address, Caller: "ada",
		Logger: testserver.Quiet})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// calling starts a direct call.
func (l *lab) calling(c *switchyard.Client, id, tool string, arguments any) *switchyard.Run {
	l.t.Helper()
	run, err := c.Call(l.ctx, tool, arguments, switchyard.StartOptions{ID: id})
	if err != nil {
		l.t.Fatal(err)
	}
	return run
}

// requestError returns the type of a *RequestError; empty for other errors.
func requestError(err error) switchyard.RequestErrorType {
	e, _ := errors.AsType[*switchyard.RequestError](err)
	if e == nil {
		return ""
	}
	return e.Type
}

func TestClient_ReturnsTheResultsOfRuns(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	var wrote struct{ Text string }
	if err := l.calling(c, "call", "append", map[string]string{"text": "a"}).Output(l.ctx,
		&wrote); err != nil || wrote.Text != "a" {
		t.Errorf("the call returned %q, %v", wrote, err)
	}
	plan, err := c.Plan(l.ctx, &switchyard.Plan{Calls: []api.PlanCall{
		planCall("x", "append", `{"text":"b"}`), planCall("y", "append", `{"text":"${x.text}!"}`)}},
		switchyard.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := plan.Result(l.ctx); err != nil || string(result.Output) != `{"y":{"text":"b!"}}` {
		t.Errorf("the plan returned %s, %v", result.Output, err)
	}
	run, err := c.Run(l.ctx, agent(step(call("append", `{"text":"c"}`)), answer("done")), "Go.",
		switchyard.StartOptions{Variables: map[string]any{"n": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := run.Result(l.ctx); err != nil || result.Answer != "done" {
		t.Errorf("the agent answered %q, %v", result.Answer, err)
	}
	var called []string
	for r, err := range run.Records(l.ctx) {
		called = append(called, fmt.Sprint(r.CallID, " ", r.Tool, " ", r.Status, " ", err))
	}
	expect(t, "records", called, []string{"1.1 append completed <nil>"})
	s, err := run.Summary(l.ctx)
	if err != nil || s.Status != history.RunCompleted || s.Caller.ID != "ada" {
		t.Errorf("the summary is %+v, %v", s, err)
	}
}

func TestClient_FailsWithTheErrorOfTheCall(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	for tool, want := range map[string]api.ErrorType{"broken": api.ErrExecution,
		"append": api.ErrValidation, "nowhere": api.ErrToolNotFound} {
		_, err := l.calling(c, tool, tool, nil).Result(l.ctx)
		failed, _ := errors.AsType[*switchyard.RunError](err)
		call, _ := errors.AsType[*switchyard.Error](err)
		if failed == nil || failed.Status != history.RunFailed ||
			failed.Type != api.RunCallsFailed || call == nil || call.Type != want {
			t.Errorf("%s: %v, want a failed run with a call of type %s", tool, err, want)
		}
	}
	_, err := l.calling(c, "held", "hold_once", nil).Result(l.expired(0))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an expired context gives %v", err)
	}
	if err := c.Open("held").Cancel(l.ctx, "ada", "no"); err != nil {
		t.Fatal(err)
	}
	_, err = c.Open("held").Result(l.ctx)
	if failed, _ := errors.AsType[*switchyard.RunError](err); failed == nil ||
		failed.Status != history.RunCancelled {
		t.Errorf("the cancelled run gives %v", err)
	}
	if err := c.Open("held").Send(l.ctx, switchyard.Sent{Text: "x", By: "ada"}); requestError(
		err) != switchyard.RunEnded {
		t.Errorf("a message to an ended run gives %v", err)
	}
	if err := c.Open("nobody").Cancel(l.ctx, "ada", ""); requestError(
		err) != switchyard.RunNotFound {
		t.Errorf("the cancellation of a missing run gives %v", err)
	}
}

// expired returns a context that ends after d.
func (l *lab) expired(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(l.ctx, d)
	l.t.Cleanup(cancel)
	return ctx
}

func TestClient_ReturnsTheExistingRunOfAnEqualStart(t *testing.T) {
	l := newLab(t)
	l.worker()
	c, other := l.dial(), l.dial()
	plan := &switchyard.Plan{Calls: []api.PlanCall{planCall("a", "append",
		`{"text":"`+strings.Repeat("x", 40<<10)+`"}`)}}
	start := switchyard.Start{Plan: plan, StartOptions: switchyard.StartOptions{ID: "once",
		Variables: map[string]any{"big": json.Number("9007199254740993")}, Trace: "one"}}
	first, err := c.Start(l.ctx, start)
	if err != nil || first.Existed() {
		t.Fatalf("the first start: %v, existed %v", err, first.Existed())
	}
	again := func(change func(*switchyard.Start)) (*switchyard.Run, error) {
		changed := start
		change(&changed)
		return other.Start(l.ctx, changed)
	}
	for range 2 { // while it is open and when it has ended
		run, err := again(func(s *switchyard.Start) { s.Trace = "two" })
		if err != nil || !run.Existed() || run.RunID() != first.RunID() {
			t.Errorf("an equal start gives %+v, %v", run, err)
		}
		if _, err := first.Result(l.ctx); err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(*switchyard.Start){
		"variables": func(s *switchyard.Start) {
			s.Variables = map[string]any{"big": json.Number("9007199254740992")}
		},
		"caller":   func(s *switchyard.Start) { s.Caller = "eve" },
		"queue":    func(s *switchyard.Start) { s.TaskQueue = "other" },
		"dry run":  func(s *switchyard.Start) { s.DryRun = true },
		"kind":     func(s *switchyard.Start) { s.Plan, s.Tool = nil, "append" },
		"refusing": func(s *switchyard.Start) { s.RefuseExisting = true },
	} {
		if _, err := again(change); requestError(err) != switchyard.RunExists {
			t.Errorf("a start with another %s gives %v", what, err)
		}
	}
	if n := len(l.entries()); n != 1 {
		t.Errorf("the call ran %d times", n)
	}
}

func TestClient_RefusesInputsBeyondTheLimit(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	start := func(n int) (*switchyard.Run, error) {
		return c.Run(l.ctx, agent(answer("done")), strings.Repeat("x", n),
			switchyard.StartOptions{ID: "large"})
	}
	_, err := start(api.MaxInputs)
	e, _ := errors.AsType[*switchyard.Error](err)
	if e == nil || e.Type != api.ErrValidation {
		t.Fatalf("an input beyond the limit gives %v", err)
	}
	var size int
	if _, err := fmt.Sscanf(e.Message, "the run's input with its earlier messages: %d bytes",
		&size); err != nil {
		t.Fatal(err)
	}
	// The rest of the input.
	rest := size - api.MaxInputs
	if _, err = start(api.MaxInputs - rest + 1); err == nil {
		t.Error("one byte more than the limit was accepted")
	}
	run, err := start(api.MaxInputs - rest)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := run.Result(l.ctx); err != nil || result.Answer != "done" {
		t.Errorf("an input at the limit gives %q, %v", result.Answer, err)
	}
	for what, s := range map[string]switchyard.Start{
		"nothing": {}, "two kinds": {Tool: "append", Agent: agent(answer("x"))},
		"no object":    {Tool: "append", Arguments: 3},
		"no JSON":      {Tool: "append", Arguments: func() {}},
		"a bad ID":     {Tool: "append", StartOptions: switchyard.StartOptions{ID: "a b"}},
		"a bad mode":   {Tool: "append", StartOptions: switchyard.StartOptions{Mode: "x"}},
		"a bad name":   {Tool: "a b"},
		"bad priority": {Tool: "append", StartOptions: switchyard.StartOptions{Priority: "x"}},
	} {
		_, err := c.Start(l.ctx, s)
		if e, _ := errors.AsType[*switchyard.Error](err); e == nil ||
			e.Type != api.ErrValidation || len(e.Problems) != 1 {
			t.Errorf("%s gives %v", what, err)
		}
	}
}

func TestClient_FollowsARunFromAnySequenceNumber(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	run, err := c.Run(l.ctx, agent(step(call("append", `{"text":"a"}`)), answer("done")), "Go.",
		switchyard.StartOptions{ID: "followed"})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for e, err := range run.Follow(l.ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.Sequence, " ", e.Type))
	}
	for after := range len(all) {
		var rest []string
		for e, err := range l.dial().Open("followed").Follow(l.ctx, after) {
			rest = append(rest, fmt.Sprint(e.Sequence, " ", e.Type))
			if err != nil {
				t.Fatal(err)
			}
		}
		expect(t, fmt.Sprint("events after ", after), rest, all[after:])
	}
	for _, err := range run.Follow(l.ctx, len(all)+1) {
		if requestError(err) != switchyard.RequestInvalid || !errors.Is(err, audit.ErrPosition) {
			t.Errorf("a position past the end gives %v", err)
		}
	}
	for _, err := range c.Open("nobody").Follow(l.ctx, 0) {
		if requestError(err) != switchyard.RunNotFound {
			t.Errorf("a missing run gives %v", err)
		}
	}
}

func TestClient_DecidesAndAnswers(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	run, err := c.Run(l.ctx, withTools(agent(step(call("publish", `{"text":"a"}`),
		call("publish", `{"text":"b"}`), call("ask", `{"question":"c?"}`)), answer("done")),
		"publish ask"), "Go.", switchyard.StartOptions{ID: "people"})
	if err != nil {
		t.Fatal(err)
	}
	l.awaitApprovals("people", 2)
	open, err := run.Approvals(l.ctx)
	if err != nil || len(open) != 2 {
		t.Fatalf("open approvals: %v, %v", open, err)
	}
	l.await("for the lists of all runs", func() bool {
		approvals, err := c.Approvals(l.ctx)
		questions, failed := c.Questions(l.ctx)
		return err == nil && failed == nil && len(approvals) == 2 && len(questions) == 1
	})
	swapped := open[0]
	swapped.Digest = open[1].Digest
	err = run.Approve(l.ctx, swapped, "eve", "")
	reply, _ := errors.AsType[*switchyard.ReplyError](err)
	if requestError(err) != switchyard.RequestRefused || reply == nil ||
		reply.Type != api.DecisionMismatch {
		t.Errorf("a decision about another call gives %v", err)
	}
	if err := run.Approve(l.ctx, open[0], "ada", "as agreed"); err != nil {
		t.Error(err)
	}
	if err := run.Deny(l.ctx, open[1], "bob", "no"); err != nil {
		t.Error(err)
	}
	if err := run.Deny(l.ctx, open[1], "bob", ""); requestError(err) != switchyard.RequestRefused {
		t.Errorf("a second decision gives %v", err)
	}
	questions, err := run.Questions(l.ctx)
	if err != nil || len(questions) != 1 {
		t.Fatalf("open questions: %v, %v", questions, err)
	}
	if err := run.Answer(l.ctx, switchyard.Reply{Question: questions[0].ID, By: "ada"}); requestError(
		err) != switchyard.RequestInvalid {
		t.Errorf("an answer without a value gives %v", err)
	}
	if err := run.Answer(l.ctx, switchyard.Reply{Question: questions[0].ID, By: "ada",
		Value: json.RawMessage(`"yes"`)}); err != nil {
		t.Error(err)
	}
	if result, err := run.Result(l.ctx); err != nil || result.Answer != "done" {
		t.Errorf("the run answered %q, %v", result.Answer, err)
	}
	evaluated, err := run.Evaluate(l.ctx, switchyard.RunEvaluation{Solved: true, By: "ada"})
	if err != nil || evaluated.RunID() != run.RunID() {
		t.Errorf("the evaluation gives %v, %v", evaluated, err)
	}
}

func TestClient_PausesAndResumesAndSends(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	run, err := c.Run(l.ctx, agent(step(call("hold_read", `{}`)), answer("done")), "Go.",
		switchyard.StartOptions{ID: "paused"})
	if err != nil {
		t.Fatal(err)
	}
	l.awaitEntries(1)
	notPaused := func(err error) bool {
		e, _ := errors.AsType[*switchyard.ControlError](err)
		return e != nil && e.Type == api.NotPaused
	}
	if err := run.Resume(l.ctx, "ada", ""); !notPaused(err) {
		t.Errorf("to resume a run that is not paused gives %v", err)
	}
	if err := run.Pause(l.ctx, "ada", "wait"); err != nil {
		t.Error(err)
	}
	paused, _ := errors.AsType[*switchyard.ControlError](run.Pause(l.ctx, "bob", ""))
	if paused == nil || paused.Type != api.PauseAlready {
		t.Errorf("to pause a paused run gives %v", paused)
	}
	sent := switchyard.Sent{Text: "And?", By: "bob", ID: "one"}
	for range 2 {
		if err := run.Send(l.ctx, sent); err != nil {
			t.Error(err)
		}
	}
	if err := run.Send(l.ctx, switchyard.Sent{Text: " ", By: "bob"}); requestError(
		err) != switchyard.RequestInvalid {
		t.Errorf("an empty message gives %v", err)
	}
	l.openGate()
	if err := run.Resume(l.ctx, "ada", ""); err != nil {
		t.Error(err)
	}
	if _, err := run.Result(l.ctx); err != nil {
		t.Error(err)
	}
	count := map[api.EventType]int{}
	for e, err := range run.Follow(l.ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		count[e.Type]++
	}
	if count[api.EventMessageSent] != 1 || count[api.EventRunPaused] != 1 ||
		count[api.EventRunResumed] != 1 {
		t.Errorf("the events are %v", count)
	}
}

func TestClient_KeepsOneRunOfAConversationOpen(t *testing.T) {
	l := newLab(t)
	l.worker()
	c := l.dial()
	start := func(o switchyard.StartOptions) (*switchyard.Run, error) {
		o.Conversation = "talk"
		return c.Run(l.ctx, agent(step(call("hold_read", `{}`)), answer("done")), "Go.", o)
	}
	first, err := start(switchyard.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.awaitEntries(1)
	_, err = start(switchyard.StartOptions{})
	busy, _ := errors.AsType[*switchyard.RequestError](err)
	if requestError(err) != switchyard.ConversationBusy || busy.Open.RunID != first.RunID() ||
		busy.Open.Caller != "ada" {
		t.Errorf("a second run of a conversation gives %v", err)
	}
	second, err := start(switchyard.StartOptions{Wait: true,
		OnWait: func(switchyard.OpenRun) { l.openGate() }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Result(l.ctx); err != nil || second.RunID() == first.RunID() {
		t.Errorf("the second run ended with %v", err)
	}
	// The first handle means the first run, although the second has its ID.
	if _, err := first.Result(l.ctx); err != nil {
		t.Error(err)
	}
	third, err := start(switchyard.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Cancel(l.ctx, "ada", ""); requestError(err) != switchyard.RunEnded {
		t.Errorf("the cancellation of an earlier run of the conversation gives %v", err)
	}
	if _, err := third.Result(l.ctx); err != nil {
		t.Error(err)
	}
}

// While the server is away, contexts end the wait, and what waits longer goes on when it is back.
func TestClient_WaitsForARestartOfTheServer(t *testing.T) {
	database := filepath.Join(t.TempDir(), "server.db")
	l := newLab(t, "--db-filename", database)
	l.worker()
	c := l.dial()
	run := l.calling(c, "waiting", "hold_read", nil)
	l.awaitEntries(1)
	results := make(chan error, 2)
	go func() {
		_, err := run.Result(l.ctx)
		results <- err
	}()
	followed := make(chan struct{})
	go func() {
		var last error
		for e, err := range run.Follow(l.ctx, 0) {
			if last = err; e.Sequence == 1 {
				close(followed)
			}
		}
		results <- last
	}()
	<-followed
	l.Server.Kill()
	if _, err := run.Result(l.expired(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Result gives %v", err)
	}
	for _, err := range run.Follow(l.expired(time.Second), 1) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Follow gives %v", err)
		}
	}
	_, err := c.Call(l.expired(time.Second), "append", nil, switchyard.StartOptions{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Call gives %v", err)
	}
	_, err = switchyard.Dial(l.ctx, switchyard.Options{Address: l.Address,
		Logger: testserver.Quiet})
	if requestError(err) != switchyard.ServerUnreachable {
		t.Errorf("Dial gives %v", err)
	}
	_, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		t.Fatal(err)
	}
	l.Server = testserver.NewServer(t, "--db-filename", database, "--port", port)
	l.openGate()
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("what waited for the restart ended with %v", err)
		}
	}
}

func TestClient_RunsABatchAgainWithoutRepeatingCalls(t *testing.T) {
	l := newLab(t)
	l.worker()
	starts := make([]switchyard.Start, 20)
	for i := range starts {
		starts[i] = switchyard.Start{Tool: "append",
			Arguments:    map[string]string{"text": fmt.Sprint(i)},
			StartOptions: switchyard.StartOptions{ID: fmt.Sprint("batch-", i)}}
	}
	starts[7].Tool, starts[7].Arguments = "broken", nil
	collect := func(atMost int) map[int]string {
		ends := map[int]string{}
		for i, end := range l.dial().RunAll(l.ctx, starts, 4) {
			ends[i] = string(end.Result.Output)
			if end.Err != nil {
				ends[i] = "failed"
			}
			if len(ends) == atMost {
				break
			}
		}
		return ends
	}
	collect(5)
	ends := collect(-1)
	want := map[int]string{}
	for i := range starts {
		want[i] = fmt.Sprintf(`{"text":"%d"}`, i)
	}
	want[7] = "failed"
	if !maps.Equal(ends, want) {
		t.Errorf("the batch ended with %v", ends)
	}
	var texts []string
	for _, e := range l.entries() {
		texts = append(texts, e.Text)
	}
	slices.Sort(texts)
	if n := len(slices.Compact(slices.Clone(texts))); n != 19 || len(texts) != 19 {
		t.Errorf("19 calls of append wrote %v", texts)
	}
}
