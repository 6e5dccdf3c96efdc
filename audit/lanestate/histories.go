package lanestate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// historyMark is how far the history of an execution has been read.
type historyMark struct {
	run    string
	length int64
}

func markOf(info *workflowpb.WorkflowExecutionInfo) historyMark {
	return historyMark{info.GetExecution().GetRunId(), info.GetHistoryLength()}
}

// keeperHistory is the state of the workflow that assigns the slots of a lane, from its history.
type keeperHistory struct {
	mark historyMark
	// lane is the latest configuration of the lane.
	lane api.Lane
	// groups are the numbers of the groups, by the ID of the activity that serves each.
	groups map[string]int
}

// read reads the history of an execution if it has grown.
func (k *keeperHistory) read(
	ctx context.Context,
	c client.Client,
	info *workflowpb.WorkflowExecutionInfo,
) error {
	mark := markOf(info)
	if k.mark == mark {
		return nil
	}
	k.groups = map[string]int{}
	_, err := events(ctx, c, info.GetExecution(), func(e *historypb.HistoryEvent) error {
		if a := e.GetWorkflowExecutionStartedEventAttributes(); a != nil {
			var in api.KeeperInput
			err := pb.Decode(a.GetInput(), &in)
			k.lane = in.Lane
			return err
		}
		a := e.GetWorkflowExecutionSignaledEventAttributes()
		if a.GetSignalName() == api.ConfigureLaneSignal {
			var lane api.Lane // missing fields must not keep old values
			err := pb.Decode(a.GetInput(), &lane)
			k.lane = lane
			return err
		}
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().
			GetName() ==
			api.ServeSlotsActivity {
			var request api.SlotsRequest
			err := pb.Decode(a.GetInput(), &request)
			k.groups[a.GetActivityId()] = request.Group
			return err
		}
		return nil
	})
	if err == nil {
		k.mark = mark
	}
	return err
}

// events reads the history of one execution so far and returns the execution that continues it;
// empty if there is none.
func events(
	ctx context.Context,
	c client.Client,
	e *commonpb.WorkflowExecution,
	take func(*historypb.HistoryEvent) error,
) (next string, err error) {
	pages := c.GetWorkflowHistory(
		ctx,
		e.GetWorkflowId(),
		e.GetRunId(),
		false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT,
	)
	for pages.HasNext() {
		event, err := pages.Next()
		if err != nil {
			return "", audit.ReadError(ctx, err, e.GetWorkflowId(), e.GetRunId())
		}
		if err := take(event); err != nil {
			return "", fmt.Errorf(
				"workflow %q, event %d (%s): %w: %w",
				e.GetWorkflowId(),
				event.GetEventId(),
				event.GetEventType(),
				history.ErrUnreadable,
				err,
			)
		}
		next = event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return next, nil
}

// keysHistory has the open keys of a lane, from the history of its keys workflow.
type keysHistory struct {
	mark historyMark
	open api.OpenKeys
}

// read reads the history of an execution, and of those that continue it, if it has grown.
func (k *keysHistory) read(
	ctx context.Context,
	c client.Client,
	info *workflowpb.WorkflowExecutionInfo,
) error {
	mark := markOf(info)
	if k.mark == mark {
		return nil
	}
	for run := mark.run; run != ""; {
		next, err := events(
			ctx,
			c,
			&commonpb.WorkflowExecution{
				WorkflowId: info.GetExecution().GetWorkflowId(),
				RunId:      run,
			},
			k.take,
		)
		if err != nil {
			return err
		}
		run = next
	}
	k.mark = mark
	return nil
}

func (k *keysHistory) take(e *historypb.HistoryEvent) error {
	if a := e.GetWorkflowExecutionStartedEventAttributes(); a != nil {
		var in api.KeysInput
		err := pb.Decode(a.GetInput(), &in)
		if k.open = in.Open; k.open == nil {
			k.open = api.OpenKeys{}
		}
		return err
	}
	a := e.GetWorkflowExecutionSignaledEventAttributes()
	if a.GetSignalName() == api.OpenKeySignal {
		var order api.KeyOrder
		if err := pb.Decode(a.GetInput(), &order); err != nil {
			return err
		}
		k.open.Apply(order)
	}
	return nil
}

const (
	// MaxKeysAsked bounds the number of keys of a lane whose waiting calls are counted.
	MaxKeysAsked = 200
	// keyPause is the time per counted key before the keys are counted again.
	keyPause = 10 * time.Millisecond
)

// readKeys reads which keys are open and counts the calls that wait in their queues.
func (r *Reader) readKeys(ctx context.Context, known *knownLane, s *State) error {
	open, err := describeOpen(ctx, r.client, api.KeysWorkflowID(r.base, s.Lane.Name))
	if open == nil || err != nil {
		return err // without a workflow no key is open
	}
	if err := known.keys.read(ctx, r.client, open.GetWorkflowExecutionInfo()); err != nil {
		return err
	}
	parts := slices.Sorted(maps.Keys(known.keys.open))
	s.Keys = len(parts)
	parts = parts[:min(len(parts), MaxKeysAsked)]
	s.KeysAsked = len(parts)
	if now := time.Now(); now.Before(known.due) {
		s.Queued = known.queued
		return nil
	} else if known.queued, err = r.queued(ctx, s, parts); err != nil {
		return err
	}
	s.Queued, known.due = known.queued, time.Now().Add(time.Duration(len(parts))*keyPause)
	return nil
}

// queued counts the calls that wait in the queues of keys.
func (r *Reader) queued(ctx context.Context, s *State, parts []string) (sum int64, err error) {
	waiting := make([]int64, len(parts))
	err = atOnce(len(parts), func(i int) (err error) {
		waiting[i], _, err = backlog(
			ctx,
			r.client,
			r.namespace,
			s.Lane.QueueOfPart(r.base, parts[i]),
			s.Partitions,
		)
		return err
	})
	for _, n := range waiting {
		sum += n
	}
	return sum, err
}
