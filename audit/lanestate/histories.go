package lanestate

import (
	"context"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/lanerules"
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

func newHistoryMark(info *workflowpb.WorkflowExecutionInfo) historyMark {
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
func (k *keeperHistory) read(ctx context.Context, c client.Client,
	info *workflowpb.WorkflowExecutionInfo) error {
	mark := newHistoryMark(info)
	if k.mark == mark {
		return nil
	}
	k.groups = map[string]int{}
	err := events(ctx, c, info.GetExecution(), func(e *historypb.HistoryEvent) error {
		if a := e.GetWorkflowExecutionStartedEventAttributes(); a != nil {
			var in lanerules.KeeperInput
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
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() ==
			api.ServeSlotsActivity {
			var request lanerules.SlotsRequest
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

// events reads the history of one execution so far.
func events(ctx context.Context, c client.Client, e *commonpb.WorkflowExecution,
	take func(*historypb.HistoryEvent) error) error {
	pages := c.GetWorkflowHistory(ctx, e.GetWorkflowId(), e.GetRunId(), false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for pages.HasNext() {
		event, err := pages.Next()
		if err != nil {
			return audit.ReadError(ctx, err, e.GetWorkflowId(), e.GetRunId())
		}
		if err := take(event); err != nil {
			return fmt.Errorf("workflow %q, event %d (%s): %w: %w", e.GetWorkflowId(),
				event.GetEventId(), event.GetEventType(), history.ErrUnreadable, err)
		}
	}
	return nil
}
