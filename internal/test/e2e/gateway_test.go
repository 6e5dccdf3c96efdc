package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
)

func arguments(name string, value any) map[string]any { return map[string]any{name: value} }

// A call through the gateway, the server and a worker returns its result in every revision, inline
// and as an activity.
func TestGateway_CallsToolsOnARealServer(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica()
	key := g.apiKey("ada")
	for _, c := range []*mcpClient{g.client(r.Endpoint, key, "newest"),
		g.older(r.Endpoint, key, "older")} {
		for _, tool := range []string{"glance", "note"} {
			a := must(t)(c.call(g.ctx, tool, arguments("text", c.program+" "+tool), nil))
			if a.text() != `{"text":"`+c.program+" "+tool+`"}` || a.Result.IsError {
				t.Errorf("%s of a client of the %s revision: %s", tool, c.program, a.body)
			}
		}
		if a := must(t)(c.call(g.ctx, "note", arguments("txet", "a"),
			nil)); a.failed() != string(api.ErrValidation) {
			t.Errorf("wrong arguments: %s", a.body)
		}
	}
	if n := len(g.entries()); n != 4 {
		t.Errorf("%d calls were executed, want 4", n)
	}
}

// A slow call is pending; get_result returns its result in another session of its caller, and to
// nobody else. A client that follows tasks gets a task.
func TestGateway_ReturnsSlowCallsLater(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica("--direct", "100ms", "--wait", "300ms")
	key := g.apiKey("ada")
	c := g.older(r.Endpoint, key, "slow")
	c.http.Timeout = time.Minute
	a := must(t)(c.request(g.ctx, "tools/call", map[string]any{"name": "hold_read",
		"arguments": map[string]any{}}, map[string]any{"progressToken": "p"}))
	id := a.pending()
	if id == "" || len(a.heard) == 0 || !strings.Contains(a.heard[0], "notifications/progress") {
		t.Fatalf("the slow call: %s", a.body)
	}
	tasks := g.client(r.Endpoint, key, "tasks")
	tasks.capabilities = followsTasks
	task := must(t)(tasks.call(g.ctx, "hold_once", map[string]any{}, nil))
	if task.Result == nil || task.Result.TaskID == "" || task.Result.Status != "working" {
		t.Fatalf("the task: %s", task.body)
	}
	if a := must(t)(c.result(g.ctx, id)); a.pending() != id {
		t.Errorf("get_result of a call that runs: %s", a.body)
	}
	g.openGate()
	other := g.older(r.Endpoint, key, "another session")
	g.await("for the result", func() bool {
		a = must(t)(other.result(g.ctx, id))
		return a.pending() == ""
	})
	if a.text() != "held" {
		t.Errorf("the result: %s", a.body)
	}
	g.await("for the task", func() bool {
		task = must(t)(tasks.request(g.ctx, "tasks/get",
			map[string]any{"taskId": task.Result.TaskID}, nil))
		return task.Result == nil || task.Result.Status != "working"
	})
	if task.Result == nil || task.Result.Status != "completed" || task.Result.Result == nil ||
		task.Result.Result.Content[0].Text != "held" {
		t.Errorf("the task: %s", task.body)
	}
	stranger := g.older(r.Endpoint, g.apiKey("eve"), "stranger")
	if a := must(t)(stranger.result(g.ctx, id)); a.failed() != string(api.ErrValidation) {
		t.Errorf("the call of another caller: %s", a.body)
	}
	if n := len(g.entries()); n != 2 {
		t.Errorf("%d calls were executed, want 2", n)
	}
}

// A once call that is repeated while it runs is the same call, at any replica. After its end the
// key of the client makes it the same.
func TestGateway_MakesARepeatedOnceCallOnce(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	one, two := g.replica("--direct", "100ms", "--wait", "100ms"), g.replica()
	key := g.apiKey("ada")
	c := g.older(one.Endpoint, key, "repeats")
	keyed := map[string]any{idempotencyKey: "k1"}
	first := must(t)(c.call(g.ctx, "hold_once", map[string]any{}, keyed))
	if first.pending() == "" {
		t.Fatalf("the first call: %s", first.body)
	}
	again := must(t)(c.call(g.ctx, "hold_once", map[string]any{}, nil))
	if want := first.pending() + ".repeated-by."; !strings.HasPrefix(again.pending(), want) {
		t.Errorf("the repeated call is %q, want %q and an id", again.pending(), want)
	}
	g.openGate()
	c.url = two.Endpoint // the session goes on at another replica
	for range 2 {
		if a := must(t)(c.call(g.ctx, "hold_once", map[string]any{},
			keyed)); a.text() != "held" {
			t.Errorf("with the key: %s", a.body)
		}
	}
	if n := g.executed("hold_once"); n != 1 {
		t.Errorf("the call was executed %d times", n)
	}
	if a := must(t)(c.call(g.ctx, "hold_once", map[string]any{}, nil)); a.text() != "held" {
		t.Errorf("without the key, after the end: %s", a.body)
	}
	if n := g.executed("hold_once"); n != 2 {
		t.Errorf("a new call without a key was executed %d times", n-1)
	}
}

// executed returns how often a tool was executed.
func (g *gatewayLab) executed(tool string) int {
	g.t.Helper()
	n := 0
	for _, e := range g.entries() {
		if e.Tool == tool {
			n++
		}
	}
	return n
}

// A closed stream of the newest revision cancels a call that is not once. The once call goes on,
// and its repetition returns its result.
func TestGateway_ClosedStreamCancelsCallsThatAreNotOnce(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica()
	c := g.client(r.Endpoint, g.apiKey("ada"), "leaves")
	for _, tool := range []string{"hold_read", "hold_once"} {
		ctx, leave := context.WithCancel(g.ctx)
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _ = c.call(ctx, tool, map[string]any{}, nil)
		}()
		g.await("for "+tool, func() bool { return g.executed(tool) == 1 })
		leave()
		<-left
	}
	g.await("for the cancellation", func() bool {
		for _, s := range g.callsOf("hold_read") {
			return s == api.CallCancelled
		}
		return false
	})
	g.openGate()
	g.await("for the end of the once call", func() bool {
		return slices.Contains(g.callsOf("hold_once"), api.CallCompleted)
	})
	if a := must(t)(c.call(g.ctx, "hold_once", map[string]any{}, nil)); a.text() != "held" {
		t.Errorf("the repeated once call: %s", a.body)
	}
	if n := g.executed("hold_once"); n != 1 {
		t.Errorf("the once call was executed %d times", n)
	}
}

// callsOf returns the statuses of the calls of a tool in all sessions.
func (g *gatewayLab) callsOf(tool string) []api.CallStatus {
	g.t.Helper()
	var statuses []api.CallStatus
	sessions, err := g.sessions(g.ctx)
	if err != nil {
		g.t.Fatal(err)
	}
	c := switchyard.NewClient(g.Client, switchyard.Options{})
	for id := range sessions {
		for r, err := range c.Open(id).Records(g.ctx) {
			if err == nil && r.Tool == tool {
				statuses = append(statuses, r.Status)
			}
		}
	}
	return statuses
}

// A session that began at a replica that was killed goes on at another one, for its caller only.
func TestGateway_ContinuesASessionAtAnotherReplica(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	one, two := g.replica("--direct", "100ms", "--wait", "100ms"), g.replica()
	key := g.apiKey("ada")
	c := g.older(one.Endpoint, key, "moves")
	id := must(t)(c.call(g.ctx, "hold_once", map[string]any{}, nil)).pending()
	g.await("for the call", func() bool { return g.executed("hold_once") == 1 })
	one.Kill()
	c.url = two.Endpoint
	g.openGate()
	if a := must(t)(c.result(g.ctx, id)); a.text() != "held" {
		t.Errorf("the result at the other replica: %s", a.body)
	}
	if a := must(t)(c.call(g.ctx, "note", arguments("text", "a"), nil)); a.text() !=
		`{"text":"a"}` {
		t.Errorf("a call at the other replica: %s", a.body)
	}
	c.key = g.apiKey("eve")
	if a := must(t)(c.call(g.ctx, "note", arguments("text", "b"),
		nil)); a.status != http.StatusNotFound {
		t.Errorf("the session of another caller: %d %s", a.status, a.body)
	}
	if sessions, err := g.sessions(g.ctx); err != nil || len(sessions) != 1 {
		t.Errorf("there are %d sessions, want 1; %v", len(sessions), err)
	}
}

// A session that ended because it was idle starts again with the next call.
func TestGateway_StartsAnIdleSessionAgain(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica("--idle", "1s")
	c := g.older(r.Endpoint, g.apiKey("ada"), "idle")
	for i := range 2 {
		if a := must(t)(c.call(g.ctx, "note", arguments("text", "a"), nil)); a.text() !=
			`{"text":"a"}` {
			t.Errorf("call %d: %s", i, a.body)
		}
		g.await("for the end of the session", func() bool {
			sessions, err := g.sessions(g.ctx)
			for _, s := range sessions {
				return err == nil && s.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
			}
			return false
		})
	}
	if n := len(g.entries()); n != 2 {
		t.Errorf("%d calls were executed, want 2", n)
	}
}
