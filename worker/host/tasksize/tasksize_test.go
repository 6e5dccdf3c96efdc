package tasksize

import (
	"context"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// request returns the request of an update of n bytes.
func request(n int) *updatepb.Request {
	return &updatepb.Request{Input: &updatepb.Input{Args: &commonpb.Payloads{
		Payloads: []*commonpb.Payload{{Data: []byte(strings.Repeat("x", n))}}}}}
}

func message(t *testing.T, body proto.Message) *protocolpb.Message {
	t.Helper()
	encoded, err := anypb.New(body)
	if err != nil {
		t.Fatal(err)
	}
	return &protocolpb.Message{Body: encoded}
}

func rejected(t *testing.T, n int) *protocolpb.Message {
	return message(t, &updatepb.Rejection{RejectedRequestMessageId: "id",
		RejectedRequest: request(n), Failure: &failurepb.Failure{Message: "no"}})
}

func accepted(t *testing.T, n int) *protocolpb.Message {
	return message(t, &updatepb.Acceptance{AcceptedRequestMessageId: "id",
		AcceptedRequestSequencingEventId: 7, AcceptedRequest: request(n)})
}

func TestIntercept_LeavesLargeRequestsOut(t *testing.T) {
	for name, c := range map[string]struct {
		messages []*protocolpb.Message
		// kept are the sizes of the messages afterwards, rounded down to 64 KiB.
		kept []int
	}{
		"none":              {nil, nil},
		"small":             {[]*protocolpb.Message{rejected(t, 100), accepted(t, 100)}, []int{0, 0}},
		"rejected":          {[]*protocolpb.Message{rejected(t, 2<<20), rejected(t, 1<<20)}, []int{0, 0}},
		"accepted":          {[]*protocolpb.Message{accepted(t, 1<<20), accepted(t, 1<<20)}, []int{16, 16}},
		"too many accepted": {[]*protocolpb.Message{accepted(t, 2<<20), accepted(t, 2<<20)}, []int{0, 32}},
	} {
		task := &workflowservice.RespondWorkflowTaskCompletedRequest{Messages: c.messages}
		sent := 0
		if err := intercept(t.Context(), "method", task, nil, nil, func(_ context.Context, _ string,
			r, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			sent = proto.Size(r.(proto.Message))
			return nil
		}); err != nil {
			t.Error(err)
		}
		if sent > 4<<20 {
			t.Errorf("%s: the task has %d bytes", name, sent)
		}
		for i, m := range task.GetMessages() {
			if got := proto.Size(m) >> 16; got != c.kept[i] {
				t.Errorf("%s: message %d has %d times 64 KiB, want %d", name, i, got, c.kept[i])
			}
			var rejection updatepb.Rejection
			if m.GetBody().UnmarshalTo(&rejection) == nil &&
				(rejection.GetFailure().GetMessage() != "no" ||
					rejection.GetRejectedRequestMessageId() != "id") {
				t.Errorf("%s: %v", name, &rejection)
			}
			var acceptance updatepb.Acceptance
			if m.GetBody().UnmarshalTo(&acceptance) == nil &&
				(acceptance.GetAcceptedRequestSequencingEventId() != 7 ||
					acceptance.GetAcceptedRequestMessageId() != "id") {
				t.Errorf("%s: %v", name, &acceptance)
			}
		}
	}
}
