package main

import (
	"context"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// What a user would write by hand with the Temporal SDK for the same work, with the least it can get by on: no
// conversation, no validation, no records.

type handInput struct{ Turns, Size int }

func registerHandWritten(w worker.Worker) {
	w.RegisterWorkflow(handTurns)
	w.RegisterWorkflow(handCalls)
	w.RegisterActivity(handModel)
	w.RegisterActivity(handTool)
}

var handOptions = workflow.ActivityOptions{StartToCloseTimeout: time.Minute}

// handTurns makes as many model steps and tool calls as an agent run of the same turns: one model step more at the end.
func handTurns(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for turn := range in.Turns {
		var size int
		if err := workflow.ExecuteActivity(ctx, handModel, turn, in.Size).Get(ctx, &size); err != nil {
			return "", err
		}
		var result string
		if err := workflow.ExecuteActivity(ctx, handTool, size).Get(ctx, &result); err != nil {
			return "", err
		}
	}
	return "done", workflow.ExecuteActivity(ctx, handModel, in.Turns, 0).Get(ctx, nil)
}

func handCalls(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for range in.Turns {
		var result string
		if err := workflow.ExecuteActivity(ctx, handTool, in.Size).Get(ctx, &result); err != nil {
			return "", err
		}
	}
	return "done", nil
}

func handModel(_ context.Context, _, size int) (int, error) { return size, nil }

func handTool(_ context.Context, size int) (string, error) { return text(size, size), nil }
