package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// ending is why an instance is no longer hosted.
type ending struct {
	kind endKind
	// err is why the instance could not be created or was given up.
	err *api.Error
	// why is who closed the instance on demand, for the next one.
	why string
}

type endKind string

const (
	// endOver: the run no longer needs the instance.
	endOver endKind = "the run is over"
	// endIdle: no call used the instance for its idle timeout.
	endIdle endKind = "idle"
	// endClosed: the run closes the instance and goes on.
	endClosed endKind = "closed on demand"
	// endLost: this process can no longer host the instance.
	endLost endKind = "lost"
	// endState: the instance lost its state, although this process can host it.
	endState endKind = "its state is lost"
	// endStopped: the worker stops; running calls may finish.
	endStopped endKind = "the worker stops"
	// endNotCreated: the instance could not be created.
	endNotCreated endKind = "not created"
)

// askPause is the wait between two checks of a run that is to adopt its instance.
const askPause = time.Second

// run creates the instance and hosts it until there is a reason to end it.
func (h *hosting) run(asked context.Context) ending {
	tick := time.NewTicker(min(h.lease.Interval(), lookInterval))
	defer tick.Stop()
	h.cancellation = asked.Done()
	for {
		if end := h.next(asked, tick.C); end != nil {
			return *end
		}
	}
}

// next waits for the next event and returns the ending it causes, if any. The context ends with the
// first execution; the instance may be adopted by the execution that continues its run.
func (h *hosting) next(asked context.Context, tick <-chan time.Time) *ending {
	ctx := context.WithoutCancel(asked)
	select {
	case <-h.cancellation:
		h.cancellation = nil
		return h.endingFromCause(ctx, context.Cause(asked))
	case <-activity.GetWorkerStopChannel(ctx):
		return &ending{kind: endStopped, err: h.lostError("its worker stops")}
	case <-h.lease.Lost:
		return h.lost(h.silence())
	case c := <-h.created:
		return h.take(ctx, c)
	case err := <-h.stateLost:
		return stateLost(err)
	case h.info = <-h.adoptions:
		return h.continueAdopted(ctx)
	case end := <-h.endings:
		return end()
	case <-tick:
		return h.check(ctx)
	}
}

// stateLost is the ending of an instance that lost its state by itself, such as a session whose
// server has ended.
func stateLost(err error) *ending {
	e := api.Errorf(api.ErrWorkerLost, "%v", err)
	e.Phase, e.Retryable = api.PhaseExecution, true
	return &ending{kind: endState, err: e}
}

// describeQueueError says that the instance's queue cannot be served.
func describeQueueError(err error) string {
	return "it cannot serve the instance's queue: " + err.Error()
}

// silence describes why the lease was not renewed.
func (h *hosting) silence() string {
	silence, unanswered := h.lease.Silence()
	silence = silence.Round(100 * time.Millisecond)
	if !unanswered {
		return fmt.Sprintf("it sent no heartbeat for %s", silence)
	}
	return fmt.Sprintf("no connection to Temporal for %s", silence)
}

func (h *hosting) lost(why string) *ending { return &ending{kind: endLost, err: h.lostError(why)} }

// endingFromCause determines why the first execution's context ended: the run has cancelled it or
// is
// closed, the run continues as new, or the worker's stop timeout has passed.
func (h *hosting) endingFromCause(ctx context.Context, cause error) *ending {
	switch {
	case !temporal.IsCanceledError(cause):
		return h.lost("it was stopped: " + cause.Error())
	case h.adopted:
		return nil
	}
	return h.forgotten(ctx, &ending{kind: endOver})
}

// take takes a created instance. Its queue is served once the server knows of it.
func (h *hosting) take(ctx context.Context, c creation) *ending {
	switch {
	case c.err == nil:
	case h.lease.IsLost():
		return h.lost(h.silence())
	default:
		return &ending{kind: endNotCreated, err: c.err}
	}
	i := c.instance
	h.instance.Store(i)
	h.stateLost = i.created.Lost
	h.count(h.request.Name(), 1)
	h.log.Info("instance created", "instance", h.request.Name(), "run", h.request.Origin.Run,
		"generation", h.last.Generation)
	h.beaten = time.Time{}
	return h.check(ctx)
}

// serve serves the queue of the instance.
func (h *hosting) serve(i *instance) *ending {
	stop, err := h.config.Serve(Served{Queue: h.request.Queue, Lane: h.spec.Execution.Lane,
		Tool: func(ctx context.Context, in converter.EncodedValues) (api.Result, error) {
			return h.config.Tool(context.WithValue(ctx, instanceKey{}, i), in)
		},
		HostInstance: h.adopt, Close: h.endOnRequest,
		Failed: func(err error) {
			h.endings.add(
				func() *ending { return h.lost(describeQueueError(err)) })
		},
	})
	if err != nil {
		return h.lost(describeQueueError(err))
	}
	h.stop = stop
	return nil
}

// adopt handles the HostInstance activity of a continued run, which arrives at the worker of the
// instance's own queue. The execution of HostInstance that created the instance keeps hosting it
// and completes both.
func (h *hosting) adopt(ctx context.Context, _ api.HostInstanceRequest) (api.InstanceProgress,
	error) {
	select {
	case h.adoptions <- activity.GetInfo(ctx):
		return api.InstanceProgress{}, activity.ErrResultPending
	case <-h.over:
	case <-ctx.Done():
	}
	return api.InstanceProgress{}, hostFailure(h.lostError("it is being closed"), h.state())
}

// endOnRequest handles the CloseInstance activity of a run that is ending or closes the instance.
func (h *hosting) endOnRequest(_ context.Context, r instancerules.CloseRequest) error {
	end := &ending{kind: endOver}
	if r.OnDemand {
		end.kind, end.why = endClosed, r.Why
	}
	h.endings.add(func() *ending { return end })
	return nil
}

// endings are the endings of an instance that other goroutines cause; the first one counts.
type endings chan func() *ending

func (e endings) add(end func() *ending) {
	select {
	case e <- end:
	default:
	}
}

// continueAdopted keeps hosting the instance for the activity that adopted it.
func (h *hosting) continueAdopted(ctx context.Context) *ending {
	h.size = leaseSize{confirmed: cmp.Or(h.info.HeartbeatTimeout,
		h.spec.Execution.Heartbeat.Std())}
	h.lease.Adopt(h.info.TaskToken, h.size.confirmed)
	h.adopted, h.parked, h.beaten = true, time.Time{}, time.Time{}
	return h.check(ctx)
}

// lookInterval is the time between two checks of an instance. They send nothing unless something is
// due.
const lookInterval = 500 * time.Millisecond

const (
	// instanceBeat bounds the time between two heartbeats of an instance that was used lately, so
	// that the end of its run is noticed soon on servers that do not push cancellation.
	instanceBeat = 5 * time.Second
	// usedLately is how long an instance counts as used lately. Runs that end later than half of
	// that after their last call announce their end.
	usedLately = 20 * time.Second
)

// pause returns the time between the last heartbeat and the next one. Every heartbeat carries the
// whole snapshot, because the server keeps only the last details. Therefore an unused instance
// sends few.
func (h *hosting) pause() time.Duration {
	if _, unanswered := h.lease.Silence(); unanswered {
		return h.lease.RetryInterval()
	}
	i := h.instance.Load()
	switch third := h.lease.Third(); {
	case i == nil || i.idle() == 0:
		return h.lease.Interval()
	case i.idle() < usedLately:
		return min(third, instanceBeat)
	default:
		return third
	}
}

// beatIfDue sends a heartbeat when one is due, and changes the lease when the use of the instance
// has changed.
func (h *hosting) beatIfDue(ctx context.Context) error {
	if err := h.size.adjust(ctx, h); err != nil || time.Since(h.beaten) < h.pause() {
		return err
	}
	h.beaten = time.Now()
	created := h.instance.Load() != nil
	err := h.lease.Beat(ctx)
	h.announced = h.announced || created && err == nil
	return err
}

// check sends a heartbeat when one is due, and checks whether the instance is still needed.
func (h *hosting) check(ctx context.Context) *ending {
	if !h.parked.IsZero() {
		return h.awaitAdoption(ctx)
	}
	switch err := h.beatIfDue(ctx); {
	case errors.Is(err, lease.ErrHostCancelled):
		return &ending{kind: endOver}
	case errors.Is(err, lease.ErrHostGone):
		return h.forgotten(ctx, h.lost("its heartbeats came too late"))
	}
	switch i := h.instance.Load(); {
	case i == nil:
	case h.announced && h.stop == nil:
		return h.serve(i)
	case i.idle() >= h.spec.Entry.Common().Instance.IdleTimeout.Std():
		return &ending{kind: endIdle}
	}
	return nil
}

// forgotten determines why the server no longer knows the activity, or why it was cancelled; open
// is the ending if the run's execution is still open. A run that continues as new adopts its
// instance; until then no call starts.
func (h *hosting) forgotten(ctx context.Context, open *ending) *ending {
	described, err := h.describe(ctx, h.info.WorkflowExecution.RunID)
	if err != nil {
		if _, gone := errors.AsType[*serviceerror.NotFound](err); !gone {
			h.beaten = time.Time{} // the next check asks again
			return nil
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

// awaitAdoption checks whether the run that is to adopt the instance still exists.
func (h *hosting) awaitAdoption(ctx context.Context) *ending {
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

func (h *hosting) describe(ctx context.Context,
	runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, h.lease.Patience())
	defer cancel()
	return h.config.Client.DescribeWorkflowExecution(ctx, h.info.WorkflowExecution.ID, runID)
}

// lostWorker is why an instance was lost whose host has reported nothing.
const lostWorker = "the worker that hosted the last one was lost"

// previous returns what is known of the run's last instance, from the last heartbeat of its host or
// from the run, and why its state is lost if it is.
func (h *hosting) previous(ctx context.Context) (last api.InstanceProgress, gone string,
	err error) {
	if activity.HasHeartbeatDetails(ctx) {
		err := activity.GetHeartbeatDetails(ctx, &last)
		return h.readable(last, err), cmp.Or(last.Ended, lostWorker), nil
	}
	last, gone, err = previousOfRun(ctx, h)
	if closed := h.request.Last; closed.Closed {
		closed.Generation = max(closed.Generation, last.Generation)
		return closed, closed.Ended, err
	}
	return last, gone, err
}

// previousOfRun is previous for the first attempt to host the next instance.
func previousOfRun(ctx context.Context, h *hosting) (last api.InstanceProgress, gone string,
	err error) {
	switch {
	case len(h.request.Before) > 0:
	case h.request.Lost:
		return h.request.Last, cmp.Or(h.request.Last.Ended, lostWorker), nil
	default:
		return h.request.Last, cmp.Or(h.request.Last.Ended, fmt.Sprintf(
			"the last one was closed after %s without a call", h.spec.Entry.Common().Instance.IdleTimeout)), nil
	}
	for _, ref := range slices.Backward(h.request.Before) {
		details, known, err := h.lastHeartbeat(ctx, ref)
		switch {
		case err != nil:
			return last, lostWorker, err
		case !known: // the heartbeat of an earlier host is not the latest state
			return h.readable(h.request.Last, errors.New("the server no longer has its host")),
				lostWorker, nil
		case details != nil:
			err := h.config.Converter.FromPayloads(details, &last)
			return h.readable(last, err), lostWorker, nil
		}
	}
	return h.readable(h.request.Last, errors.New("no host of the run has reported any")),
		lostWorker, nil
}

// readable returns a state that was read. If reading failed, it reports the state as lost instead
// of dropping it silently.
func (h *hosting) readable(s api.InstanceProgress, err error) api.InstanceProgress {
	if err == nil {
		return s
	}
	h.log.Warn("the state of an instance is lost", "instance", h.request.Name(), "run",
		h.request.Origin.Run, "error", err)
	return api.InstanceProgress{Generation: max(s.Generation, h.request.Last.Generation),
		Used: true}
}

// lastHeartbeat returns the last heartbeat details of a HostInstance activity that ended with its
// execution, nil if there were none. known reports that the server still has the activity, which it
// keeps as long as the execution.
func (h *hosting) lastHeartbeat(ctx context.Context,
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
