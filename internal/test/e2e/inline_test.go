package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

const inlineTools = "in_append in_hold in_meet in_produce in_tick in_flaky in_broken append store"

// allInline returns an agent whose model steps run inline too.
func allInline(steps ...api.ScriptStep) *api.Agent {
	a := withTools(agent(steps...), inlineTools)
	a.Model.Lane = api.LaneInline
	return a
}

// tasks returns, for each completed workflow task of a run's chain, the bytes that it recorded, and
// how many activities the run scheduled.
func (l *lab) tasks(id, first string) (recorded []int, activities int) {
	l.t.Helper()
	for _, h := range l.histories(id, first) {
		for _, e := range h.GetEvents() {
			switch {
			case e.GetWorkflowTaskCompletedEventAttributes() != nil:
				recorded = append(recorded, 0)
			case e.GetMarkerRecordedEventAttributes() != nil:
				recorded[len(recorded)-1] += proto.Size(e)
			case e.GetActivityTaskScheduledEventAttributes() != nil:
				activities++
			}
		}
	}
	return recorded, activities
}

// A run of an agent whose model steps and tools are inline takes one workflow task and no activity,
// also without the workflow cache. Parallel calls overlap, and the run can be read as any other
// run.
func TestInline_RunsInOneWorkflowTask(t *testing.T) {
	const turns = 20
	l := newLab(t)
	l.worker()
	steps := []api.ScriptStep{step(call("in_meet", `{"lines":2}`), call("in_meet", `{"lines":2}`)),
		step(call("in_flaky", `{}`), call("in_broken", `{}`))}
	for i := range turns {
		steps = append(steps, step(named(fmt.Sprint("c", i),
			call("in_append", fmt.Sprintf(`{"text":"line %d"}`, i)))))
	}
	began := time.Now()
	run := l.runAgent("inline",
		allInline(append(steps, answer("from ${c0.text} to ${c19.text}"))...))
	if r := l.result(run); r.Answer != "from line 0 to line 19" || r.Usage.Calls != turns+4 ||
		r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	took := time.Since(began)
	recorded, activities := l.tasks("inline", run.GetRunID())
	// A workflow task ends when most of its timeout has passed, which happens on a busy machine.
	if activities != 0 || len(recorded) != 1 && took < 2*time.Second {
		t.Errorf("the run took %d workflow tasks and %d activities", len(recorded), activities)
	}
	if n := len(l.entries()); n != turns+2 {
		t.Errorf("the journal has %d lines", n)
	}
	sequence := 0
	started := map[string]bool{}
	for e, err := range audit.Events(l.ctx, l.Client, run.GetID(), "") {
		if sequence++; err != nil || e.Sequence != sequence {
			t.Fatalf("event %d has the number %d, error %v", sequence, e.Sequence, err)
		}
		if e.Type == api.EventToolStarted {
			started[e.CallID] = true
		}
		if r := e.Record; r != nil && (!started[r.CallID] || r.Lane != api.LaneInline ||
			r.Worker == "" || r.Attempts == 0 || r.Started.IsZero()) {
			t.Errorf("record %+v", r)
		}
	}
	if n := len(l.records(run)); n != turns+4 {
		t.Errorf("%d records", n)
	}
}

// The inline calls of the workflow task run once more. Recorded calls and activities do not.
func TestInline_RepeatsTheWorkflowTaskOfAKilledWorker(t *testing.T) {
	for lane, repeated := range map[string][]string{
		api.LaneGeneral: {"3.1 in_append", "3.2 in_hold"},
		api.LaneInline:  {"2.1 in_append", "3.1 in_append", "3.2 in_hold"},
	} {
		t.Run(lane, func(t *testing.T) {
			l := newLab(t)
			first := l.worker()
			a := allInline(step(call("append", `{"text":"a"}`)),
				step(call("in_append", `{"text":"b"}`)),
				step(call("in_append", `{"text":"c"}`), call("in_hold", `{}`)),
				step(call("append", `{"text":"d"}`)), answer("done"))
			a.Model.Lane = lane
			run := l.runAgent("run", a)
			l.awaitEntries(4)
			first.Kill()
			l.openGate()
			l.worker()
			if r := l.result(run); r.Answer != "done" || r.Usage.Calls != 5 || r.Usage.Failed != 0 {
				t.Errorf("result: %+v", r)
			}
			var twice []string
			for call, n := range l.executions() {
				if n == 2 {
					twice = append(twice, call)
				} else if n != 1 {
					t.Errorf("%s was executed %d times", call, n)
				}
			}
			slices.Sort(twice)
			expect(t, "executed twice", twice, repeated)
			if n := len(l.records(run)); n != 5 {
				t.Errorf("%d records, want 5", n)
			}
		})
	}
}

// 200 inline calls of one turn with results of 32 KB each complete: no workflow task records more
// than the server accepts, and none is repeated.
func TestInline_DividesLargeTurns(t *testing.T) {
	const calls, size, most = 200, 32 << 10, 3 << 20
	l := newLab(t)
	l.worker()
	produce := call("in_produce", fmt.Sprintf(`{"bytes":%d}`, size))
	produce.Repeat = calls
	run := l.runAgent("large", allInline(step(produce), answer("done")))
	first := run.GetRunID()
	if r := l.result(run); r.Answer != "done" || r.Usage.Calls != calls || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	recorded, activities := l.tasks("large", first)
	total := 0
	for _, n := range recorded {
		total += n
	}
	if slices.Max(recorded) > most || total < calls*size || activities > 0 {
		t.Errorf("the workflow tasks recorded %v bytes; %d activities", recorded, activities)
	}
	ids := map[string]bool{}
	for _, r := range l.records(run) {
		if r.Status != api.CallCompleted || r.Result.Cut > 0 ||
			len(jsonvalue.Plain(r.Result.Output)) != size || r.Attempts != 1 {
			t.Errorf("call %s is %s, %d bytes, attempt %d", r.CallID, r.Status,
				len(r.Result.Output), r.Attempts)
		}
		ids[r.CallID] = true
	}
	if len(ids) != calls {
		t.Errorf("%d records", len(ids))
	}
}

// A run that is cancelled, or whose wall time passes, ends its inline call, although no event can
// reach the run while its workflow task is open.
func TestInline_EndsWithItsRun(t *testing.T) {
	for _, lane := range []string{api.LaneGeneral, api.LaneInline} {
		t.Run("cancelled "+lane, func(t *testing.T) {
			l := newLab(t)
			l.worker()
			a := allInline(step(call("in_hold", `{}`)), step(call("in_append", `{"text":"never"}`)),
				answer("never"))
			a.Model.Lane = lane
			run := l.runAgent("run", a)
			l.awaitEntries(1)
			l.cancel("run")
			l.cancelled(run)
			expect(t, "records", l.statuses(run), []string{"1.1 in_hold cancelled cancelled"})
		})
		t.Run("wall time "+lane, func(t *testing.T) {
			l := newLab(t)
			l.worker()
			a := allInline(step(call("in_hold", `{}`), call("in_append", `{"text":"a"}`)),
				answer("never"))
			a.Model.Lane, a.Limits.WallTime = lane, api.Duration(time.Second)
			run := l.runAgent("run", a)
			if r := l.result(run); r.Outcome != api.OutcomeLimit || r.Limit != "wall_time" ||
				r.Answer != "as far as I got" {
				t.Errorf("result: %+v", r)
			}
			expect(t, "records", l.statuses(run), []string{"1.2 in_append completed",
				"1.1 in_hold cancelled cancelled"})
			if n := l.executions()["1.1 in_hold"]; n != 1 {
				t.Errorf("in_hold was executed %d times", n)
			}
		})
	}
}

// A tool that must not run twice is not executed inline even if a run has pinned it so. The model
// reads why.
func TestInline_RefusesOnceTools(t *testing.T) {
	l := newLab(t)
	l.worker()
	a := withTools(agent(step(call("in_append", `{"text":"a"}`)), answer("done")), "in_append")
	value, err := l.Client.QueryWorkflow(l.ctx, l.finished("first", a).GetID(), "", api.SetupQuery)
	if err != nil {
		t.Fatal(err)
	}
	var setup api.Setup
	if err := value.Get(&setup); err != nil {
		t.Fatal(err)
	}
	pinned := setup.Pinned.Value
	pinned.Catalog.Tools = slices.Clone(pinned.Catalog.Tools) // decoded values are shared
	pinned.Catalog.Tools[0].Effect = api.EffectOnce
	run := l.run(api.AgentWorkflow, "once", api.RunInput{Agent: a, Prompt: "Go.",
		State: &api.ContinueState{Run: "once", Started: time.Now(), Pinned: api.Pack(pinned)}})
	if r := l.result(run); r.Answer != "done" || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "records", l.statuses(run), []string{"1.1 in_append refused precondition_failed"})
	if n := len(l.entries()); n != 1 {
		t.Errorf("the journal has %d lines, one of them by the run before", n)
	}
}

// finished runs an agent to its end.
func (l *lab) finished(id string, a *api.Agent) client.WorkflowRun {
	l.t.Helper()
	run := l.runAgent(id, a)
	l.result(run)
	return run
}

// A worker that is stopping finishes its inline calls and the rest of the workflow task, so nothing
// is repeated.
func TestInline_FinishesBeforeTheWorkerStops(t *testing.T) {
	l := newLab(t)
	worker := l.worker("--metrics-address", "127.0.0.1:0")
	run := l.runAgent("run", allInline(step(call("in_append", `{"text":"a"}`)),
		step(call("in_hold", `{}`)), step(call("in_append", `{"text":"b"}`)), answer("done")))
	l.awaitEntries(2)
	stopped := make(chan int, 1)
	go func() { stopped <- worker.Stop() }()
	l.await("for the worker to stop", func() bool {
		response, err := http.Get("http://" + l.metrics + "/readyz")
		if err == nil {
			response.Body.Close()
		}
		return err != nil || response.StatusCode != http.StatusOK
	})
	l.openGate()
	if r := l.result(run); r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	if code := <-stopped; code != 0 {
		t.Errorf("the worker ended with %d", code)
	}
	if n := len(l.entries()); n != 3 {
		t.Errorf("executed: %v", l.executions())
	}
}
