package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var dataConverter = converter.GetDefaultDataConverter()

var errNoPayload = errors.New("there is none")

// decode reads the first payload; the others, if a later version writes more, are not for this one.
func decode(payloads *commonpb.Payloads, into any) error {
	list := payloads.GetPayloads()
	if len(list) == 0 {
		return errNoPayload
	}
	return dataConverter.FromPayload(list[0], into)
}

// decodeEvent is decode with an error that says where in the history the content stands.
func (d *Deriver) decodeEvent(e *historypb.HistoryEvent, what string, payloads *commonpb.Payloads, into any) error {
	if err := decode(payloads, into); err != nil {
		return fmt.Errorf("event %d (%s) of run %s: %w: its %s: %w", e.GetEventId(), e.GetEventType(), d.runID, ErrUnreadable, what, err)
	}
	return nil
}

// timeOf returns the zero time where the server gave none.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// between is never negative: the times of two machines may disagree.
func between(from, to time.Time) api.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return api.Duration(max(to.Sub(from), 0))
}

// activityFailure reads a failed activity from history as workflows read it from the SDK's error.
func activityFailure(f *failurepb.Failure) api.ActivityFailure {
	if cause := findCause(f, func(f *failurepb.Failure) bool { return f.GetTimeoutFailureInfo() != nil }); cause != nil {
		info := cause.GetTimeoutFailureInfo()
		return api.ActivityFailure{Timeout: api.TimeoutKind(info.GetTimeoutType().String()),
			LastHeartbeat: func(v any) error { return decode(info.GetLastHeartbeatDetails(), v) }}
	}
	if findCause(f, func(f *failurepb.Failure) bool { return f.GetCanceledFailureInfo() != nil }) != nil {
		return api.ActivityFailure{Cancelled: true}
	}
	app := findCause(f, isApplication)
	if app == nil {
		return api.ActivityFailure{Message: f.GetMessage()}
	}
	info := app.GetApplicationFailureInfo()
	return api.ActivityFailure{Type: info.GetType(), Message: app.GetMessage(),
		Details: func(v any) error { return decode(info.GetDetails(), v) }}
}

func isApplication(f *failurepb.Failure) bool { return f.GetApplicationFailureInfo() != nil }

// findCause returns the first failure of the chain of causes for which is holds, or nil.
func findCause(f *failurepb.Failure, is func(*failurepb.Failure) bool) *failurepb.Failure {
	for ; f != nil; f = f.GetCause() {
		if is(f) {
			return f
		}
	}
	return nil
}

// failureMessage is what the application said where it said something, else what the server did.
func failureMessage(f *failurepb.Failure) string {
	if app := findCause(f, isApplication); app != nil {
		return app.GetMessage()
	}
	return f.GetMessage()
}
