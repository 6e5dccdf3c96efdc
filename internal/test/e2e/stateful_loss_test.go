package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/client"
)

// withInstance is a run that uses a counter, waits for the gate elsewhere, and uses the counter
// twice more.
func withInstance(tool string) *api.Agent {
	return counting("hold_read "+tool, step(call(tool, `{"by":1}`)), step(call("hold_read", `{}`)),
		step(call(tool, `{"by":10}`)), step(call(tool, `{"by":100}`)), answer("done"))
}

// outcomes returns "call status: text of the result or type of the error, notes" for every record
// of a tool, in order of the calls.
func (l *lab) outcomes(run client.WorkflowRun, tool string) []string {
	l.t.Helper()
	var list []string
	for _, r := range l.records(run) {
		if r.Tool != tool {
			continue
		}
		text := r.CallID + " " + string(r.Status)
		if r.Error != nil {
			text += " " + string(r.Error.Type)
		}
		if r.Result != nil {
			text += " " + strings.Join(append([]string{jsonvalue.Plain(r.Result.Output)},
				r.Result.Notes...), "; ")
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// lossNoticed returns when the server noticed that a host's worker was lost, zero if it has not,
// and whether the run has taken a decision since.
func (l *lab) lossNoticed(run client.WorkflowRun) (at time.Time, decided bool) {
	l.t.Helper()
	holds := map[int64]bool{}
	for _, e := range l.histories(run.GetID(), run.GetRunID())[0].GetEvents() {
		scheduled := e.GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() == api.HostInstanceActivity {
			holds[e.GetEventId()] = true
		}
		if holds[e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId()] {
			at = e.GetEventTime().AsTime()
		}
		decided = decided || !at.IsZero() && e.GetWorkflowTaskCompletedEventAttributes() != nil
	}
	return at, decided
}

// If on_loss ends the tool, the worker's death is noticed within its heartbeat timeout. The waiting
// call and all later ones end as worker_lost, in the records and for the model, and the run
// continues.
func TestInstance_LossEndsTheTool(t *testing.T) {
	l := newLab(t)
	first, second := l.worker(), l.worker()
	const tool = "brittle_counter"
	run := l.runAgent("run", withInstance(tool))
	id := run.GetRunID()
	l.await("for the call in between", func() bool { return len(l.written(id, "hold_read")) == 1 })
	killed := l.killHost(id, tool, first, second)
	l.openGate()
	if r := l.result(run); r.Answer != "done" || r.Usage.Failed != 2 {
		t.Errorf("result: %+v", r)
	}
	outcomes := l.outcomes(run, tool)
	// Whether the call had been scheduled when the loss was noticed.
	outcomes[1] = strings.Replace(outcomes[1], "refused", "failed", 1)
	expect(t, "outcomes", outcomes, []string{"1.1 completed 1", "3.1 failed worker_lost",
		"4.1 refused worker_lost"})
	texts := map[string]string{}
	for _, m := range l.conversation(run) {
		texts[m.CallID] = m.Text
	}
	for _, r := range l.records(run) {
		if r.Error == nil {
			continue
		}
		if r.Error.Message != "the state of "+tool+" in this run was lost (on_loss: fail): its worker was lost or could not reach Temporal; do not call "+tool+" again in this run" ||
			texts[r.CallID] != r.Error.ForModel() {
			t.Errorf("the record of call %s says %q, and the model reads %q", r.CallID, r.Error,
				texts[r.CallID])
		}
	}
	noticed, _ := l.lossNoticed(run)
	const heartbeat = 2 * time.Second // that of the tool
	if took := noticed.Sub(killed); noticed.IsZero() || took > 2*heartbeat {
		t.Errorf("the loss was noticed after %s, want at most %s (heartbeat timeout %s)", took,
			2*heartbeat, heartbeat)
	}
	expect(t, "instance", l.texts(id, tool), []string{wroteMade, wroteAdded + " as 1"})
}

// The running call and the calls behind it end when the instance is lost for good.
func TestInstance_LossDuringACall(t *testing.T) {
	l := newLab(t)
	first, second := l.worker(), l.worker()
	const tool = "brittle_counter"
	run := l.runPlan("run", api.Plan{Calls: []api.PlanCall{
		{ID: "a", Tool: tool, Arguments: []byte(`{"gate":"before"}`)}, {ID: "b", Tool: tool},
		{ID: "c", Tool: "append", Arguments: []byte(`{"text":"x"}`)}}})
	l.awaitText(run.GetRunID(), tool, wroteAsked, 1)
	l.killHost(run.GetRunID(), tool, first, second)
	l.openGate()
	l.failure(run, api.RunCallsFailed)
	statuses := slices.Sorted(slices.Values(l.statuses(run)))
	// Whether the call had been scheduled when the loss was noticed.
	statuses[1] = strings.Replace(statuses[1], "refused", "failed", 1)
	expect(t, "records", statuses, []string{"a brittle_counter failed outcome_unknown",
		"b brittle_counter failed worker_lost", "c append completed"})
	for _, r := range l.records(run) {
		if r.CallID == "b" && !r.Error.NotStarted {
			t.Errorf("the record of a call that nothing ran of has the error %+v", r.Error)
		}
	}
}

// An instance without a snapshot is created again when its worker is lost, and the first answer
// after that has a note.
func TestInstance_IsReplacedWithoutASnapshot(t *testing.T) {
	l := newLab(t)
	first, second := l.worker(), l.worker()
	const tool = "new_counter"
	run := l.runAgent("run", withInstance(tool))
	id := run.GetRunID()
	l.await("for the call in between", func() bool { return len(l.written(id, "hold_read")) == 1 })
	l.killHost(id, tool, first, second)
	l.openGate()
	l.result(run)
	expect(t, "outcomes", l.outcomes(run, tool), []string{"1.1 completed 1",
		"3.1 completed 10; the worker that hosted the last one was lost: this is a new instance of new_counter, without the state of the previous one",
		"4.1 completed 110"})
	expect(t, "instances", l.texts(id, tool), []string{wroteMade, wroteAdded + " as 1", wroteMade,
		wroteAdded + " as 2", wroteAdded + " as 2", wroteClosed})
}

// A stopping worker finishes the call of its instance and releases it at once: the next worker
// rebuilds it without waiting for a heartbeat timeout.
func TestInstance_MovesWhenItsWorkerStops(t *testing.T) {
	l := newLab(t)
	first := l.worker("--metrics-address", "127.0.0.1:0")
	const tool = "snapshot_counter"
	run := l.runAgent("run", counting(tool, step(call(tool, `{"by":1,"gate":"after"}`)),
		step(add("n", tool, `{"by":10}`)), answer("${n}")))
	id := run.GetRunID()
	l.awaitText(id, tool, wroteAdded, 1)
	if metrics := l.readMetrics(); !strings.Contains(metrics,
		`switchyard_instances{tool="snapshot_counter"} 1`) || strings.Contains(metrics, id) {
		t.Errorf("the metrics show another number of instances, or the run's id:\n%s", metrics)
	}
	code := l.stopping(first)
	l.openGate()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
	expect(t, "the stopped worker", l.texts(id, tool), []string{wroteMade, wroteAdded + " as 1",
		wroteClosed})
	l.worker()
	if r := l.result(run); r.Answer != "11" || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "instances", l.texts(id, tool), []string{wroteMade, wroteAdded + " as 1", wroteClosed,
		wroteMade, wroteRestored, wroteAdded + " as 2", wroteClosed})
	if got := fmt.Sprint(l.executions()["1.1 "+tool]); got != "1" {
		t.Errorf("the first call was executed %s times", got)
	}
}
