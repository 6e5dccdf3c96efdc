package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

const (
	idleInstances = 1_000
	// unusedFor is the time after which an instance counts as unused, and some seconds.
	unusedFor = 75 * time.Second
	// instancesFor is how long the requests of unused instances are counted: three intervals of
	// their heartbeats and two of their polls.
	instancesFor = 2 * time.Minute
)

// instanceSpecs are a stateful tool with the default heartbeat of tools whose calls may be
// repeated, and a question that waits for a person without occupying a worker.
const instanceSpecs = `
name: box
version: 1.0.0
description: Adds a number to that of the run.
parameters:
  - {name: by, type: integer, required: true}
output: {type: integer}
entry: {type: stateful, on_loss: recreate, idle_timeout: 1h}
execution: {effect: idempotent}
---
name: ask
version: 1.0.0
description: Asks a person.
entry: {type: human, question: "Continue?", answer_within: 24h}
`

// box is the instance of a run. Its snapshot has about a kilobyte.
type box struct {
	n     int
	label string
}

type boxInput struct {
	By int `json:"by"`
}

// Add returns the new number.
func (b *box) Add(_ context.Context, in boxInput) (int, error) {
	b.n += in.By
	return b.n, nil
}

// Snapshot implements tool.Snapshotter.
func (b *box) Snapshot(context.Context) ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", b.n, b.label), nil
}

// Restore implements tool.Snapshotter.
func (b *box) Restore(_ context.Context, state []byte) error {
	_, err := fmt.Sscanf(string(state), "%d", &b.n)
	return err
}

// stateful are the bench's stateful tools.
func stateful() []tool.Stateful {
	return []tool.Stateful{tool.NewStateful("box",
		func(context.Context, tool.StartInfo) (*box, error) {
			return &box{label: text(1_000, 1)}, nil
		}, tool.NewMethod("add", (*box).Add))}
}

// measureIdleInstances counts the requests that a worker sends for instances that no call uses.
func measureIdleInstances(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.idleInstances(ctx, idleInstances, unusedFor, instancesFor)
}

func (l *lab) idleInstances(ctx context.Context, instances int, unused,
	window time.Duration) (map[string]float64, error) {
	var rate float64
	err := l.onMeteredServer(ctx, "lanes: {}", func(ctx context.Context, m metered,
		y *yard) error {
		if err := os.WriteFile(filepath.Join(y.dir, "tools", "instances.yaml"),
			[]byte(instanceSpecs), 0o600); err != nil {
			return err
		}
		holder, err := y.startAs(serveStateful, []string{api.LaneGeneral})
		if err != nil {
			return err
		}
		defer holder.end(syscall.SIGKILL) // closing the instances takes longer than the server lives
		err = each(ctx, instances, runsAtOnce, func(ctx context.Context, _ int) error {
			return y.openInstance(ctx)
		})
		if err = errors.Join(err, wait(ctx, unused)); err != nil {
			return err
		}
		rate, err = m.requestRate(ctx, window)
		return err
	})
	return map[string]float64{"idle_instance_requests_per_s": rate}, err
}

// openInstance starts a run that uses its instance once and then waits for a person.
func (y *yard) openInstance(ctx context.Context) error {
	plan := api.Pack(api.Plan{Name: "instance", Calls: []api.PlanCall{
		{ID: "box", Tool: "box", Arguments: []byte(`{"by":1}`)},
		{ID: "ask", Tool: "ask", Arguments: []byte(`{}`), DependsOn: []string{"box"}}}})
	run, err := y.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: yardQueue},
		api.PlanWorkflow, api.RunInput{Plan: &plan})
	if err != nil {
		return err
	}
	return (&lab{client: y.client}).awaitCall(ctx, run, "ask",
		enumspb.PENDING_ACTIVITY_STATE_STARTED)
}
