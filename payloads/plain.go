package payloads

import (
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
)

// plainTask reports whether a workflow task has only events that occur in every turn and payloads
// that are not encoded. Such a task needs no decoding. Visiting a task's payloads costs as much as
// the workflow code of a turn, so that the tasks of workers without a codec are checked this way.
func plainTask(task *workflowservice.PollWorkflowTaskQueueResponse) bool {
	if task.GetQuery() != nil || len(task.GetQueries()) > 0 || len(task.GetMessages()) > 0 {
		return false
	}
	for _, event := range task.GetHistory().GetEvents() {
		if !plainEvent(event) || !plain(event.GetUserMetadata().GetSummary()) ||
			!plain(event.GetUserMetadata().GetDetails()) {
			return false
		}
	}
	return true
}

// plainEvent reports whether an event without its user metadata has no encoded payloads. Events
// with failures, and rare events, count as encoded.
func plainEvent(event *historypb.HistoryEvent) bool {
	switch event.GetAttributes().(type) {
	case *historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes,
		*historypb.HistoryEvent_WorkflowTaskStartedEventAttributes,
		*historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes,
		*historypb.HistoryEvent_WorkflowTaskTimedOutEventAttributes,
		*historypb.HistoryEvent_TimerStartedEventAttributes,
		*historypb.HistoryEvent_TimerFiredEventAttributes,
		*historypb.HistoryEvent_TimerCanceledEventAttributes:
		return true
	case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
		a := event.GetActivityTaskScheduledEventAttributes()
		return allPlain(a.GetInput()) && len(a.GetHeader().GetFields()) == 0
	case *historypb.HistoryEvent_ActivityTaskStartedEventAttributes:
		return event.GetActivityTaskStartedEventAttributes().GetLastFailure() == nil
	case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
		return allPlain(event.GetActivityTaskCompletedEventAttributes().GetResult())
	case *historypb.HistoryEvent_MarkerRecordedEventAttributes:
		return plainMarker(event.GetMarkerRecordedEventAttributes())
	}
	return false
}

func plainMarker(a *historypb.MarkerRecordedEventAttributes) bool {
	for _, list := range a.GetDetails() {
		if !allPlain(list) {
			return false
		}
	}
	return a.GetFailure() == nil && len(a.GetHeader().GetFields()) == 0
}

func allPlain(list *commonpb.Payloads) bool {
	for _, p := range list.GetPayloads() {
		if !plain(p) {
			return false
		}
	}
	return true
}

// plain reports whether a payload is absent or as the SDK's default data converter encodes values.
func plain(p *commonpb.Payload) bool {
	return p == nil || len(p.GetExternalPayloads()) == 0 &&
		(isEncoded(p, converter.MetadataEncodingJSON) ||
			isEncoded(p, converter.MetadataEncodingNil) ||
			isEncoded(p, converter.MetadataEncodingBinary))
}
