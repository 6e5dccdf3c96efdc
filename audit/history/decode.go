package history

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
)

// decodeEvent is decode with an error that says where in the history the content stands.
func (d *Deriver) decodeEvent(e *historypb.HistoryEvent, what string, payloads *commonpb.Payloads, into any) error {
	if err := pb.Decode(payloads, into); err != nil {
		return fmt.Errorf("event %d (%s) of run %s: %w: its %s: %w", e.GetEventId(), e.GetEventType(), d.runID, ErrUnreadable, what, err)
	}
	return nil
}

// activityFailure reads a failed activity from history as workflows read it from the SDK's error.
func activityFailure(f *failurepb.Failure) api.ActivityFailure {
	if cause := pb.FindCause(f, func(f *failurepb.Failure) bool { return f.GetTimeoutFailureInfo() != nil }); cause != nil {
		info := cause.GetTimeoutFailureInfo()
		return api.ActivityFailure{Timeout: api.TimeoutKind(info.GetTimeoutType().String()),
			LastHeartbeat: func(v any) error { return pb.Decode(info.GetLastHeartbeatDetails(), v) }}
	}
	if pb.FindCause(f, func(f *failurepb.Failure) bool { return f.GetCanceledFailureInfo() != nil }) != nil {
		return api.ActivityFailure{Cancelled: true}
	}
	app := pb.FindCause(f, pb.IsApplication)
	if app == nil {
		return api.ActivityFailure{Message: f.GetMessage()}
	}
	info := app.GetApplicationFailureInfo()
	return api.ActivityFailure{Type: info.GetType(), Message: app.GetMessage(),
		Details: func(v any) error { return pb.Decode(info.GetDetails(), v) }}
}
