package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"go.temporal.io/sdk/client"
)

const (
	longTurns = 1_000
	// longPart is how many turns an execution of the chain has to have for its bytes per turn to be
	// compared.
	longPart = 50
	// maxPartBytes bounds the history of each execution: a server terminates runs at 50 MB and
	// warns at 10 MB.
	maxPartBytes = 20_000_000
	// stepConversation is the length, in bytes, of the conversation for which the overhead of a
	// model step is measured.
	stepConversation = 1_000_000
)

// longRun runs turns with 5 KB results after a conversation of 0.8 MB of real text, and compares
// the history bytes per turn across the executions of the chain: maximum ÷ minimum.
func (l *lab) longRun(ctx context.Context, turns int) (map[string]float64, error) {
	conversation, err := codec.EncodeMessages(talk(conversationBytes))
	if err != nil {
		return nil, err
	}
	e, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.AgentWorkflow,
		api.RunInput{Agent: agent(turns, resultBytes), Prompt: "go"}, conversation)
	if err != nil {
		return nil, err
	}
	var perTurn []float64
	for e.runID != "" {
		p, err := l.partOf(ctx, e)
		if err != nil {
			return nil, err
		}
		if p.bytes > maxPartBytes {
			return nil, fmt.Errorf("the execution %s has %d bytes of history", e.runID, p.bytes)
		}
		if p.turns >= longPart {
			perTurn = append(perTurn, float64(p.bytes-p.continued)/float64(p.turns))
		}
		e.runID = p.next
	}
	return map[string]float64{"long_run_growth_ratio": slices.Max(perTurn) / slices.Min(perTurn)},
		nil
}

// measureLongRun is longRun over a thousand turns.
func measureLongRun(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.longRun(ctx, longTurns)
}

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
	p, err := l.partOf(ctx, e)
	if err != nil {
		return nil, err
	}
	slices.Sort(p.steps)
	return map[string]float64{"model_step_overhead_ms": float64(
		p.steps[len(p.steps)/2].Microseconds()) / 1e3}, nil
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

// part is one execution of a run's chain.
type part struct {
	// bytes is the history's size, carried what of it are the events that hold the conversation as
	// the execution got it and gave it on.
	bytes, continued int64
	turns            int
	// steps are how long the model steps ran, all attempts but the last aside.
	steps []time.Duration
	// next is the execution that continues it.
	next string
}

func (l *lab) partOf(ctx context.Context, e execution) (part, error) {
	var p part
	d, err := l.client.DescribeWorkflowExecution(ctx, e.workflowID, e.runID)
	if err != nil {
		return p, err
	}
	p.bytes = d.WorkflowExecutionInfo.HistorySizeBytes
	scheduled, started := map[int64]bool{}, map[int64]time.Time{}
	for history := l.history(ctx, e); history.HasNext(); {
		event, err := history.Next()
		if err != nil {
			return p, err
		}
		if event.GetWorkflowExecutionStartedEventAttributes() != nil {
			p.continued += int64(event.Size())
		}
		a := event.GetActivityTaskScheduledEventAttributes()
		if a.GetActivityType().GetName() == api.ModelActivity {
			scheduled[event.GetEventId()] = true
			p.turns++
		}
		if a := event.GetActivityTaskStartedEventAttributes(); a != nil {
			started[a.GetScheduledEventId()] = event.GetEventTime().AsTime()
		}
		completed := event.GetActivityTaskCompletedEventAttributes()
		if scheduled[completed.GetScheduledEventId()] {
			p.steps = append(p.steps,
				event.GetEventTime().AsTime().Sub(started[completed.GetScheduledEventId()]))
		}
		if a := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); a != nil {
			p.next, p.continued = a.NewExecutionRunId, p.continued+int64(event.Size())
		}
	}
	return p, nil
}

func (l *lab) history(ctx context.Context, e execution) client.HistoryEventIterator {
	return l.client.GetWorkflowHistory(ctx, e.workflowID, e.runID, false, 0)
}
