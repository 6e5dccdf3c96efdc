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

var errNoPayload = errors.New("there is none")

// decode reads the first payload; the others, if a later version writes more, are not for this one.
func Decode(payloads *commonpb.Payloads, into any) error {
	list := payloads.GetPayloads()
	if len(list) == 0 {
		return errNoPayload
	}
	return DataConverter.FromPayload(list[0], into)
}

// timeOf returns the zero time where the server gave none.
func TimeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// between is never negative: the times of two machines may disagree.
func Between(from, to time.Time) api.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return api.Duration(max(to.Sub(from), 0))
}

func IsApplication(f *failurepb.Failure) bool { return f.GetApplicationFailureInfo() != nil }

// findCause returns the first failure of the chain of causes for which is holds, or nil.
func FindCause(f *failurepb.Failure, is func(*failurepb.Failure) bool) *failurepb.Failure {
	for ; f != nil; f = f.GetCause() {
		if is(f) {
			return f
		}
	}
	return nil
}

// failureMessage is what the application said where it said something, else what the server did.
func FailureMessage(f *failurepb.Failure) string {
	if app := FindCause(f, IsApplication); app != nil {
		return app.GetMessage()
	}
	return f.GetMessage()
}
