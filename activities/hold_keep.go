package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// ending is why an instance is not held any longer.
type ending struct {
	kind endKind
	// err is why it could not be made or was given up.
	err *api.Error
}

type endKind string

const (
	// endOver: the run needs the instance no more.
	endOver endKind = "the run is over"
	// endIdle: no call used it for its idle timeout.
	endIdle endKind = "idle"
	// endLost: this process cannot hold it any longer.
	endLost endKind = "lost"
	// endStopped: the worker stops; calls that run may finish.
	endStopped endKind = "the worker stops"
	// endUnmade: it could not be made.
	endUnmade endKind = "not made"
)

// askPause is the wait between two looks at a run that is to adopt its instance.
const askPause = time.Second

// keep makes the instance and holds it until there is a reason not to.
func (h *holder) keep(asked context.Context) ending {
	tick := time.NewTicker(h.lease.Interval())
	defer tick.Stop()
	h.cancellation = asked.Done()
	for {
		if end := h.next(asked, tick.C); end != nil {
			return *end
		}
	}
}

// next takes the next thing that happens to the hold. The context ends with the execution that
// asked first; the instance may live on in the one that continues its run.
func (h *holder) next(asked context.Context, tick <-chan time.Time) *ending {
	ctx := context.WithoutCancel(asked)
	select {
	case <-h.cancellation:
		h.cancellation = nil
		return h.cancelled(ctx, context.Cause(asked))
	case <-activity.GetWorkerStopChannel(ctx):
		return &ending{endStopped, h.lostError("its worker stops")}
	case <-h.lease.Lost:
		return h.lost("it could not reach the server for too long")
	case err := <-h.failed:
		return h.unserved(err)
	case c := <-h.created:
		return h.begin(c)
	case h.info = <-h.adoptions:
		return h.goOn(ctx)
	case <-tick:
		return h.look(ctx)
	}
}

func (h *holder) unserved(err error) *ending {
	return h.lost("it cannot serve the instance's queue: " + err.Error())
}

func (h *holder) lost(why string) *ending { return &ending{endLost, h.lostError(why)} }

// cancelled tells what the end of the first hold's context means: its run has cancelled it or is
// over, the run continues as new, or the worker's time to stop is over.
func (h *holder) cancelled(ctx context.Context, cause error) *ending {
	switch {
	case !temporal.IsCanceledError(cause):
		return h.lost("it was stopped: " + cause.Error())
	case h.adopted:
		return nil
	}
	return h.forgotten(ctx, &ending{kind: endOver})
}

// begin serves the queue of an instance that has been made.
func (h *holder) begin(c creation) *ending {
	switch {
	case c.err == nil:
	case h.lease.IsLost():
		return h.lost("it could not reach the server for too long")
	default:
		return &ending{endUnmade, c.err}
	}
	i := c.instance
	h.instance.Store(i)
	h.config.Stateful.count(h.spec.Name, 1)
	h.log.Info("instance made", "tool", h.spec.Name, "run", h.request.Origin.Run, "generation",
		h.last.Generation)
	stop, err := h.config.Serve(Served{Queue: h.request.Queue, Lane: h.spec.Execution.Lane,
		Tool: func(ctx context.Context, in converter.EncodedValues) (api.Result, error) {
			return h.Tool(context.WithValue(ctx, instanceKey{}, i), in)
		},
		HostInstance: h.adopt,
		Failed: func(err error) {
			select {
			case h.failed <- err:
			default:
			}
		},
	})
	if err != nil {
		return h.unserved(err)
	}
	h.stop = stop
	return nil
}

// adopt is the hold of an execution that continues the run, as the worker of the instance's own
// queue gets it. The execution of Hold that made the instance goes on with it, and reports for it.
func (h *holder) adopt(ctx context.Context, _ api.HostInstanceRequest) (api.InstanceProgress,
	error) {
	select {
	case h.adoptions <- activity.GetInfo(ctx):
		return api.InstanceProgress{}, activity.ErrResultPending
	case <-h.over:
	case <-ctx.Done():
	}
	return api.InstanceProgress{}, hostFailure(h.lostError("it is being closed"), h.state())
}

// goOn goes on with the instance for the hold that has adopted it.
func (h *holder) goOn(ctx context.Context) *ending {
	h.lease.Adopt(h.info.TaskToken)
	h.adopted, h.parked = true, time.Time{}
	return h.look(ctx)
}

// look sends a heartbeat and sees whether the instance is still wanted.
func (h *holder) look(ctx context.Context) *ending {
	if !h.parked.IsZero() {
		return h.awaitAdoption(ctx)
	}
	switch err := h.lease.Beat(ctx); {
	case errors.Is(err, lease.ErrHostCancelled):
		return &ending{kind: endOver}
	case errors.Is(err, lease.ErrHostGone):
		return h.forgotten(ctx, h.lost("its heartbeats came too late"))
	}
	if i := h.instance.Load(); i != nil && i.idle() >= h.spec.Entry.IdleTimeout.Std() {
		return &ending{kind: endIdle}
	}
	return nil
}

// forgotten finds out why the server knows the hold no more, or why it was cancelled: open says
// what it means where the execution goes on. A run that continues as new has its instance adopted;
// until then no call begins.
func (h *holder) forgotten(ctx context.Context, open *ending) *ending {
	described, err := h.describe(ctx, h.info.WorkflowExecution.RunID)
	if err != nil {
		if _, gone := errors.AsType[*serviceerror.NotFound](err); !gone {
			return nil // it is asked again, and the lease ends soon enough
		}
	}
	switch described.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		h.unknown = open.kind == endLost
		return open
	case enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		h.lease.Park()
		h.parked = time.Now()
		return nil
	}
	h.unknown = true
	return &ending{kind: endOver}
}

// awaitAdoption sees whether the run that is to adopt the instance is still there.
func (h *holder) awaitAdoption(ctx context.Context) *ending {
	switch now := time.Now(); {
	case now.Sub(h.parked) > api.AdoptWithin.Std():
		h.unknown = true
		return h.lost("the run did not adopt it when it continued as new")
	case now.Sub(h.asked) < askPause:
		return nil
	default:
		h.asked = now
	}
	described, err := h.describe(ctx, "")
	info := described.GetWorkflowExecutionInfo()
	if err == nil && (info.GetCloseTime() != nil || info.GetFirstRunId() != h.request.Origin.Run) {
		h.unknown = true
		return &ending{kind: endOver}
	}
	return nil
}

func (h *holder) describe(ctx context.Context,
	runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, h.lease.Patience())
	defer cancel()
	return h.config.Client.DescribeWorkflowExecution(ctx, h.info.WorkflowExecution.ID, runID)
}

// before returns what is known of the run's last instance, and why its state is gone where it is:
// from the last heartbeat of whoever held it, or from the run.
func (h *holder) before(ctx context.Context) (last api.InstanceProgress, gone string, err error) {
	const lost = "the worker that held the last one was lost"
	if activity.HasHeartbeatDetails(ctx) {
		err := activity.GetHeartbeatDetails(ctx, &last)
		return h.readable(last, err), lost, nil
	}
	switch {
	case len(h.request.Before) > 0:
	case h.request.Lost:
		return h.request.Last, lost, nil
	default:
		return h.request.Last, fmt.Sprintf("the last one was closed after %s without a call",
			h.spec.Entry.IdleTimeout), nil
	}
	for _, ref := range slices.Backward(h.request.Before) {
		details, known, err := h.lastHeartbeat(ctx, ref)
		switch {
		case err != nil:
			return last, lost, err
		case !known: // what an earlier hold told is not the last that was
			return h.readable(h.request.Last, errors.New("the server has forgotten its hold")),
				lost, nil
		case details != nil:
			err := h.config.Converter.FromPayloads(details, &last)
			return h.readable(last, err), lost, nil
		}
	}
	return h.readable(h.request.Last, errors.New("no hold of the run has told any")), lost, nil
}

// readable returns a state as it was read. One that cannot be read is gone, which must not go
// unnoticed.
func (h *holder) readable(s api.InstanceProgress, err error) api.InstanceProgress {
	if err == nil {
		return s
	}
	h.log.Warn("the state of an instance is gone", "tool", h.request.Tool, "run",
		h.request.Origin.Run, "error", err)
	return api.InstanceProgress{Generation: max(s.Generation, h.request.Last.Generation),
		Used: true}
}

// lastHeartbeat returns what the last heartbeat told of a hold that ended with its execution, nil
// where there was none. known says that the server still has that hold: it does for as long as it
// keeps the execution.
func (h *holder) lastHeartbeat(ctx context.Context,
	ref api.InstanceHost) (details *commonpb.Payloads, known bool, err error) {
	described, err := h.config.Client.DescribeWorkflowExecution(ctx, h.info.WorkflowExecution.ID,
		ref.RunID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, false, nil
	}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityId() == ref.ActivityID {
			return pending.GetHeartbeatDetails(), true, nil
		}
	}
	return nil, false, err
}
