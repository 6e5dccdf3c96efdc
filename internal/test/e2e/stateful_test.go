package e2e

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"go.temporal.io/sdk/client"
)

// written returns the journal's lines of a tool in a run, in order: "pid text".
func (l *lab) written(run, tool string) []entry {
	return slices.DeleteFunc(l.entries(), func(e entry) bool {
		return e.Run != run ||
			e.Tool != tool
	})
}

// texts returns the journal's texts of a tool in a run, in order.
func (l *lab) texts(run, tool string) []string {
	var texts []string
	for _, e := range l.written(run, tool) {
		texts = append(texts, e.Text)
	}
	return texts
}

// add returns a call of a counter whose answer later steps may refer to as id.
func add(id, tool, arguments string) api.ScriptCall { return named(id, call(tool, arguments)) }

// counting returns an agent with the tools of a list that plays the steps.
func counting(tools string, steps ...api.ScriptStep) *api.Agent {
	return withTools(agent(steps...), tools)
}

// A run's calls of a tool share an instance. Two concurrent runs and two tools of one factory have
// separate state. Each instance is closed once, before its run ends.
func TestInstances_BelongToOneRunAndTool(t *testing.T) {
	l := newLab(t)
	l.worker()
	l.worker()
	a := counting("counter other_counter",
		step(call("counter", `{"by":1}`), call("counter", `{"by":10}`),
			call("other_counter", `{"by":5}`)),
		step(add("a", "counter", `{"by":100}`), add("b", "other_counter", `{"by":50}`)),
		answer("${a} ${b}"))
	one, two := l.runAgent("one", a), l.runAgent("two", a)
	for _, run := range []client.WorkflowRun{one, two} {
		if r := l.result(run); r.Answer != "111 55" || r.Usage.Failed != 0 {
			t.Errorf("run %s: %+v", run.GetID(), r)
		}
		for tool, calls := range map[string]int{"counter": 3, "other_counter": 2} {
			want := slices.Concat([]string{wroteMade}, slices.Repeat([]string{wroteAdded + " as 1"},
				calls), []string{wroteClosed})
			expect(t, tool+" of run "+run.GetID(), l.texts(run.GetRunID(), tool), want)
		}
		for _, r := range l.records(run) {
			if want := map[string]string{"counter": "general",
				"other_counter": "serial"}[r.Tool]; r.Lane != want || r.Attempts != 1 {
				t.Errorf("call %s of %s ran on the lane %q in %d attempts", r.CallID, r.Tool,
					r.Lane, r.Attempts)
			}
		}
	}
}

// holder returns the process that created the run's last instance of a tool.
func (l *lab) holder(run, tool string) int {
	l.t.Helper()
	pid := 0
	for _, e := range l.written(run, tool) {
		if e.Text == wroteMade {
			pid = e.PID
		}
	}
	if pid == 0 {
		l.t.Fatalf("no worker has created %s; the journal is %v", tool, l.entries())
	}
	return pid
}

// killHost kills the worker that hosts the run's instance, and returns the time.
func (l *lab) killHost(run, tool string, workers ...*testserver.Process) time.Time {
	l.t.Helper()
	pid := l.holder(run, tool)
	for _, w := range workers {
		if w.PID() == pid {
			w.Kill()
			return time.Now()
		}
	}
	l.t.Fatalf("process %d is none of the workers", pid)
	return time.Time{}
}

func (l *lab) awaitText(run, tool, text string, times int) {
	l.t.Helper()
	l.await(fmt.Sprintf("for %s to have %s", tool, text), func() bool {
		n := 0
		for _, t := range l.texts(run, tool) {
			if strings.HasPrefix(t, text) {
				n++
			}
		}
		return n >= times
	})
}

// An instance whose worker is killed with kill -9 while it is idle, during a call or while it is
// created is rebuilt on another worker. The run's answer is that of an undisturbed one: each effect
// of a call on the instance is there exactly once.
func TestInstance_IsRebuiltAfterAKill(t *testing.T) {
	for name, test := range map[string]struct {
		tool   string
		middle api.ScriptCall
		// waits is the journal's text at which the worker is killed, and its number.
		waits string
		times int
	}{
		"idle": {"snapshot_counter", call("hold_read", `{}`), "", 1},
		"before": {"snapshot_counter", call("snapshot_counter", `{"by":10,"gate":"before"}`), wroteAsked,
			1},
		"after":  {"snapshot_counter", call("snapshot_counter", `{"by":10,"gate":"after"}`), wroteAdded, 2},
		"unmade": {"late_counter", call("late_counter", `{"by":10}`), wroteMade, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			first, second := l.worker(), l.worker()
			play := func(id string) *api.Agent {
				return counting("hold_read snapshot_counter late_counter",
					step(call(test.tool, `{"by":1}`)), step(test.middle),
					step(add("n", test.tool, `{"by":100}`)), answer("${n}"))
			}
			run := l.runAgent("disturbed", play("disturbed"))
			id := run.GetRunID()
			if test.waits == "" {
				l.await("for the call in between",
					func() bool { return len(l.written(id, "hold_read")) == 1 })
			} else {
				l.awaitText(id, test.tool, test.waits, test.times)
			}
			l.killHost(id, test.tool, first, second)
			l.openGate()
			got := l.result(run)
			undisturbed := l.runAgent("undisturbed", play("undisturbed"))
			if want := l.result(undisturbed); !reflect.DeepEqual(got, want) ||
				got.Usage.Failed != 0 {
				t.Errorf("got %+v, want %+v", got, want)
			}
			texts := l.texts(id, test.tool)
			if n := count(texts, wroteClosed); n != 1 {
				t.Errorf("%d instances were closed, want the one that was not killed: %q", n, texts)
			}
			for _, r := range l.records(run) {
				if r.Status != api.CallCompleted || len(r.Notes) > 0 {
					t.Errorf("call %s is %s, notes %q, error %v", r.CallID, r.Status, r.Notes,
						r.Error)
				}
			}
		})
	}
}

func count(texts []string, text string) int {
	n := 0
	for _, t := range texts {
		if t == text {
			n++
		}
	}
	return n
}
