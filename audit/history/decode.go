package history

import (
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/failures"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
)

// activityFailure returns the failure of an activity as workflows read it from the error of the
// SDK.
func activityFailure(f *failurepb.Failure) failures.ActivityFailure {
	cause := pb.FindCause(f, func(f *failurepb.Failure) bool {
		return f.GetTimeoutFailureInfo() != nil
	})
	if cause != nil {
		info := cause.GetTimeoutFailureInfo()
		kind := failures.TimeoutKind(info.GetTimeoutType().String())
		failure := failures.ActivityFailure{Timeout: kind}
		if details := info.GetLastHeartbeatDetails(); details != nil {
			failure.LastHeartbeat = func(v any) error { return pb.Decode(details, v) }
		}
		return failure
	}
	cause = pb.FindCause(f, func(f *failurepb.Failure) bool {
		return f.GetCanceledFailureInfo() != nil
	})
	if cause != nil {
		return cancelledBy(cause.GetCanceledFailureInfo().GetDetails())
	}
	app := pb.FindCause(f, pb.IsApplication)
	if app == nil {
		return failures.ActivityFailure{Message: f.GetMessage()}
	}
	info := app.GetApplicationFailureInfo()
	return failures.ActivityFailure{Type: info.GetType(), Message: app.GetMessage(),
		Details: func(v any) error { return pb.Decode(info.GetDetails(), v) },
		Left:    func(v any) error { return pb.DecodeAt(info.GetDetails(), 1, v) }}
}

// cancelledBy returns the failure of a cancelled activity with the details that its worker
// reported.
func cancelledBy(details *commonpb.Payloads) failures.ActivityFailure {
	return failures.ActivityFailure{Cancelled: true,
		Details: func(v any) error { return pb.Decode(details, v) }}
}
