package e2e

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// answerWithin bounds the time in which a keeper that is filled to its bound answers after its
// worker was killed, counted from when the next worker serves. The short form runs beside other
// packages, and on machines half as fast.
func answerWithin() time.Duration {
	if testing.Short() {
		return 15 * time.Second
	}
	return 5 * time.Second
}

// answers checks that a keeper answers in time, which takes a replay of its history.
func (l *lab) answers(id string) {
	l.t.Helper()
	events, began := l.length(id), time.Now()
	l.await("for the keeper to answer", func() bool {
		_, err := l.Client.QueryWorkflow(l.ctx, id, "", client.QueryTypeStackTrace)
		return err == nil
	})
	took := time.Since(began)
	l.t.Logf("the keeper, of %d events, answered after %s", events, took.Round(time.Millisecond))
	if most := answerWithin(); took > most {
		l.t.Errorf("the keeper took %s to answer, want at most %s", took, most)
	}
}

// signals sends n signals to a workflow, several at a time. next returns the nth.
func (l *lab) signals(id string, n int, next func(n int) (name string, value any)) {
	l.t.Helper()
	numbers, failed := make(chan int), make(chan error, n)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for n := range numbers {
				name, value := next(n)
				if err := l.Client.SignalWorkflow(l.ctx, id, "", name, value); err != nil {
					failed <- err
				}
			}
		})
	}
	for n := range n {
		numbers <- n
	}
	close(numbers)
	all.Wait()
	close(failed)
	for err := range failed {
		l.t.Fatal(err)
	}
}

// length returns the number of events of a workflow's current execution.
func (l *lab) length(id string) int64 {
	l.t.Helper()
	described, err := l.Client.DescribeWorkflowExecution(l.ctx, id, "")
	l.must(err)
	return described.GetWorkflowExecutionInfo().GetHistoryLength()
}

const poolTools = `
name: work
version: 1.0.0
description: Works on the lane pool.
parameters: [{name: ms, type: integer, required: true}]
entry: {type: function, handler: tick}
execution: {lane: pool, effect: idempotent}
---
name: wait
version: 1.0.0
description: Holds a slot of the lane pool until the gate opens.
entry: {type: function, handler: hold}
execution: {lane: pool, effect: read, timeout: 1m}
`

// A free slot is used while a call runs, however long the history of the lane's keeper is.
func TestLaneKeeper_StartsCallsWhileItsHistoryIsLong(t *testing.T) {
	l := newLanesLab(t, poolTools, "lanes: {pool: {limit: 2, holders: 1}}",
		"--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=60")
	l.worker()
	waiting := l.runCall("waiting", "wait", "{}")
	l.awaitEntries(1)
	id := api.LaneWorkflowID(api.DefaultTaskQueue, "pool")
	for n := 0; l.length(id) < 120; n++ {
		l.must(l.Client.SignalWorkflow(l.ctx, id, "", api.ConfigureLaneSignal,
			api.Lane{Name: "pool", Limit: 2, Holders: 1}))
	}
	l.result(l.runCall("beside", "work", `{"ms":1}`))
	l.openGate()
	l.result(waiting)
}

// A lane has at most 64 groups. Its keeper has more events than the 4,096 from which on the server
// suggests to continue as new, and then gets another division from the next worker.
func TestLaneKeeper_AnswersSoonAfterAKilledWorkerWhenItIsFull(t *testing.T) {
	const events = 4_200
	l := newLanesLab(t, poolTools, "lanes: {pool: {limit: 64, holders: 64, lease: 2s}}")
	first := l.worker()
	id := api.LaneWorkflowID(api.DefaultTaskQueue, "pool")
	l.result(l.runCall("before", "work", `{"ms":1}`))
	lane := api.Lane{Name: "pool", Limit: 64, Holders: 64, Lease: api.Duration(2 * time.Second)}
	for l.length(id) < events {
		l.signals(id, 200, func(int) (string, any) { return api.ConfigureLaneSignal, lane })
	}
	first.Kill()
	l.configure("lanes: {pool: {limit: 64, holders: 63, lease: 2s}}")
	l.worker()
	lane.Holders = 63
	l.answers(id)
	l.await("for the new division", func() bool { return l.division(id) == lanerules.DescribeGroups(lane) })
	l.result(l.runCall("after", "work", `{"ms":1}`))
}

// division returns the division into groups that a lane's keeper reports.
func (l *lab) division(id string) (groups string) {
	l.t.Helper()
	described, err := l.Client.DescribeWorkflowExecution(l.ctx, id, "")
	l.must(err)
	memo := described.GetWorkflowExecutionInfo().GetMemo().GetFields()[api.HoldersMemo]
	l.must(converter.GetDefaultDataConverter().FromPayload(memo, &groups))
	return groups
}

// talkTools declares tools of a stateful instance of a conversation.
func (l *lab) talkTools() string {
	l.t.Helper()
	dir := l.t.TempDir()
	l.writeFile(filepath.Join(dir, "counter.yaml"), `name: kept
version: 1.0.0
description: Adds to the conversation's number.
parameters: [{name: by, type: integer, default: 1}, {name: gate, type: string}]
entry: {type: stateful, handler: snapshot_counter, on_loss: recreate, scope: conversation}
execution: {heartbeat: 2s, effect: idempotent}
`)
	return dir
}

// kept runs a call of a conversation's instance.
func (l *lab) kept(conversation string) client.WorkflowRun {
	l.t.Helper()
	a := agent(step(call("kept", `{}`)), answer("done"))
	a.Tools = []string{"kept"}
	return l.runAgent(conversation, a)
}

// keeperOf returns the ID of the workflow that keeps the instance of a conversation.
func keeperOf(conversation string) string {
	return api.InstanceWorkflowID(api.DefaultTaskQueue, "general", conversation, "kept")
}

// 500 runs use an instance at a time. Its workflow has nearly the 4,096 events from which on the
// server suggests to continue as new.
func TestInstanceKeeper_AnswersSoonAfterAKilledWorkerWhenItIsFull(t *testing.T) {
	inFull(t)
	const users, events = 499, 3_900
	l := newLab(t)
	tools := l.talkTools()
	first := l.workerIn(nil, "--tools", tools)
	l.result(l.kept("talk"))
	id := keeperOf("talk")
	user := func(n int) instancerules.User {
		return instancerules.User{WorkflowID: fmt.Sprint("run-", n), Ticket: fmt.Sprint(n)}
	}
	l.signals(id, users, func(n int) (string, any) { return api.JoinInstanceSignal, user(n) })
	for l.length(id) < events {
		l.signals(id, 100, func(n int) (string, any) {
			return api.JoinInstanceSignal, user(n)
		})
	}
	first.Kill()
	l.workerIn(nil, "--tools", tools)
	l.answers(id)
	if r := l.result(l.kept("talk")); r.Usage.Failed != 0 {
		t.Errorf("the next run: %+v", r)
	}
}

// Runs that were terminated do not use up the places of an instance's users.
func TestInstanceKeeper_ForgetsRunsThatWereTerminated(t *testing.T) {
	l := newLab(t)
	l.workerIn(nil, "--tools", l.talkTools())
	l.result(l.kept("talk"))
	id := keeperOf("talk")
	l.signals(id, 500, func(n int) (string, any) {
		return api.JoinInstanceSignal, instancerules.User{WorkflowID: fmt.Sprint("gone-", n),
			Ticket: fmt.Sprint(n)}
	})
	for range 2 {
		if r := l.result(l.kept("talk")); r.Usage.Failed != 0 {
			t.Errorf("a run beside 500 that were terminated: %+v", r)
		}
	}
}
