package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// The workflows that a user would write with the Temporal SDK to schedule the same activities: the
// same scripted model and tool with minimal inputs, and no conversation, admission, lanes,
// summaries or records.

type handInput struct{ Turns, Size int }

// hand has the activities of the hand-written workflows.
type hand struct {
	agent *api.Agent
	// digests are the digests of the tools, by name.
	digests map[string]string
}

func registerHandWritten(w worker.Worker, c client.Client, catalog *toolspecs.Catalog) error {
	functions, err := function.New(functions()...)
	if err != nil {
		return err
	}
	actions, err := activities.New(activities.Config{
		Catalog: func() *toolspecs.Catalog { return catalog }, Client: c,
		Executors: map[string]executor.Executor{toolspecs.KindFunction: functions},
	})
	if err != nil {
		return err
	}
	h := hand{agent: agent(turns, turnSize), digests: map[string]string{}}
	for _, tool := range catalog.All() {
		h.digests[tool.Spec.Name] = tool.Tool().Digest
	}
	w.RegisterWorkflowWithOptions(h.turns, workflow.RegisterOptions{Name: "handTurns"})
	w.RegisterWorkflowWithOptions(h.calls, workflow.RegisterOptions{Name: "handCalls"})
	w.RegisterWorkflowWithOptions(h.fan, workflow.RegisterOptions{Name: "handFan"})
	w.RegisterWorkflowWithOptions(h.wait, workflow.RegisterOptions{Name: "handWait"})
	w.RegisterWorkflowWithOptions(h.empty, workflow.RegisterOptions{Name: "handEmpty"})
	w.RegisterActivityWithOptions(func(context.Context) error {
		return nil
	}, activity.RegisterOptions{Name: "handNothing"})
	w.RegisterActivityWithOptions(h.model, activity.RegisterOptions{Name: "handModel"})
	w.RegisterDynamicActivity(actions.Tool, activity.DynamicRegisterOptions{})
	return nil
}

var handOptions = workflow.ActivityOptions{StartToCloseTimeout: time.Minute}

// turns executes the model steps and tool calls of an agent run with the same turns, including the
// last model step.
func (h hand) turns(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for turn := range in.Turns {
		var arguments string
		if err := workflow.ExecuteActivity(ctx, "handModel", turn+1).Get(ctx,
			&arguments); err != nil {
			return "", err
		}
		if err := h.call(ctx, "payload", arguments).end(ctx); err != nil {
			return "", err
		}
	}
	return "done", workflow.ExecuteActivity(ctx, "handModel", turns+1).Get(ctx, nil)
}

func (h hand) calls(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for range in.Turns {
		if err := h.call(ctx, "payload", fmt.Sprintf(`{"size":%d}`, in.Size)).end(ctx); err != nil {
			return "", err
		}
	}
	return "done", nil
}

// empty schedules activities without work.
func (h hand) empty(ctx workflow.Context, in handInput) error {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for range in.Turns {
		if err := workflow.ExecuteActivity(ctx, "handNothing").Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// wait executes a model step and then waits for a call on a queue that has no workers.
func (h hand) wait(ctx workflow.Context, _ handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	var arguments string
	if err := workflow.ExecuteActivity(ctx, "handModel", 1).Get(ctx, &arguments); err != nil {
		return "", err
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{ActivityID: "wait",
		TaskQueue: handQueue + "/unserved", StartToCloseTimeout: time.Minute})
	return "done", h.call(ctx, "payload", arguments).end(ctx)
}

// fan makes parallel calls of pause. Size is their duration in milliseconds.
func (h hand) fan(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	var calls []handCall
	for range in.Turns {
		calls = append(calls, h.call(ctx, "pause", fmt.Sprintf(`{"ms":%d}`, in.Size)))
	}
	for _, c := range calls {
		if err := c.end(ctx); err != nil {
			return "", err
		}
	}
	return "done", nil
}

// handCall is a tool call in progress.
type handCall struct{ workflow.Future }

func (c handCall) end(ctx workflow.Context) error {
	var result api.Result
	return c.Get(ctx, &result)
}

func (h hand) call(ctx workflow.Context, tool, arguments string) handCall {
	input := api.Execution{Digest: h.digests[tool], Arguments: json.RawMessage(arguments)}
	return handCall{workflow.ExecuteActivity(ctx, tool, input)}
}

// model returns the steps of the agent's script, without a conversation.
func (h hand) model(ctx context.Context, turn int) (string, error) {
	response, err := scripted.Provider{}.Answer(ctx, models.Prompt{Agent: h.agent, Turn: turn})
	if err != nil || len(response.Message.Calls) == 0 {
		return "", err
	}
	return response.Message.Calls[0].Arguments, nil
}
