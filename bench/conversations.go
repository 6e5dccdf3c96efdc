package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// continuedBytes is the size of the conversation that runs continue, runsOfConversation their
// number.
const (
	continuedBytes     = 100_000
	runsOfConversation = 21
)

// measureConversationStart measures the time from the start of a conversation's next run to its
// first model step, by the clock of this machine: the median over runs that each continue the one
// before. A request to the server's visibility store in that time is an error, because the last run
// is known.
func measureConversationStart(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.conversationStart(ctx, runsOfConversation)
}

func (l *lab) conversationStart(ctx context.Context, runs int) (map[string]float64, error) {
	var median float64
	err := l.onMeteredServer(ctx, "lanes: {}", func(ctx context.Context, m metered,
		y *yard) error {
		if _, err := y.start(api.LaneGeneral); err != nil {
			return err
		}
		last, err := y.converse(ctx, nil, talk(continuedBytes))
		if err != nil {
			return err
		}
		before, err := m.visibilityRequests(ctx)
		if err != nil {
			return err
		}
		var took []time.Duration
		for range runs {
			known := &api.LastRun{RunID: last.runID, At: time.Now()}
			if last, err = y.converse(ctx, known, nil); err != nil {
				return err
			}
			took = append(took, last.took)
		}
		slices.Sort(took)
		median = float64(took[len(took)/2].Microseconds()) / 1e3
		after, err := m.visibilityRequests(ctx)
		if err != nil {
			return err
		}
		if after != before {
			return fmt.Errorf("%d runs that continue a conversation sent %v requests to the "+
				"visibility store, want none", runs, after-before)
		}
		return y.listsRuns(ctx, m)
	})
	return map[string]float64{"conversation_start_ms": median}, err
}

// conversed is a run of a conversation that has ended.
type conversed struct {
	runID string
	// took is the time from its start to its first model step.
	took time.Duration
}

// listsRuns fails unless a run that does not know the last run of its conversation sends a request
// to the visibility store. It proves that such requests are counted.
func (y *yard) listsRuns(ctx context.Context, m metered) error {
	before, err := m.visibilityRequests(ctx)
	if err != nil {
		return err
	}
	if _, err := y.converse(ctx, nil, nil); err != nil {
		return err
	}
	after, err := m.visibilityRequests(ctx)
	if err == nil && after == before {
		err = errors.New("a run that does not know the last run of its conversation sent no " +
			"request to the visibility store")
	}
	return err
}

// converse executes the next run of a conversation, which knows the last one or lists the runs.
// With earlier messages it is the first run.
func (y *yard) converse(ctx context.Context, last *api.LastRun,
	earlier []api.Message) (*conversed, error) {
	const id = "conversation"
	input := api.RunInput{Agent: agent(0, 0), Prompt: "go", Conversation: id}
	input.Agent.Tools = nil
	inputs := []any{&input}
	if earlier != nil {
		messages, err := codec.EncodeMessages(earlier)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, messages)
	} else {
		input.Continue, input.LastRun = true, last
	}
	began := time.Now()
	run, err := y.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: yardQueue}, api.AgentWorkflow, inputs...)
	if err != nil {
		return nil, err
	}
	if err := run.Get(ctx, nil); err != nil {
		return nil, err
	}
	stepped, err := y.firstStep(ctx, run)
	return &conversed{runID: run.GetRunID(), took: stepped.Sub(began)}, err
}

// firstStep returns when the first model step of an ended run started.
func (y *yard) firstStep(ctx context.Context, run client.WorkflowRun) (time.Time, error) {
	history := y.client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	step := int64(0)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return time.Time{}, err
		}
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() ==
			api.ModelActivity {
			step = event.GetEventId()
		}
		if started := event.GetActivityTaskStartedEventAttributes(); started != nil && step > 0 &&
			started.GetScheduledEventId() == step {
			return event.GetEventTime().AsTime(), nil
		}
	}
	return time.Time{}, fmt.Errorf("the run %s has no model step", run.GetRunID())
}

// visibilityRequests returns how many requests for lists of runs the server has received. The
// server updates its metrics once per second. Counts are left out: the worker that reads the
// backlog requests them every few seconds, for metrics.
func (m metered) visibilityRequests(ctx context.Context) (sum float64, err error) {
	if err := wait(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	for _, operation := range []string{"ListWorkflowExecutions", "ScanWorkflowExecutions",
		"ListOpenWorkflowExecutions", "ListClosedWorkflowExecutions"} {
		n, err := m.sum(ctx, "service_requests{", `operation="`+operation+`"`)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
