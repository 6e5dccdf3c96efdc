package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
)

// hangSpec is a tool that waits and must not run twice.
const hangSpec = `
name: hang
version: 1.0.0
description: Takes that many milliseconds.
parameters:
  - {name: ms, type: integer, required: true}
output: {type: integer}
entry: {type: function, handler: pause}
execution: {effect: once, timeout: 5m, heartbeat: 3s}
`

// measureResume kills the worker that has a run in its memory and a call of it under way, and
// returns how long it takes until the run's next call starts on another worker. Between them are
// the loss of the call, which ends as outcome_unknown, and a model step.
func measureResume(ctx context.Context, l *lab) (map[string]float64, error) {
	ctx, y, err := newYard(ctx, l, "lanes: {}")
	if err != nil {
		return nil, err
	}
	defer y.close()
	if err := os.WriteFile(filepath.Join(y.dir, "tools", "hang.yaml"), []byte(hangSpec),
		0o600); err != nil {
		return nil, err
	}
	doomed, err := y.start(api.LaneGeneral)
	if err != nil {
		return nil, err
	}
	run, err := l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: yardQueue},
		api.AgentWorkflow,
		api.RunInput{Agent: newHangingAgent(5*time.Minute, time.Millisecond), Prompt: "go"})
	if err != nil {
		return nil, err
	}
	if err := l.awaitCall(ctx, run, api.TurnCallID(1, 1),
		enumspb.PENDING_ACTIVITY_STATE_STARTED); err != nil {
		return nil, err
	}
	if _, err := y.start(api.LaneGeneral); err != nil {
		return nil, err
	}
	killed := time.Now()
	doomed.end(syscall.SIGKILL)
	if err := run.Get(ctx, nil); err != nil {
		return nil, err
	}
	next, err := l.findCallStart(ctx, run, api.TurnCallID(2, 1))
	return map[string]float64{"resume_s": next.Sub(killed).Seconds()}, err
}

// newHangingAgent returns an agent that makes a slow call in every turn and then answers.
func newHangingAgent(times ...time.Duration) *api.Agent {
	var script api.Script
	for _, took := range times {
		script.Steps = append(script.Steps, api.ScriptStep{Calls: []api.ScriptCall{
			{Tool: "hang", Arguments: json.RawMessage(fmt.Sprintf(`{"ms":%d}`,
				took.Milliseconds()))}}})
	}
	script.Steps = append(script.Steps, api.ScriptStep{Answer: "done"})
	packed := api.Pack(script)
	return &api.Agent{Name: "hanging", Tools: []string{"hang"},
		Model: api.Model{Provider: api.ProviderScripted, Script: &packed}}
}

// awaitCall waits until a call of the run is in a state.
func (l *lab) awaitCall(ctx context.Context, run client.WorkflowRun, id string,
	state enumspb.PendingActivityState) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		d, err := l.client.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		for _, a := range d.GetPendingActivities() {
			if a.GetActivityId() == id && a.GetState() == state {
				return nil
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("call %s is not %s: %w", id, state,
				errors.Join(err, context.Cause(ctx)))
		}
	}
}

// findCallStart returns the start time of a call of an ended run.
func (l *lab) findCallStart(ctx context.Context, run client.WorkflowRun, id string) (time.Time,
	error) {
	events, err := l.events(ctx, execution{run.GetID(), run.GetRunID()})
	scheduled := int64(0)
	for _, event := range events {
		if event.GetActivityTaskScheduledEventAttributes().GetActivityId() == id {
			scheduled = event.GetEventId()
		}
		if started := event.GetActivityTaskStartedEventAttributes(); started != nil &&
			started.GetScheduledEventId() == scheduled {
			return event.GetEventTime().AsTime(), nil
		}
	}
	return time.Time{}, errors.Join(err, fmt.Errorf("the run of %s has no call %s that started",
		run.GetID(), id))
}
