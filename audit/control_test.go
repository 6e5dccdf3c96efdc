package audit_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
)

// accepted returns an update that a run accepted.
func accepted(t *testing.T, id, name string, arg any) *historypb.HistoryEvent {
	t.Helper()
	e := event(10, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, nil)
	e.Attributes = &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
		WorkflowExecutionUpdateAcceptedEventAttributes: &updateAcceptedAttributes{
			ProtocolInstanceId: id,
			AcceptedRequest: &updatepb.Request{
				Input: &updatepb.Input{Name: name, Args: payloads(t, arg)},
			},
		}}
	return e
}

func signalled(t *testing.T, name string, arg any) *historypb.HistoryEvent {
	t.Helper()
	e := event(11, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, nil)
	e.Attributes = &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &signaledAttributes{
			SignalName: name,
			Input:      payloads(t, arg),
		}}
	return e
}

// Messages by update and by signal are events, each once. A run is paused until it is resumed or
// has ended.
func TestControlEvents_ShowMessagesAndPauses(t *testing.T) {
	start := started(t, api.AgentWorkflow, payloads(t, agent(api.Limits{})))
	message, pause := api.Sent{Text: "x", By: "ada", ID: "one"}, api.Pause{By: "ada"}
	for _, test := range []struct {
		name     string
		recorded []*historypb.HistoryEvent
		events   []api.EventType
		status   history.RunStatus
	}{
		{"messages", []*historypb.HistoryEvent{accepted(t, "one", api.SendMessageUpdate, message),
			signalled(t, api.SendMessageSignal, message), signalled(t, "other", message),
			signalled(t, api.SendMessageSignal, api.Sent{}), signalled(t, api.SendMessageSignal,
				api.Sent{Text: "y", By: "ada", ID: "two"})},
			[]api.EventType{api.EventMessageSent, api.EventMessageSent}, history.RunRunning},
		{"a pause", []*historypb.HistoryEvent{accepted(t, "p", api.PauseUpdate, pause)},
			[]api.EventType{api.EventRunPaused}, history.RunPaused},
		{"a pause that is over", []*historypb.HistoryEvent{accepted(t, "p", api.PauseUpdate, pause),
			accepted(t, "r", api.ResumeUpdate, pause)},
			[]api.EventType{api.EventRunPaused, api.EventRunResumed}, history.RunRunning},
		{"a paused run that ends", []*historypb.HistoryEvent{accepted(t, "p", api.PauseUpdate,
			pause), runFailed(application("x", "y", nil))},
			[]api.EventType{api.EventRunPaused, api.EventRunFailed}, history.RunFailed},
	} {
		d := history.NewDeriver("", "")
		var types []api.EventType
		all := append([]*historypb.HistoryEvent{start}, test.recorded...)
		for _, e := range derive(t, d, all)[1:] {
			types = append(types, e.Type)
		}
		s := d.Summary()
		if !slices.Equal(types, test.events) || s.Status != test.status ||
			(s.Paused != nil) != (test.status == history.RunPaused) {
			t.Errorf("%s: %v; the run is %s, paused %v", test.name, types, s.Status, s.Paused)
		}
	}
	for _, name := range []string{api.SendMessageUpdate, api.PauseUpdate} {
		d := history.NewDeriver("", "")
		derive(t, d, []*historypb.HistoryEvent{start})
		if _, err := d.Add(accepted(t, "a", name, 7)); !errors.Is(err, history.ErrUnreadable) {
			t.Errorf("%s with a number: %v", name, err)
		}
	}
}
