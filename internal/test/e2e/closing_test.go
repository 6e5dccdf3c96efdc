package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
	"go.temporal.io/sdk/client"
)

// closingTools are sessionTools with a tool that closes the session.
func (l *lab) closingTools() string {
	l.t.Helper()
	return l.mcpTools(map[string]string{
		"remember":    "}\nexecution: {heartbeat: 4s",
		"count-close": ", closes: true}\nexecution: {heartbeat: 4s"})
}

// noted returns the notes of the run's results, by call.
func (l *lab) noted(run client.WorkflowRun) map[string]string {
	l.t.Helper()
	notes := map[string]string{}
	for _, r := range l.records(run) {
		if r.Result != nil && len(r.Result.Notes) > 0 {
			notes[r.CallID] = strings.Join(r.Result.Notes, "|")
		}
	}
	return notes
}

// The process of the server ends, also where calls of the same turn follow.
func TestMCPSession_IsClosedByACall(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.closingTools())
	a := agent(step(remember("x"), call("count-close", `{}`), remember("y")),
		step(call("count-close", `{}`)), step(remember("z")), answer("done"))
	a.Tools = []string{"remember", "count-close"}
	run := l.runAgent("run", a)
	if r := l.result(run); r.Usage.Failed != 0 {
		t.Errorf("got %+v: %s", r, strings.Join(l.statuses(run), "; "))
	}
	servers, texts := l.remembered(run)
	expect(t, "texts", texts, []string{"x", "y", "z"})
	if servers[0] == servers[1] || servers[1] == servers[2] {
		t.Errorf("the servers are %v", servers)
	}
	for _, server := range servers {
		l.awaitExit(server)
	}
	if notes := l.noted(run); len(notes) > 0 {
		t.Errorf("notes %v", notes)
	}
}

// The first result after that reports who closed it. Nothing is lost if the server or the worker
// was killed before.
func TestMCPSession_IsClosedByAPerson(t *testing.T) {
	for name, kill := range map[string]func(*lab, int, []*testserver.Process){
		"living": nil,
		"server killed": func(l *lab, server int, _ []*testserver.Process) {
			if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
				l.t.Fatal(err)
			}
		},
		"worker killed": func(l *lab, server int, workers []*testserver.Process) {
			l.parentOf(server, workers).Kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			tools := l.sessionTools("")
			workers := []*testserver.Process{l.workerIn(nil, "--tools", tools),
				l.workerIn(nil, "--tools", tools)}
			a := agent(step(remember("x")), step(call("hold_read", `{}`)), step(remember("y")),
				step(remember("z")), answer("done"))
			a.Tools = []string{"remember", "hold_read"}
			run := l.runAgent("run", a)
			l.atGate(run)
			server := l.serverOf(run)
			if code, out := l.command("show", "run"); code != 0 ||
				!strings.Contains(out, "mcp-") {
				t.Errorf("exit code %d, printed %s", code, out)
			}
			if kill != nil {
				kill(l, server, workers)
			}
			code, out := l.command("close", "run", "remember", "--by", "ada", "--reason", "a test")
			if code != 0 || !strings.Contains(out, "closes its instance remember") {
				t.Fatalf("exit code %d, printed %s", code, out)
			}
			l.awaitExit(server)
			l.openGate()
			if r := l.result(run); r.Usage.Failed != 0 {
				t.Errorf("got %+v: %s", r, strings.Join(l.statuses(run), "; "))
			}
			_, texts := l.remembered(run)
			expect(t, "texts", texts, []string{"x", "y", "y z"})
			notes := l.noted(run)
			if len(notes) != 1 || !strings.HasPrefix(notes["3.1"],
				"the last one was closed by ada: a test: this is a new instance") {
				t.Errorf("notes %v", notes)
			}
			if code, out := l.command("close", "run"); code == 0 {
				t.Errorf("an ended run closes: %s", out)
			}
		})
	}
}

// A stateful tool closes by the same means, and its snapshot is not restored.
func TestInstance_IsClosedByAPerson(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("run", counting("hold_read snapshot_counter",
		step(call("snapshot_counter", `{"by":1}`)), step(call("hold_read", `{}`)),
		step(add("n", "snapshot_counter", `{"by":100}`)), answer("${n}")))
	l.atGate(run)
	for _, instance := range []string{"other", ""} {
		code, out := l.command("close", "run", instance)
		if refused := instance != ""; (code != 0) != refused ||
			refused && !strings.Contains(out, "it has snapshot_counter") {
			t.Errorf("%q: exit code %d, printed %s", instance, code, out)
		}
	}
	l.awaitText(run.GetRunID(), "snapshot_counter", wroteClosed, 1)
	l.openGate()
	if r := l.result(run); r.Answer != "100" {
		t.Errorf("got %+v", r)
	}
	if notes := l.noted(run)["3.1"]; !strings.Contains(notes, "closed by") {
		t.Errorf("notes %q", notes)
	}
}
