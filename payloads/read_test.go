package payloads

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// stored returns the reference that the SDK leaves in the history for a stored payload.
func stored(t *testing.T, s *Storage, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	claims, err := driver{s}.Store(converter.StorageDriverStoreContext{Context: t.Context()},
		[]*commonpb.Payload{p})
	if err != nil {
		t.Fatal(err)
	}
	data, err := protojson.Marshal(&sdkpb.ExternalStorageReference{DriverName: driverName,
		ClaimData: claims[0].ClaimData})
	if err != nil {
		t.Fatal(err)
	}
	return &commonpb.Payload{Data: data,
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingReference),
			metadataMessageType: []byte(referenceType)}}
}

// history returns a history with a stored result, as s writes it, and an encoded failure.
func history(t *testing.T, s *Storage) *historypb.History {
	t.Helper()
	var o client.Options
	if err := s.Apply(&o); err != nil {
		t.Fatal(err)
	}
	p, err := o.DataConverter.ToPayload("the result")
	if err != nil {
		t.Fatal(err)
	}
	failed := o.FailureConverter.ErrorToFailure(errors.New("the reason"))
	return &historypb.History{Events: []*historypb.HistoryEvent{
		{EventId: 1, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
				Result: &commonpb.Payloads{Payloads: []*commonpb.Payload{stored(t, s, p)}}}}},
		{EventId: 2, Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
			ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
				Failure: &failurepb.Failure{Message: "outer", Cause: failed}}}},
	}}
}

// answering returns an invoker that answers one call.
func answering(answer proto.Message) grpc.UnaryInvoker {
	return func(_ context.Context, _ string, _, response any, _ *grpc.ClientConn,
		_ ...grpc.CallOption) error {
		proto.Merge(response.(proto.Message), answer)
		return nil
	}
}

const service = "/temporal.api.workflowservice.v1.WorkflowService/"

func TestDecode_ReadsStoredAndEncryptedHistories(t *testing.T) {
	dir := t.TempDir()
	c := Config{Store: "file://" + dir, Keys: writeFile(t, "keys.yaml", keysText(t, "k1", "k1"))}
	written := history(t, open(t, c))
	if text := written.String(); strings.Contains(text, "the result") || strings.Contains(text,
		"the reason") {
		t.Fatalf("it is not encrypted: %s", text)
	}
	read := func(c Config) (*historypb.History, error) {
		response := &workflowservice.GetWorkflowExecutionHistoryResponse{}
		err := open(t, c).intercept(t.Context(), service+"GetWorkflowExecutionHistory", nil,
			response, nil,
			answering(&workflowservice.GetWorkflowExecutionHistoryResponse{History: written}))
		return response.GetHistory(), err
	}
	h, err := read(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(
		h.Events[0].GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()[0].GetData()); got != `"the result"` {
		t.Errorf("the result is %s", got)
	}
	if f := h.Events[1].GetActivityTaskFailedEventAttributes().GetFailure(); f.GetCause().GetMessage() != "the reason" || f.GetMessage() != "outer" {
		t.Errorf("the failure is %v", f)
	}
	if _, err := read(Config{Store: c.Store}); !errors.Is(err, errPayload) ||
		err.Error() != `a payload cannot be read: it is encrypted with the key "k1" and no keys are configured; set --payload-keys FILE or SWITCHYARD_PAYLOAD_KEYS` {
		t.Errorf("without keys: %v", err)
	}
	if _, err := read(Config{Keys: c.Keys}); !errors.Is(err, errPayload) ||
		regexp.MustCompile("[0-9a-f]{64}").ReplaceAllString(err.Error(), "DIGEST") !=
			"a payload cannot be read: it is in a payload store, as DIGEST, and none is configured; set --payload-store URL or SWITCHYARD_PAYLOAD_STORE" {
		t.Errorf("without store: %v", err)
	}
	if err := open(t, c).Decode(t.Context(), written); err != nil ||
		!strings.Contains(written.String(), "the reason") {
		t.Errorf("an exported history: %v", err)
	}
}

func TestIntercept_ReturnsListsWithUnreadableEntries(t *testing.T) {
	keys := func(id string) *Storage {
		return open(t, Config{Keys: writeFile(t, "keys.yaml", keysText(t, id, id))})
	}
	ours, theirs := keys("k1"), keys("k2")
	run := func(s *Storage, text string) *workflowpb.WorkflowExecutionInfo {
		p, err := s.converter.ToPayload(text)
		if err != nil {
			t.Fatal(err)
		}
		return &workflowpb.WorkflowExecutionInfo{
			Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"m": p}}}
	}
	list := &workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{run(theirs, "theirs"), run(ours, "ours")}}
	got := &workflowservice.ListWorkflowExecutionsResponse{}
	if err := ours.intercept(t.Context(), service+"ListWorkflowExecutions", nil, got, nil,
		answering(list)); err != nil {
		t.Fatal(err)
	}
	memo := func(i int) string {
		return string(got.GetExecutions()[i].GetMemo().GetFields()["m"].GetData())
	}
	if memo(1) != `"ours"` || memo(0) == `"theirs"` || memo(0) == "" {
		t.Errorf("got %q and %q", memo(0), memo(1))
	}
	broken := errors.New("broken")
	if err := ours.intercept(t.Context(), service+"ListWorkflowExecutions", nil, got, nil,
		func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return broken
		}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	task := &workflowservice.PollActivityTaskQueueResponse{Input: &commonpb.Payloads{
		Payloads: []*commonpb.Payload{list.Executions[0].Memo.Fields["m"]}}}
	left := &workflowservice.PollActivityTaskQueueResponse{}
	if err := ours.intercept(t.Context(), service+"PollActivityTaskQueue", nil, left, nil,
		answering(task)); err != nil || !proto.Equal(left, task) {
		t.Errorf("got %v, %v", left, err)
	}
}
