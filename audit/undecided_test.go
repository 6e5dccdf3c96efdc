package audit

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// The failure of a decision is reported until a later decision is taken, also if a message arrived
// in between. An attempt that a killed worker never finished is no earlier failure.
func TestUndecided_NamesTheLastFailure(t *testing.T) {
	event := func(kind enumspb.EventType) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventType: kind}
	}
	failed := event(enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED)
	failed.Attributes = &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{
			Failure: &failurepb.Failure{Message: "no key"}},
	}
	taken, late, sent := event(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED), event(
		enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT), event(
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
	)
	for _, test := range []struct {
		name string
		last []*historypb.HistoryEvent
		want string
	}{
		{"failed", []*historypb.HistoryEvent{failed, taken}, "no key"},
		{"a message since", []*historypb.HistoryEvent{sent, failed, taken}, "no key"},
		{"taken since", []*historypb.HistoryEvent{late, taken, failed}, ""},
		{"nothing", nil, ""},
	} {
		if got := findTaskFailure(test.last); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
