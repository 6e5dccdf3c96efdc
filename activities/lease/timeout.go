package lease

import (
	"context"
	"errors"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// SetTimeout has the server change the heartbeat timeout of an activity. The server counts the new
// timeout from the last heartbeat. The request names the activity by its ID, so that it also
// changes a later attempt, on another worker: send a heartbeat before. It returns ErrHostGone if
// the server no longer knows the activity.
func SetTimeout(ctx context.Context, c client.Client, info activity.Info,
	timeout time.Duration) error {
	_, err := c.WorkflowService().UpdateActivityOptions(ctx,
		&workflowservice.UpdateActivityOptionsRequest{
			Namespace: info.Namespace,
			Execution: &commonpb.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID,
				RunId: info.WorkflowExecution.RunID},
			Activity: &workflowservice.UpdateActivityOptionsRequest_Id{
				Id: info.ActivityID},
			ActivityOptions: &activitypb.ActivityOptions{HeartbeatTimeout: durationpb.New(timeout)},
			UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"heartbeat_timeout"}},
		})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return ErrHostGone
	}
	return err
}

// RefusedTimeout reports whether an error of SetTimeout means that the server never changes
// timeouts.
func RefusedTimeout(err error) bool {
	_, unknown := errors.AsType[*serviceerror.Unimplemented](err)
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	return unknown || denied || invalid
}
