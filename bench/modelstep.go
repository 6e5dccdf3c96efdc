package main

import (
	"context"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
)

const (
	// stepConversation is the length, in bytes, of the conversation for which the overhead of a
	// model step is measured.
	stepConversation = 1_000_000
	messageBytes     = 4_000
)

// measureStep measures how long model steps take that have next to nothing to do: from the start of
// the activity to its end, by the server's clock, the median over a run with a conversation of 1
// MB.
func measureStep(ctx context.Context, l *lab) (map[string]float64, error) {
	conversation, err := codec.EncodeMessages(talk(stepConversation))
	if err != nil {
		return nil, err
	}
	e, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.AgentWorkflow,
		api.RunInput{Agent: agent(turns, turnSize), Prompt: "go"}, conversation)
	if err != nil {
		return nil, err
	}
	steps, err := l.modelSteps(ctx, e)
	if err != nil {
		return nil, err
	}
	slices.Sort(steps)
	return map[string]float64{
		"model_step_overhead_ms": float64(steps[len(steps)/2].Microseconds()) / 1e3}, nil
}

// talk is a conversation of real text, of about so many bytes.
func talk(bytes int) []api.Message {
	var messages []api.Message
	for i := range bytes / messageBytes {
		role := api.RoleUser
		if i%2 == 1 {
			role = api.RoleAssistant
		}
		messages = append(messages, api.Message{Role: role, Text: text(messageBytes, i+1)})
	}
	return messages
}

// modelSteps returns how long the model steps of an execution ran, all attempts but the last aside.
func (l *lab) modelSteps(ctx context.Context, e execution) (steps []time.Duration, err error) {
	events, err := l.events(ctx, e)
	scheduled, started := map[int64]bool{}, map[int64]time.Time{}
	for _, event := range events {
		at := event.GetEventTime().AsTime()
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() ==
			api.ModelActivity {
			scheduled[event.GetEventId()] = true
		}
		if a := event.GetActivityTaskStartedEventAttributes(); a != nil {
			started[a.GetScheduledEventId()] = at
		}
		step := event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
		if scheduled[step] {
			steps = append(steps, at.Sub(started[step]))
		}
	}
	return steps, err
}
