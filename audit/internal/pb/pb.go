// Package pb reads values from the protobuf messages of Temporal.
package pb

import (
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var DataConverter = converter.GetDefaultDataConverter()

var errNoPayload = errors.New("no payload")

// Decode decodes the first payload; others are ignored.
func Decode(payloads *commonpb.Payloads, into any) error {
	return DecodeAt(payloads, 0, into)
}

// DecodeAt decodes the payload at an index.
func DecodeAt(payloads *commonpb.Payloads, index int, into any) error {
	list := payloads.GetPayloads()
	if len(list) <= index {
		return errNoPayload
	}
	return DataConverter.FromPayload(list[index], into)
}

// Time returns the time of a timestamp. A nil timestamp gives the zero time.
func Time(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// Between returns the time between two times, zero if one of them is zero. It is never negative:
// the clocks of two machines may disagree.
func Between(from, to time.Time) api.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return api.Duration(max(to.Sub(from), 0))
}

func IsApplication(f *failurepb.Failure) bool { return f.GetApplicationFailureInfo() != nil }

// FindCause returns the first failure in the chain of causes for which is returns true; nil if
// there is none.
func FindCause(f *failurepb.Failure, is func(*failurepb.Failure) bool) *failurepb.Failure {
	for ; f != nil; f = f.GetCause() {
		if is(f) {
			return f
		}
	}
	return nil
}

// FailureMessage returns the message of the application's failure, or else of the server's.
func FailureMessage(f *failurepb.Failure) string {
	if app := FindCause(f, IsApplication); app != nil {
		return app.GetMessage()
	}
	return f.GetMessage()
}
