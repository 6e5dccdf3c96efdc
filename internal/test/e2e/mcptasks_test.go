package e2e

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/client"
)

// taskTools starts a server that answers with tasks, and writes toolspecs of its tool job with
// effect once: one for each session.
func (l *lab) taskTools(newer bool, dir string) *mcpserver.Tasks {
	l.t.Helper()
	tasks := &mcpserver.Tasks{Newer: newer}
	server := httptest.NewServer(tasks)
	l.t.Cleanup(server.Close)
	l.t.Cleanup(server.CloseClientConnections)
	conn, err := mcpclient.Connect(l.ctx, &mcpclient.Server{URL: server.URL,
		Allow: []string{"127.0.0.1"}}, mcpclient.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	tool, _, err := conn.Tool(l.ctx, "job")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, session := range []string{"run", "shared"} {
		name := fmt.Sprintf("job_%s_%v", session, newer)
		text := fmt.Sprintf("name: %s\nversion: 1.0.0\ndescription: %s\ninput_schema: %s\n"+
			"entry: {type: mcp, url: %q, allow: [127.0.0.1], tool: job, pin: %q, session: %s}\n"+
			"execution: {effect: once, heartbeat: 4s, timeout: 2m}\n", name, tool.Description,
			tool.InputSchema, server.URL, tool.Digest(), session)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	return tasks
}

// awaitTask waits until a heartbeat of a call of the run carries its task.
func (l *lab) awaitTask(run client.WorkflowRun) {
	l.t.Helper()
	l.await("for the task of "+run.GetID()+" to be saved", func() bool {
		described, err := l.Client.DescribeWorkflowExecution(l.ctx, run.GetID(), "")
		if err != nil {
			return false
		}
		for _, a := range described.GetPendingActivities() {
			for _, p := range a.GetHeartbeatDetails().GetPayloads() {
				if bytes.Contains(p.GetData(), []byte(`"remote_task"`)) {
					return true
				}
			}
		}
		return false
	})
}

// A call with effect once whose server answered with a task gets its result from another worker,
// after a crash and after a deploy, and the tool is executed once. Without the workflow cache no
// workflow task waits for the killed worker. The run then learns of the loss of its session, and
// cancels the call, before the server times the call out.
func TestMCPTasks_SurviveTheirWorkers(t *testing.T) {
	l := newLab(t)
	l.cacheless = true
	dir := t.TempDir()
	servers := map[bool]*mcpserver.Tasks{false: l.taskTools(false, dir),
		true: l.taskTools(true, dir)}
	for end, stop := range map[string]func(*testserver.Process){
		"killed":  (*testserver.Process).Kill,
		"stopped": func(p *testserver.Process) { p.Stop() },
	} {
		worker := l.workerIn(nil, "--tools", dir)
		runs := map[string]client.WorkflowRun{}
		for newer := range servers {
			for _, session := range []string{"run", "shared"} {
				tool := fmt.Sprintf("job_%s_%v", session, newer)
				runs[tool] = l.runCall(end+tool, tool, `{"text":"wait"}`)
			}
		}
		for _, run := range runs {
			l.awaitTask(run)
		}
		stop(worker)
		for _, server := range servers {
			server.Release()
		}
		other := l.workerIn(nil, "--tools", dir)
		for tool, run := range runs {
			if got := jsonvalue.Plain(l.result(run).Output); !strings.HasPrefix(got, "done by") {
				t.Errorf("%s, %s: the call gave %q", end, tool, got)
			}
			records := l.records(run)
			if len(records) != 1 || records[0].Status != api.CallCompleted ||
				!strings.Contains(strings.Join(records[0].Notes, " ")+
					strings.Join(records[0].Result.Notes, " "), "not called again") {
				t.Errorf("%s, %s: the records are %+v", end, tool, records)
			}
		}
		other.Kill()
	}
	for newer, server := range servers {
		if got := server.Executions(); got != 4 {
			t.Errorf("newer %v: 4 calls were executed %d times", newer, got)
		}
	}
}

// A cancelled run cancels the task of its call.
func TestMCPTasks_AreCancelledWithTheRun(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	server := l.taskTools(true, dir)
	l.workerIn(nil, "--tools", dir)
	run := l.runCall("cancelled", "job_run_true", `{"text":"wait"}`)
	l.awaitTask(run)
	if err := l.Client.CancelWorkflow(l.ctx, run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	l.cancelled(run)
	l.await("for the task to be cancelled", func() bool {
		return server.Requests("tasks/cancel") == 1
	})
}
