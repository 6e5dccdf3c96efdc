package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
)

// deferredSize is the size of arguments of which three fit into a workflow task.
const deferredSize = 600 << 10

// large returns arguments of deferredSize bytes for a tool with that parameter.
func large(parameter string) string {
	return fmt.Sprintf(`{%s: %q}`, parameter, strings.Repeat("x", deferredSize))
}

// onTaskEnd calls do when the run first ends a workflow task because it is full, after that many
// admissions.
func (l *lab) onTaskEnd(admissions int64, do func()) {
	var admitted atomic.Int64
	l.admits = func(context.Context) { admitted.Add(1) }
	var once sync.Once
	l.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		if d == time.Millisecond && admitted.Load() == admissions {
			once.Do(do)
		}
	})
}

// A run that is paused while calls wait for the next workflow task starts them when it is resumed.
// The question of such a call opens with its start: an earlier reply could not end the call.
func TestDeferredCalls_WaitForTheEndOfAPause(t *testing.T) {
	l := newPeoplesLab(t)
	var paused, resumed, replied *update
	l.onTaskEnd(5, func() {
		paused = l.updateRun(api.PauseUpdate, "pause", api.Pause{By: "ada"})
		l.RegisterDelayedCallback(func() {
			if n := len(l.executed); n == 0 || n > 3 || len(l.open()) != 0 {
				t.Errorf("while paused: executed %v, questions %v", l.executed, l.open())
			}
			resumed = l.updateRun(api.ResumeUpdate, "resume", api.Pause{By: "ada"})
		}, time.Minute)
		l.RegisterDelayedCallback(func() {
			if open := l.open(); len(open) != 1 || open[0].ID != "d" {
				t.Errorf("resumed: questions %v", open)
			}
			replied = l.updateRun(api.AnswerQuestionUpdate, "reply",
				api.Reply{Question: "d", By: "ada", Value: []byte(`"yes"`)})
		}, 2*time.Minute)
	})
	l.runPlan(fmt.Sprintf(`calls: [{id: a, tool: echo, arguments: %s}, {id: b, tool: echo, arguments: %[1]s},
		{id: c, tool: echo, arguments: %[1]s}, {id: d, tool: ask, arguments: %s},
		{id: e, tool: echo, arguments: %[1]s}]`, large("value"), large("question")))
	if r := l.result(); r.Usage.Calls != 5 || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r.Usage)
	}
	for name, u := range map[string]*update{"pause": paused, "resume": resumed} {
		if got := u.refusal(t); got != "" {
			t.Errorf("%s is refused as %s", name, got)
		}
	}
	if err := replied.Get(t.Context(), nil); err != nil {
		t.Errorf("the reply ended with %v", err)
	}
}

// A call of a few bytes on a lane starts beside inline calls that have reserved the workflow task
// for their results.
func TestDeferredCalls_SmallOnesPassInlineCalls(t *testing.T) {
	l := newInlineLab(t, 1)
	started := make(chan struct{})
	l.calls = func(ctx context.Context) {
		if call, _ := callcontext.From(ctx); call.Tool == "echo" {
			close(started)
			return
		}
		select {
		case <-started:
		case <-ctx.Done():
			t.Error("an inline call ended before the call on a lane started")
		}
	}
	greeting := call("in_greet", `{"name":"x","times":1}`)
	greeting.Repeat = 40
	l.runAgent(withEcho(inlineAgent("", step(greeting, call("echo", `{"value":1}`)), answer("done"))), "Go.")
	if r := l.result(); r.Usage.Calls != 41 || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
}

// The decisions on calls for which the history has no space are divided over workflow tasks.
func TestHistoryBudget_DividesRejections(t *testing.T) {
	const calls = 5000
	l := newLab(t)
	l.grows(48_000, 1<<20, 9, 1<<10)
	timers := 0
	l.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	plan := make([]string, calls)
	for i := range plan {
		plan[i] = fmt.Sprintf(`{id: "c%d", tool: echo, arguments: {value: 1}}`, i)
	}
	l.runPlan("calls: [" + strings.Join(plan, ", ") + "]")
	l.failure(api.RunCallsFailed, nil)
	if len(l.executed) > 0 || timers == 0 {
		t.Errorf("%d calls were executed, and %d timers divide the rejections", len(l.executed),
			timers)
	}
}

func withEcho(a *api.Agent) *api.Agent {
	a.Tools = append(a.Tools, "echo")
	return a
}
