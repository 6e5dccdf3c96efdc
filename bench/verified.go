package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
)

// verifiedCalls is how many verified calls one plan has, all in flight at once. The ratio is that
// of twice as many.
const verifiedCalls = 200

// verifiedSpecs declares a tool whose outcome is never known and that is made twice, and the tool
// that verifies it.
const verifiedSpecs = `
name: pay
version: 1.0.0
description: Pays.
entry: {type: function, handler: pause}
parameters: [{name: ms, type: integer, required: true}]
execution: {effect: once, lane: elsewhere, timeout: 1s, heartbeat: 1m}
verify: {tool: paid, arguments: {ms: 1}, done: paid, on_absent: repeat}
---
name: paid
version: 1.0.0
description: Says whether a payment was made.
entry: {type: function, handler: pause}
parameters: [{name: ms, type: integer, required: true}]
output: {type: object, validation: {properties: [{name: paid, type: boolean, required: true}]}}
execution: {effect: read, lane: elsewhere, heartbeat: 1m}
`

// measureVerified measures the CPU time of server and worker that a plan of once calls takes whose
// outcomes are unknown: each is verified twice, made again, and verified twice.
func measureVerified(ctx context.Context, l *lab) (map[string]float64, error) {
	few, err := l.verifiedCPU(ctx, verifiedCalls)
	if err != nil {
		return nil, err
	}
	many, err := l.verifiedCPU(ctx, 2*verifiedCalls)
	return map[string]float64{"verified_calls_cpu_s": few, "verified_calls_ratio": many / few}, err
}

func (l *lab) verifiedCPU(ctx context.Context, calls int) (float64, error) {
	ctx, y, err := newYard(ctx, l, "lanes: {elsewhere: {}}")
	if err != nil {
		return 0, err
	}
	defer y.close()
	err = os.WriteFile(filepath.Join(y.dir, "tools", "pay.yaml"), []byte(verifiedSpecs), 0o600)
	if err != nil {
		return 0, err
	}
	p, err := y.start(api.LaneGeneral)
	if err != nil {
		return 0, err
	}
	stop, err := y.serveElsewhere()
	if err != nil {
		return 0, err
	}
	defer stop()
	pids := []int{p.cmd.Process.Pid, l.server.cmd.Process.Pid}
	before, err := cpuSeconds(pids...)
	if err == nil {
		err = y.payAtOnce(ctx, calls)
	}
	if err != nil {
		return 0, err
	}
	after, err := cpuSeconds(pids...)
	return after - before, err
}

// payAtOnce runs a plan of payments, none of which takes effect.
func (y *yard) payAtOnce(ctx context.Context, calls int) error {
	plan := api.Plan{Name: "verified"}
	for i := range calls {
		plan.Calls = append(plan.Calls, api.PlanCall{ID: fmt.Sprint("c", i), Tool: "pay",
			Arguments: []byte(`{"ms":1}`)})
	}
	packed := api.Pack(plan)
	run, err := y.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: yardQueue},
		api.PlanWorkflow, api.RunInput{Plan: &packed})
	if err != nil {
		return err
	}
	if err := run.Get(ctx, nil); err == nil || ctx.Err() != nil {
		return fmt.Errorf("the plan of calls without effect ended with %v", err)
	}
	return nil
}

// serveElsewhere executes the calls of the lane elsewhere in this process: payments get lost.
func (y *yard) serveElsewhere() (stop func(), err error) {
	w := worker.New(y.client, queues.Lane(yardQueue, "elsewhere"),
		worker.Options{DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 5})
	w.RegisterDynamicActivity(func(ctx context.Context, _ converter.EncodedValues) (api.Result,
		error) {
		if activity.GetInfo(ctx).ActivityType.Name == "pay" {
			return api.Result{}, executor.Failure(&api.Error{Type: api.ErrOutcomeUnknown,
				Phase: api.PhaseExecution, Message: "the connection was lost"})
		}
		return api.Result{Output: []byte(`{"paid":false}`), Tokens: 1}, nil
	}, activity.DynamicRegisterOptions{})
	return w.Stop, w.Start()
}

// cpuSeconds returns the CPU time of processes, from /proc/PID/stat: the 14th and 15th field, in
// hundredths of a second (proc(5)).
func cpuSeconds(pids ...int) (total float64, err error) {
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		// The second field is the program's name in parentheses, which may have blanks.
		_, rest, _ := strings.Cut(string(data), ") ")
		var user, system float64
		fields := strings.Fields(rest)
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			return 0, err
		}
		total += (user + system) / 100
	}
	return total, nil
}
