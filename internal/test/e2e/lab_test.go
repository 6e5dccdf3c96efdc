package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/internal/test/testserver"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// patience bounds a whole test. It only ends tests that hang.
const patience = 10 * time.Minute

// lab is a real server with everything to run workers against it.
type lab struct {
	*testserver.Server
	t       *testing.T
	ctx     context.Context
	journal string
	gate    string
	// cacheless turns the workflow cache of the lab's workers off: then every workflow task is a
	// replay.
	cacheless bool
	// metrics is the address of the last worker's metrics, if it serves them.
	metrics string
}

// alone are the tests that run before all others: they measure times while they load the machine.
var alone = []string{"TestGateway_ServesOthersDuringAThousandParallelRequests",
	"TestLaneKeeper_AnswersSoonAfterAKilledWorkerWhenItIsFull"}

// inFull skips a test in the short form: it takes a minute or loads the machine, and other tests
// prove most of it.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test/e2e runs this test")
	}
}

// newLab starts a server. At the end of the test, the histories of all its runs are replayed.
func newLab(t *testing.T, serverFlags ...string) *lab {
	t.Helper()
	if !slices.Contains(alone, t.Name()) {
		t.Parallel()
	}
	dir := t.TempDir()
	l := &lab{Server: testserver.NewServer(t, serverFlags...), t: t, cacheless: withoutCache(),
		journal: filepath.Join(dir, "journal"), gate: filepath.Join(dir, "gate")}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	l.ctx = ctx
	if err := os.WriteFile(l.journal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// withoutCache reports whether make test/replay turns the workflow cache off.
func withoutCache() bool { return os.Getenv("SWITCHYARD_CACHE") == "0" }

// worker starts a worker process with the tools of these tests.
func (l *lab) worker(flags ...string) *testserver.Process {
	l.t.Helper()
	return l.workerIn(nil, append([]string{"--tools", "testdata/tools"}, flags...)...)
}

// workerIn is worker with more environment and only the shipped tools, unless the flags say
// otherwise.
func (l *lab) workerIn(env []string, flags ...string) *testserver.Process {
	l.t.Helper()
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	return l.program(program, append([]string{asWorker + "=1", journalFile + "=" + l.journal,
		gateFile + "=" + l.gate}, env...), flags...)
}

// program starts a worker program; without a key in env it reaches no live model.
func (l *lab) program(name string, env []string, flags ...string) *testserver.Process {
	l.t.Helper()
	env = append([]string{"OPENAI_API_KEY=", "ANTHROPIC_API_KEY="}, env...)
	if l.cacheless {
		flags = append([]string{"--sticky-cache", "0"}, flags...)
	}
	flags = append([]string{"--address", l.Address}, flags...)
	var ready struct {
		Lanes   []string
		Metrics string
	}
	p := testserver.Start(l.t, &ready, env, name, flags...)
	if len(ready.Lanes) == 0 {
		l.t.Fatalf("the worker serves no lane")
	}
	l.metrics = ready.Metrics
	return p
}

// readMetrics returns the last worker's /metrics.
func (l *lab) readMetrics() string {
	l.t.Helper()
	resp, err := http.Get("http://" + l.metrics + "/metrics")
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// run starts a workflow. Its history is replayed at the end of the test.
func (l *lab) run(workflowType, id string, input any) client.WorkflowRun {
	l.t.Helper()
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: api.DefaultTaskQueue}, workflowType, input)
	if err != nil {
		l.t.Fatal(err)
	}
	first := run.GetRunID()
	l.t.Cleanup(func() { l.replay(id, first) })
	return run
}

// cached reports whether a worker asked for the run's tasks on its own queue, as it does for runs
// in its cache.
func cached(h *historypb.History) bool {
	return slices.ContainsFunc(h.GetEvents(), func(e *historypb.HistoryEvent) bool {
		queue := e.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue()
		return queue.GetKind() == enumspb.TASK_QUEUE_KIND_STICKY
	})
}

func (l *lab) runAgent(id string, a *api.Agent) client.WorkflowRun {
	l.t.Helper()
	return l.run(api.AgentWorkflow, id, api.RunInput{Agent: a, Prompt: "Go."})
}

// histories returns the histories of a run's chain.
func (l *lab) histories(id, runID string) []*historypb.History {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	chain, err := histories.Fetch(ctx, l.Client, id, runID)
	if err != nil {
		l.t.Fatal(err)
	}
	return chain
}

// result waits for a run's result; a failed run fails the test.
func (l *lab) result(run client.WorkflowRun) api.RunResult {
	l.t.Helper()
	var r api.RunResult
	if err := run.Get(l.ctx, &r); err != nil {
		l.t.Fatalf("run %s: %v", run.GetID(), err)
	}
	return r
}

// failure waits for a run's failure of the given type.
func (l *lab) failure(run client.WorkflowRun, kind api.RunErrorType) *temporal.ApplicationError {
	l.t.Helper()
	err := run.Get(l.ctx, nil)
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || app.Type() != string(kind) {
		l.t.Fatalf("run %s ended with %v, want a failure of type %s", run.GetID(), err, kind)
	}
	return app
}

// cancelled waits until a run ends as cancelled.
func (l *lab) cancelled(run client.WorkflowRun) {
	l.t.Helper()
	if err := run.Get(l.ctx, nil); !temporal.IsCanceledError(err) {
		l.t.Fatalf("run %s ended with %v, want it cancelled", run.GetID(), err)
	}
}

// records returns the call records of a run.
func (l *lab) records(run client.WorkflowRun) []api.Record {
	l.t.Helper()
	var records []api.Record
	for r, err := range audit.Records(l.ctx, l.Client, run.GetID(), "") {
		if err != nil {
			l.t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// statuses returns "call id tool status attempts" for every record.
func (l *lab) statuses(run client.WorkflowRun) []string {
	l.t.Helper()
	var list []string
	for _, r := range l.records(run) {
		text := r.CallID + " " + r.Tool + " " + string(r.Status)
		if r.Error != nil {
			text += " " + string(r.Error.Type)
		}
		list = append(list, text)
	}
	return list
}

// conversation queries the first page of a run's conversation.
func (l *lab) conversation(run client.WorkflowRun) []api.Message {
	l.t.Helper()
	value, err := l.Client.QueryWorkflow(l.ctx, run.GetID(), "", api.ConversationQuery, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	var page api.Page
	if err := value.Get(&page); err != nil {
		l.t.Fatal(err)
	}
	return page.Messages.Value
}

// entries returns the journal: what tools really did.
func (l *lab) entries() []entry {
	l.t.Helper()
	data, err := os.ReadFile(l.journal)
	if err != nil {
		l.t.Fatal(err)
	}
	var entries []entry
	for line := range strings.Lines(string(data)) {
		var e entry
		if !strings.HasSuffix(line, "\n") {
			break // still being written
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			l.t.Fatalf("journal: %v in %q", err, line)
		}
		entries = append(entries, e)
	}
	return entries
}

// await waits until a condition holds.
func (l *lab) await(what string, condition func() bool) {
	l.t.Helper()
	if until(l.ctx, condition) != nil {
		l.t.Fatalf("timed out waiting %s; the journal is %v", what, l.entries())
	}
}

func (l *lab) awaitEntries(n int) {
	l.t.Helper()
	l.await("for the journal to grow", func() bool { return len(l.entries()) >= n })
}

func (l *lab) openGate() {
	l.t.Helper()
	if err := os.WriteFile(l.gate, nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// executions returns how often each call was executed, by the journal: "call id tool" to number.
func (l *lab) executions() map[string]int {
	counts := map[string]int{}
	for _, e := range l.entries() {
		counts[e.Call+" "+e.Tool]++
	}
	return counts
}

// agent returns an agent with all tools of these tests that plays the steps.
func agent(steps ...api.ScriptStep) *api.Agent {
	script := api.Pack(api.Script{Steps: steps, Summary: "as far as I got"})
	return &api.Agent{Name: "tester", Instructions: "Test.",
		Model: api.Model{Provider: api.ProviderScripted, Script: &script},
		Tools: []string{"append", "store", "number", "produce", "hold_once", "hold_read", "meet",
			"tick", "tick_alone", "tick_serial", "flaky", "broken", "family"},
		Limits: api.Limits{Turns: 1000}}
}

func step(calls ...api.ScriptCall) api.ScriptStep {
	return api.ScriptStep{Calls: calls}
}

func answer(text string) api.ScriptStep { return api.ScriptStep{Answer: text} }

func call(tool, arguments string) api.ScriptCall {
	return api.ScriptCall{Tool: tool, Arguments: json.RawMessage(arguments)}
}

// expect compares a list with the expected one.
func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
