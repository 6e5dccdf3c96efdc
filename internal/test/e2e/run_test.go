package e2e

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// A run whose server suggests a new history every 100 events has the answer of an undivided run,
// one record per call, and events numbered without gaps over all its parts, also for a subscriber
// that stops and continues repeatedly.
func TestContinueAsNew_ChangesNoAnswer(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=100")
	l.worker()
	const turns = 60
	run := l.runAgent("run", appendTurns(turns))
	first := run.GetRunID()
	checkSubscriber := l.subscriber("run")
	r := l.result(run)
	checkSubscriber()
	if r.Outcome != api.OutcomeAnswered || r.Answer != "from line 1 to line 60" ||
		r.Usage.Turns != turns+1 || r.Usage.Calls != turns {
		t.Errorf("result: %+v", r)
	}
	if parts := len(l.histories("run", first)); parts < 4 {
		t.Errorf("the run has %d parts: it did not continue as new", parts)
	}
	sequence := 0
	var last api.EventType
	for e, err := range audit.Events(l.ctx, l.Client, "run", first) {
		if err != nil {
			t.Fatal(err)
		}
		if sequence++; e.Sequence != sequence {
			t.Fatalf("event %d has the number %d", sequence, e.Sequence)
		}
		last = e.Type
	}
	if want := 2 + turns*3 + 1; sequence != want || last != api.EventRunCompleted {
		t.Errorf("%d events, the last one %s; want %d", sequence, last, want)
	}
	for i, record := range l.records(run) {
		if want := api.TurnCallID(i+1, 1); record.CallID != want || record.Run != first {
			t.Errorf("record %d is that of call %s of run %s, want %s of %s", i, record.CallID,
				record.Run, want, first)
		}
	}
	for id, n := range l.executions() {
		if n != 1 {
			t.Errorf("call %s was executed %d times", id, n)
		}
	}
}

// The input of a model step does not grow with the conversation.
func TestStepInputs_StayConstant(t *testing.T) {
	l := newLab(t)
	l.worker()
	var steps []api.ScriptStep
	for range 40 {
		steps = append(steps, step(call("produce", `{"bytes":20000}`)))
	}
	run := l.runAgent("run", agent(append(steps, answer("done"))...))
	l.result(run)
	inputs := l.stepInputs(run)
	if len(inputs) != 41 {
		t.Fatalf("%d model steps, want 41", len(inputs))
	}
	second := len(inputs[1])
	for i, input := range inputs[1:] {
		if digits := len(fmt.Sprint(i + 2)); len(input) > second+2*digits || len(input) > 300 {
			t.Errorf("the input of step %d has %d bytes, that of step 2 has %d: %s", i+2,
				len(input), second, input)
		}
	}
}

// Cancelling or terminating a run ends the program of a tool with its children and grandchildren,
// although it ignores SIGTERM. A cancelled run ends after them, with complete records. If the
// server does not push cancellations, the call learns of it by its heartbeats.
func TestCancel_EndsRunningPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at processes as only Linux shows them")
	}
	for how, flags := range map[string][]string{"cancel": nil, "terminate": nil,
		"cancel by heartbeat": {
			"--dynamic-config-value", "frontend.WorkerCommandsEnabled=false",
			"--dynamic-config-value", "system.enableCancelActivityWorkerCommand=false"}} {
		t.Run(how, func(t *testing.T) {
			l := newLab(t, flags...)
			l.worker()
			run := l.runAgent("run", agent(step(call("family", `{}`), call("broken", `{}`)),
				answer("never")))
			var pids []string
			l.await("for the program and its children", func() bool {
				data, err := os.ReadFile(l.journal)
				pids = strings.Fields(string(data))
				return err == nil && len(pids) == 3
			})
			if i := slices.IndexFunc(pids, func(pid string) bool { return !alive(pid) }); i >= 0 {
				t.Fatalf("process %s is not there before the run is stopped", pids[i])
			}
			if err := os.Truncate(l.journal, 0); err != nil {
				t.Fatal(err)
			}
			if how == "terminate" {
				if err := l.Client.TerminateWorkflow(l.ctx, "run", "", "enough"); err != nil {
					t.Fatal(err)
				}
				l.await("for the processes to end", func() bool {
					return !slices.ContainsFunc(pids,
						alive)
				})
				return
			}
			if err := l.Client.CancelWorkflow(l.ctx, "run", ""); err != nil {
				t.Fatal(err)
			}
			l.cancelled(run)
			if slices.ContainsFunc(pids, alive) {
				t.Errorf("of the processes %v some are still there after the run has ended", pids)
			}
			expect(t, "records", l.statuses(run), []string{"1.2 broken failed execution_error",
				"1.1 family failed outcome_unknown"})
		})
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid string) bool {
	state := processState(pid)
	return state != "" && state != "Z"
}

// processState returns the letter of a process's state on Linux, such as T for a stopped one; ""
// without such a process.
func processState(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return state[:1]
}
