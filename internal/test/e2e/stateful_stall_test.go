//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

// An outage of the server while runs get their instances ends none of them: nothing has been called
// that could be lost.
func TestOutage_EndsNoRunThatGetsItsInstance(t *testing.T) {
	for _, after := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			const n = 20
			l := newLab(t)
			l.workerIn(nil, "--tools", l.mcpTools(map[string]string{"remember": ""}))
			starts := make(chan error, n)
			started := time.Now()
			for i := range n {
				time.AfterFunc(time.Duration(i)*10*time.Millisecond, func() {
					_, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{
						ID: fmt.Sprint("run", i), TaskQueue: api.DefaultTaskQueue}, api.CallWorkflow,
						api.RunInput{Call: &api.Call{Tool: "remember", Arguments: `{"text":"a"}`}})
					starts <- err
				})
			}
			<-time.After(after - time.Since(started))
			signal := func(s syscall.Signal) {
				if err := syscall.Kill(l.Server.PID(), s); err != nil {
					t.Fatal(err)
				}
			}
			signal(syscall.SIGSTOP)
			<-time.After(7 * time.Second) // longer than the patience of one heartbeat
			signal(syscall.SIGCONT)
			for range n {
				if err := <-starts; err != nil {
					t.Fatal(err)
				}
			}
			for i := range n {
				l.result(l.Client.GetWorkflow(l.ctx, fmt.Sprint("run", i), ""))
			}
		})
	}
}

// A worker that is suspended for longer than its lease does nothing with its instance after it
// wakes up, neither with its running call nor with one that it was given while it was suspended.
func TestStalledHost_HasNoFurtherEffect(t *testing.T) {
	const tool = "serial_counter"
	for name, test := range map[string]struct {
		steps []api.ScriptStep
		// asked are the journal's lines of the tool when the worker is suspended, after those of
		// the first call.
		asked []string
	}{
		"in a call": {[]api.ScriptStep{step(add("n", tool, `{"by":10,"gate":"before"}`))},
			[]string{wroteAsked}},
		"idle": {[]api.ScriptStep{step(call("hold_read", `{}`)),
			step(add("n", tool, `{"by":10}`))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			// Another worker takes the run's decisions, because they must not wait for workflow
			// tasks of the suspended one.
			l.worker("--lanes", "general")
			l.worker("--lanes", "serial")
			l.worker("--lanes", "serial")
			run := l.runAgent("run", counting("hold_read "+tool,
				slices.Concat([]api.ScriptStep{step(call(tool, `{"by":1}`))}, test.steps,
					[]api.ScriptStep{answer("${n}")})...))
			id := run.GetRunID()
			l.await("for the second step", func() bool { return len(l.entries()) == 3 })
			stalled := l.holder(id, tool)
			if err := syscall.Kill(stalled, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = syscall.Kill(stalled, syscall.SIGCONT) })
			l.await("for the worker to stand still",
				func() bool { return processState(fmt.Sprint(stalled)) == "T" })
			l.openGate()
			if r := l.result(run); r.Answer != "11" || r.Usage.Failed != 0 {
				t.Errorf("result: %+v", r)
			}
			before := len(l.written(id, tool))
			if err := syscall.Kill(stalled, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			l.await("for the suspended worker to close its instance",
				func() bool { return len(l.written(id, tool)) > before })
			var did, other []string
			for _, e := range l.written(id, tool) {
				if e.PID == stalled {
					did = append(did, e.Text)
				} else {
					other = append(other, e.Text)
				}
			}
			expect(t, "the suspended worker", did, slices.Concat([]string{wroteMade, wroteAdded +
				" as 1"}, test.asked, []string{wroteClosed}))
			expect(t, "the other", other, slices.Concat([]string{wroteMade, wroteRestored},
				test.asked, []string{wroteAdded + " as 2", wroteClosed}))
		})
	}
}
