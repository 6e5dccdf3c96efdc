package workflows_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// journalReader reads the side effects of a run.
type journalReader struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	interceptor.WorkflowOutboundInterceptorBase
	// lines are the entries, a line for each, and markers counts the side effects.
	lines   []string
	markers int
}

func (j *journalReader) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	j.WorkflowInboundInterceptorBase.Next = next
	return j
}

func (j *journalReader) Init(out interceptor.WorkflowOutboundInterceptor) error {
	j.WorkflowOutboundInterceptorBase.Next = out
	return j.WorkflowInboundInterceptorBase.Next.Init(j)
}

func (j *journalReader) SideEffectWithOptions(ctx workflow.Context,
	options workflow.SideEffectOptions,
	f func(workflow.Context) any) converter.EncodedValue {
	j.markers++
	for _, e := range f(ctx).([]api.JournalEntry) {
		line := fmt.Sprintf("%s %s %s", e.Call, e.Next, e.Error.Type)
		if e.MayHaveStarted {
			line += ", may have started"
		}
		j.lines = append(j.lines, line)
	}
	return j.WorkflowOutboundInterceptorBase.Next.SideEffectWithOptions(ctx, options, f)
}

// journal records the side effects of the lab's run.
func (l *lab) journal() *journalReader {
	j := &journalReader{}
	l.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{j},
		DeadlockDetectionTimeout: busy})
	return j
}

// A call that succeeds, or fails with what its activity says, has no entry. Other calls have one
// for each attempt after which they go on, and one for an end that is another one than that of
// their last activity.
func TestJournal_HasWhatActivitiesDoNotSay(t *testing.T) {
	refused := func() error {
		return executor.Failure(&api.Error{Type: api.ErrExecution, Phase: api.PhaseExecution,
			Message: "no", NotStarted: true})
	}
	left := func() error {
		return executor.Failure(&api.Error{Type: api.ErrOutcomeUnknown,
			Phase: api.PhaseExecution, Message: "the worker stops"}, api.RemoteTask{ID: "task"})
	}
	for name, test := range map[string]struct {
		tool, arguments string
		failures        []func() error
		want            []string
	}{
		"success":   {"echo", `{"value":1}`, nil, nil},
		"a failure": {"store", `{"text":"a"}`, []func() error{refused}, nil},
		"requeued": {"store", `{"text":"a"}`, []func() error{notStarted, notStarted},
			[]string{"1.1 attempt cancelled", "1.1 attempt cancelled"}},
		"lost": {"echo", `{"value":1}`, []func() error{lost, lost, lost},
			[]string{"1.1 attempt worker_lost, may have started"}},
		"lost, then refused": {"echo", `{"value":1}`,
			[]func() error{lost, lost, lost, refused, refused, refused},
			[]string{"1.1 attempt worker_lost, may have started", "1.1  worker_lost"}},
		"a task": {"store", `{"text":"a"}`, []func() error{left},
			[]string{"1.1 attempt outcome_unknown, may have started"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			j := l.journal()
			attempt := 0
			l.returns = func(activity.Info) error {
				if attempt++; attempt > len(test.failures) {
					return nil
				}
				return test.failures[attempt-1]()
			}
			l.runAgent(agent(step(call(test.tool, test.arguments)), answer("done")), "Go.")
			l.result()
			expect(t, "entries", j.lines, test.want)
		})
	}
}

// The journal says that a call is verified, and that it is made again because it had no effect.
// What the verification finds is the end of the call, which has a marker of its own.
func TestJournal_HasVerifications(t *testing.T) {
	l := newBookings(t)
	j := l.journal()
	l.founds = []string{absent, absent, there}
	l.runAgent(booker("", step(call("reorder", `{}`)), answer("done")), "Go.")
	l.result()
	expect(t, "entries", j.lines, []string{"1.1 verify outcome_unknown, may have started",
		"1.1 attempt cancelled, may have started", "1.1 verify outcome_unknown, may have started"})
}

// A run that was cancelled between two attempts of its calls records their ends.
func TestJournal_HasCallsCancelledBetweenAttempts(t *testing.T) {
	l := newLab(t)
	j := l.journal()
	l.returns = func(activity.Info) error { return notStarted() }
	l.after(90*time.Second, l.CancelWorkflow)
	l.runPlan(`calls: [{id: a, tool: echo, arguments: {value: 1}},
  {id: b, tool: echo, arguments: {value: 2}}]`)
	l.cancelled()
	n := len(j.lines)
	if n < 4 {
		t.Fatalf("entries: %q", j.lines)
	}
	last := slices.Sorted(slices.Values(j.lines[n-2:]))
	expect(t, "the last entries", last, []string{"a  cancelled", "b  cancelled"})
}

// A call whose instance was lost has the error that the run decides: its activity was cancelled, or
// the run scheduled none. The entries of one workflow task are one marker.
func TestJournal_HasTheCallsOfLostInstances(t *testing.T) {
	w := newWorkers(t, []toolspecs.Spec{statefulTool(nil)}, hostInstance{until: "1.1 waits",
		err: temporal.NewHeartbeatTimeoutError(api.InstanceProgress{Generation: 1, Used: true})})
	j := w.journal()
	w.runAgent("counter", step(call("counter", `{}`)),
		step(call("counter", `{}`), call("counter", `{}`)), answer("done"))
	w.result()
	expect(t, "entries", j.lines, []string{"1.1  worker_lost", "2.1  worker_lost",
		"2.2  worker_lost"})
	if j.markers != 2 {
		t.Errorf("the entries are %d markers", j.markers)
	}
}
