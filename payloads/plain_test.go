package payloads

import (
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestPlainTask_FindsEncodedPayloadsInEveryEvent puts an encrypted payload into each field of each
// kind of event in turn, as far as Temporal's own visitor finds it there.
func TestPlainTask_FindsEncodedPayloadsInEveryEvent(t *testing.T) {
	attributes := (&historypb.HistoryEvent{}).ProtoReflect().Descriptor().Oneofs().ByName(
		"attributes").Fields()
	tried := 0
	for i := range attributes.Len() {
		field := attributes.Get(i)
		event := &historypb.HistoryEvent{}
		empty := event.ProtoReflect().NewField(field).Message()
		for _, filled := range fill(empty, 4) {
			event.ProtoReflect().Set(field, protoreflect.ValueOfMessage(filled))
			task := taskOf(event)
			if !visits(t, task) {
				continue
			}
			tried++
			if plainTask(task) {
				t.Errorf("an encrypted payload in %s is taken for plain: %s", field.Name(), event)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d places were tried", tried)
	}
}

func TestPlainTask_AcceptsTheEventsOfATurn(t *testing.T) {
	text, err := converter.GetDefaultDataConverter().ToPayloads("text", nil, []byte("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	scheduled := &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				Input: text}}}
	completed := &historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				Result: text}}}
	if !plainTask(taskOf(scheduled, completed)) {
		t.Error("plain payloads are taken for encoded")
	}
}

func taskOf(events ...*historypb.HistoryEvent) *workflowservice.PollWorkflowTaskQueueResponse {
	return &workflowservice.PollWorkflowTaskQueueResponse{
		History: &historypb.History{Events: events}}
}

// encrypted returns a payload that only a codec can read.
func encrypted() *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{
		converter.MetadataEncoding: []byte(encodingEncrypted)}}
}

// fill returns one message for each place in m, down to a depth, that can hold a payload.
func fill(m protoreflect.Message, depth int) (filled []protoreflect.Message) {
	if _, ok := m.Interface().(*commonpb.Payload); ok {
		return []protoreflect.Message{encrypted().ProtoReflect()}
	}
	fields := m.Descriptor().Fields()
	for i := 0; depth > 0 && i < fields.Len(); i++ {
		field := fields.Get(i)
		element := field
		if field.IsMap() {
			element = field.MapValue()
		}
		if element.Kind() != protoreflect.MessageKind {
			continue
		}
		for _, value := range fill(newElement(m, field), depth-1) {
			whole := proto.Clone(m.Interface()).ProtoReflect()
			switch {
			case field.IsMap():
				whole.Mutable(field).Map().Set(protoreflect.ValueOfString("k").MapKey(),
					protoreflect.ValueOfMessage(value))
			case field.IsList():
				whole.Mutable(field).List().Append(protoreflect.ValueOfMessage(value))
			default:
				whole.Set(field, protoreflect.ValueOfMessage(value))
			}
			filled = append(filled, whole)
		}
	}
	return filled
}

// newElement returns an empty element of a field: its message, or that of a list or map.
func newElement(m protoreflect.Message, field protoreflect.FieldDescriptor) protoreflect.Message {
	switch {
	case field.IsMap():
		return m.NewField(field).Map().NewValue().Message()
	case field.IsList():
		return m.NewField(field).List().NewElement().Message()
	}
	return m.NewField(field).Message()
}

// visits reports whether Temporal's visitor finds an encrypted payload in a task.
func visits(t *testing.T, task *workflowservice.PollWorkflowTaskQueueResponse) (found bool) {
	t.Helper()
	err := proxy.VisitPayloads(t.Context(), task, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, list []*commonpb.Payload) (
			[]*commonpb.Payload, error) {
			for _, p := range list {
				found = found || isEncoded(p, encodingEncrypted)
			}
			return list, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
