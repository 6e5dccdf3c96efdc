package e2e

import (
	"slices"
	"testing"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/client"
)

// written returns the journal's lines of a tool in a run, in order: "pid text".
func (l *lab) written(run, tool string) []entry {
	return slices.DeleteFunc(l.entries(), func(e entry) bool { return e.Run != run || e.Tool != tool })
}

// texts returns what the journal says of a tool in a run, in order.
func (l *lab) texts(run, tool string) []string {
	var texts []string
	for _, e := range l.written(run, tool) {
		texts = append(texts, e.Text)
	}
	return texts
}

// add is a call of a counter whose answer later steps may refer to as id.
func add(id, tool, arguments string) switchyard.ScriptCall { return named(id, call(tool, arguments)) }

// counting returns an agent with the tools of a list that plays the steps.
func counting(tools string, steps ...switchyard.ScriptStep) *switchyard.Agent {
	return withTools(agent(steps...), tools)
}

// TestStatefulRuns proves that every run has instances of its own, one for each tool, that its calls share: two runs at
// once and two tools of one factory never see each other's state. Each instance is closed once, before its run ends.
func TestStatefulRuns(t *testing.T) {
	l := newLab(t)
	l.worker()
	l.worker()
	a := counting("counter other_counter",
		step(call("counter", `{"by":1}`), call("counter", `{"by":10}`), call("other_counter", `{"by":5}`)),
		step(add("a", "counter", `{"by":100}`), add("b", "other_counter", `{"by":50}`)),
		answer("${a} ${b}"))
	one, two := l.runAgent("one", a), l.runAgent("two", a)
	for _, run := range []client.WorkflowRun{one, two} {
		if r := l.result(run); r.Answer != "111 55" || r.Usage.Failed != 0 {
			t.Errorf("run %s: %+v", run.GetID(), r)
		}
		for tool, calls := range map[string]int{"counter": 3, "other_counter": 2} {
			want := slices.Concat([]string{wroteMade}, slices.Repeat([]string{wroteAdded + " as 1"}, calls), []string{wroteClosed})
			expect(t, tool+" of run "+run.GetID(), l.texts(run.GetRunID(), tool), want)
		}
		for _, r := range l.records(run) {
			if want := map[string]string{"counter": "general", "other_counter": "serial"}[r.Tool]; r.Lane != want || r.Attempts != 1 {
				t.Errorf("call %s of %s ran on the lane %q in %d attempts", r.CallID, r.Tool, r.Lane, r.Attempts)
			}
		}
	}
}
