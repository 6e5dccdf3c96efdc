package payloads

import (
	"context"
	"path"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/proxy"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// reading are the server's methods whose responses the SDK passes on undecoded. True makes an
// unreadable payload an error, because a history with a gap is misleading. The others return lists
// and states, whose remainder is still valid.
var reading = map[string]bool{
	"GetWorkflowExecutionHistory":        true,
	"GetWorkflowExecutionHistoryReverse": true,
	"DescribeWorkflowExecution":          false,
	"ListWorkflowExecutions":             false,
	"DescribeSchedule":                   false,
	"ListSchedules":                      false,
}

// intercept decodes the responses of a connection in one place, so that readers of histories and
// lists need no codec. It leaves to the SDK what the SDK decodes (activities, results, queries),
// except workflow tasks.
func (s *Storage) intercept(ctx context.Context, method string, request, response any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if err := invoke(ctx, method, request, response, conn, options...); err != nil {
		return err
	}
	if path.Base(method) == pollTasks {
		s.take(ctx, request, response, conn)
		return nil
	}
	strict, reads := reading[path.Base(method)]
	message, ok := response.(proto.Message)
	if !reads || !ok {
		return nil
	}
	if err := s.decode(ctx, message, strict); err != nil {
		return unreadable{err}
	}
	return nil
}

// unreadable is an error that the SDK does not retry.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// GRPCStatus implements the interface that the SDK's retries check.
func (u unreadable) GRPCStatus() *status.Status {
	return status.New(codes.FailedPrecondition, u.Error())
}

// Decode makes a message of Temporal's API readable: it loads stored payloads, decrypts and
// decompresses them and the texts of failures. An exported *historypb.History is such a message.
// Its errors wrap errPayload.
func (s *Storage) Decode(ctx context.Context, message proto.Message) error {
	return s.decode(ctx, message, true)
}

func (s *Storage) decode(ctx context.Context, message proto.Message, strict bool) error {
	err := proxy.VisitPayloads(ctx, message, proxy.VisitPayloadsOptions{SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, list []*commonpb.Payload) ([]*commonpb.Payload,
			error) {
			plain, err := s.resolve(ctx, list)
			if err != nil && !strict {
				return list, nil
			}
			return plain, err
		}})
	if err != nil {
		return err
	}
	return proxy.VisitFailures(ctx, message, proxy.VisitFailuresOptions{
		Visitor: func(_ *proxy.VisitFailuresContext, f *failurepb.Failure) error {
			converter.DecodeCommonFailureAttributes(s.converter, f)
			return nil
		}})
}

// The SDK's encoding of a reference to external storage.
const (
	metadataMessageType = "messageType"
	encodingReference   = "json/protobuf"
)

var referenceType = string(
	(&sdkpb.ExternalStorageReference{}).ProtoReflect().Descriptor().FullName())

// storedKey returns the key of a payload that refers to a store of this package.
func storedKey(p *commonpb.Payload) (string, bool) {
	if !isEncoded(p, encodingReference) ||
		string(p.GetMetadata()[metadataMessageType]) != referenceType {
		return "", false
	}
	ref := &sdkpb.ExternalStorageReference{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(p.GetData(),
		ref); err != nil || ref.GetDriverName() != driverName {
		return "", false
	}
	return ref.GetClaimData()[claimKey], true
}
