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

// reading are the calls to the server whose answers the SDK hands on as they came. True says that an answer with
// something that cannot be read is an error: a history without one of its parts would tell a wrong story. The others are
// lists and states, of which the rest is still true.
var reading = map[string]bool{
	"GetWorkflowExecutionHistory":        true,
	"GetWorkflowExecutionHistoryReverse": true,
	"DescribeWorkflowExecution":          false,
	"ListWorkflowExecutions":             false,
	"DescribeSchedule":                   false,
	"ListSchedules":                      false,
}

// intercept decodes what a connection reads, in one place, so that readers of histories and lists know of no codec. What the
// SDK decodes by itself (activities, results, queries) it leaves to it, but for workflow tasks.
func (s *Storage) intercept(ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
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

// unreadable is an error for the SDK, which would try again for long what it does not know.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// GRPCStatus is what the SDK goes by.
func (u unreadable) GRPCStatus() *status.Status {
	return status.New(codes.FailedPrecondition, u.Error())
}

// Decode makes a message of Temporal's API readable: what was stored outside is brought back, decrypted and decompressed, the
// texts of failures as well. A *historypb.History that was exported is one. Its errors have ErrPayload in them.
func (s *Storage) Decode(ctx context.Context, message proto.Message) error {
	return s.decode(ctx, message, true)
}

func (s *Storage) decode(ctx context.Context, message proto.Message, strict bool) error {
	err := proxy.VisitPayloads(ctx, message, proxy.VisitPayloadsOptions{SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, list []*commonpb.Payload) ([]*commonpb.Payload, error) {
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

// How the SDK writes a reference to what it put into an external storage.
const (
	metadataMessageType = "messageType"
	encodingReference   = "json/protobuf"
)

var referenceType = string((&sdkpb.ExternalStorageReference{}).ProtoReflect().Descriptor().FullName())

// storedKey returns the key of a payload that stands in history for one in a store of ours.
func storedKey(p *commonpb.Payload) (string, bool) {
	if !isEncoded(p, encodingReference) || string(p.GetMetadata()[metadataMessageType]) != referenceType {
		return "", false
	}
	ref := &sdkpb.ExternalStorageReference{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(p.GetData(), ref); err != nil || ref.GetDriverName() != driverName {
		return "", false
	}
	return ref.GetClaimData()[claimKey], true
}
