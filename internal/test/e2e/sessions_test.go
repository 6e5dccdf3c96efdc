package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/client"
)

// sessionTools writes toolspecs of one stateful MCP server, and of a function that waits at the
// gate. entry is added to the entry of each MCP tool. The loss of a worker is noticed after 4 s.
func (l *lab) sessionTools(entry string) string {
	l.t.Helper()
	return l.sessionToolsWithin("4s", entry)
}

// sessionToolsWithin is sessionTools with the time after which the loss of a worker is noticed.
func (l *lab) sessionToolsWithin(heartbeat, entry string) string {
	l.t.Helper()
	dir := l.mcpTools(map[string]string{
		"remember": entry + "}\nexecution: {heartbeat: " + heartbeat,
		"count":    entry + "}\nexecution: {effect: read, heartbeat: " + heartbeat,
		"die":      entry + "}\nexecution: {heartbeat: " + heartbeat})
	const gate = `{name: hold_read, version: 1.0.0, description: Waits at the gate.,
  entry: {type: function, handler: hold}, execution: {effect: read, timeout: 1m, heartbeat: 1s}}`
	if err := os.WriteFile(filepath.Join(dir, "hold_read.yaml"), []byte(gate), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return dir
}

func remember(text string) api.ScriptCall {
	return call("remember", fmt.Sprintf(`{"text":%q}`, text))
}

// remembered returns what the run's calls of remember returned: the server's process and the texts.
func (l *lab) remembered(run client.WorkflowRun) (servers []int, texts []string) {
	l.t.Helper()
	for _, r := range l.records(run) {
		if r.Tool != "remember" || r.Result == nil {
			continue
		}
		pid, text, _ := strings.Cut(jsonvalue.Plain(r.Result.Output), " ")
		server, err := strconv.Atoi(pid)
		if err != nil {
			l.t.Fatal(err)
		}
		servers, texts = append(servers, server), append(texts, text)
	}
	return servers, texts
}

func (l *lab) atGate(runs ...client.WorkflowRun) {
	l.t.Helper()
	for _, run := range runs {
		l.await("for "+run.GetID()+" to wait at the gate",
			func() bool { return len(l.written(run.GetRunID(), "hold_read")) == 1 })
	}
}

func (l *lab) awaitExit(pid int) {
	l.t.Helper()
	l.await(fmt.Sprintf("for the server %d to exit", pid),
		func() bool { return syscall.Kill(pid, 0) != nil })
}

// All tools of the server share the session, on whichever of two workers it is. It is closed with
// the run.
func TestMCPSessions_BelongToTheirRuns(t *testing.T) {
	l := newLab(t)
	tools := l.sessionTools("")
	l.workerIn(nil, "--tools", tools)
	l.workerIn(nil, "--tools", tools)
	var runs []client.WorkflowRun
	for _, id := range []string{"a", "b", "c", "d"} {
		a := agent(step(remember(id+"1"), call("count", `{}`)), step(call("hold_read", `{}`)),
			step(remember(id+"2"), remember(id+"3"), call("count", `{}`), call("count", `{}`)),
			answer("done"))
		a.Tools = []string{"remember", "count", "hold_read"}
		runs = append(runs, l.runAgent(id, a))
	}
	l.atGate(runs...)
	l.openGate()
	seen := map[int]bool{}
	for _, run := range runs {
		if r := l.result(run); r.Usage.Failed != 0 {
			t.Errorf("run %s: %+v", run.GetID(), r)
		}
		servers, texts := l.remembered(run)
		id := run.GetID()
		expect(t, "run "+id, texts, []string{id + "1", id + "1 " + id + "2", id + "1 " + id + "2 " + id + "3"})
		counts := map[string]bool{}
		for _, r := range l.records(run) {
			if r.Tool == "count" {
				counts[jsonvalue.Plain(r.Result.Output)] = true
			}
		}
		if len(counts) != 3 || !counts["1"] || !counts["2"] || !counts["3"] {
			t.Errorf("run %s counts %v", id, counts)
		}
		if servers[0] != servers[1] || servers[1] != servers[2] || seen[servers[0]] {
			t.Errorf("run %s has the servers %v, others %v", id, servers, seen)
		}
		seen[servers[0]] = true
		l.awaitExit(servers[0])
	}
}

// parentOf returns the worker that started a process.
func (l *lab) parentOf(pid int, workers []*testserver.Process) *testserver.Process {
	l.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, w := range workers {
		if strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", w.PID())) {
			return w
		}
	}
	l.t.Fatalf("no worker is the parent of %d:\n%s", pid, status)
	return nil
}

// No call is executed on another session without a note.
func TestMCPSessions_ReportTheirLoss(t *testing.T) {
	for name, test := range map[string]struct {
		entry  string
		worker bool
		want   []string
		words  string
	}{
		"server": {want: []string{"1.1 remember completed", "2.1 hold_read completed",
			"3.1 remember failed worker_lost", "4.1 count failed worker_lost"},
			words: "signal: killed"},
		"worker": {worker: true, want: []string{"1.1 remember completed",
			"2.1 hold_read completed", "3.1 remember failed worker_lost",
			"4.1 count failed worker_lost"}, words: "its worker was lost"},
		"conversation": {entry: ", scope: conversation", worker: true, want: []string{
			"1.1 remember completed", "2.1 hold_read completed",
			"3.1 remember failed worker_lost", "4.1 count failed worker_lost"},
			words: "its worker was lost"},
		"conversation, recreate": {entry: ", scope: conversation, on_loss: recreate",
			worker: true, want: []string{"1.1 remember completed", "2.1 hold_read completed",
				"3.1 remember completed", "4.1 count completed"},
			words: "the worker that hosted the last one was lost"},
		"server, recreate": {entry: ", on_loss: recreate", want: []string{
			"1.1 remember completed", "2.1 hold_read completed", "3.1 remember completed",
			"4.1 count completed"}, words: "signal: killed"},
		"worker, recreate": {entry: ", on_loss: recreate", worker: true, want: []string{
			"1.1 remember completed", "2.1 hold_read completed", "3.1 remember completed",
			"4.1 count completed"}, words: "the worker that hosted the last one was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			heartbeat := "1m" // a busy machine must not look like a lost worker
			if test.worker {
				heartbeat = "4s"
			}
			tools := l.sessionToolsWithin(heartbeat, test.entry)
			workers := []*testserver.Process{l.workerIn(nil, "--tools", tools),
				l.workerIn(nil, "--tools", tools)}
			a := agent(step(remember("x")), step(call("hold_read", `{}`)), step(remember("y")),
				step(call("count", `{}`)), answer("done"))
			a.Tools = []string{"remember", "count", "hold_read"}
			run := l.runAgent("run", a)
			l.atGate(run)
			server := l.serverOf(run)
			if test.worker {
				l.parentOf(server, workers).Kill()
			} else if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			l.openGate()
			if r := l.result(run); r.Answer != "done" {
				t.Errorf("got %+v", r)
			}
			got := strings.Join(l.statuses(run), "; ")
			// whether the calls had been scheduled when the loss was noticed
			got = strings.ReplaceAll(got, "refused worker_lost", "failed worker_lost")
			if got != strings.Join(test.want, "; ") {
				t.Errorf("got %s", got)
			}
			l.tellsLoss(run, test.words)
		})
	}
}

// serverOf returns the process of the run's server, from the conversation.
func (l *lab) serverOf(run client.WorkflowRun) int {
	l.t.Helper()
	for _, m := range l.conversation(run) {
		if pid, _, ok := strings.Cut(m.Text, " x"); ok && m.CallID == "1.1" {
			server, err := strconv.Atoi(strings.TrimSpace(pid))
			if err != nil {
				l.t.Fatal(err)
			}
			return server
		}
	}
	l.t.Fatalf("the run has no server: %v", l.conversation(run))
	return 0
}

// tellsLoss checks that the call after the loss says what was lost, in its record and to the model.
func (l *lab) tellsLoss(run client.WorkflowRun, words string) {
	l.t.Helper()
	told := ""
	for _, m := range l.conversation(run) {
		if m.CallID == "3.1" {
			told = m.Text
		}
	}
	for _, r := range l.records(run) {
		if r.CallID != "3.1" {
			continue
		}
		text := ""
		if r.Error != nil {
			text = r.Error.Message
		} else {
			text = strings.Join(append([]string{jsonvalue.Plain(r.Result.Output)},
				r.Result.Notes...),
				"\n")
			if strings.Contains(text, " x y\n") ||
				!strings.Contains(text, "without the state of the previous one") {
				l.t.Errorf("the result after the loss is %q", text)
			}
		}
		if !strings.Contains(text, words) || !strings.Contains(told, words) {
			l.t.Errorf("the record says %q, and the model was told %q, want %q", text, told, words)
		}
	}
}

// Later calls report the loss.
func TestMCPSessions_LeaveTheCallInFlightUnknown(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.sessionTools(""))
	a := agent(step(remember("x")), step(call("die", `{}`)), step(remember("y")), answer("done"))
	a.Tools = []string{"remember", "die"}
	run := l.runAgent("run", a)
	l.result(run)
	got := strings.ReplaceAll(strings.Join(l.statuses(run), "; "), "refused", "failed")
	if got != "1.1 remember completed; 2.1 die failed outcome_unknown; 3.1 remember failed worker_lost" {
		t.Errorf("got %s", got)
	}
	l.tellsLoss(run, "exit code 7")
}
