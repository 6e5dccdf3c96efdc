package instances

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
)

// closeWithin bounds how long the report of an instance's end waits for calls that do not stop and
// for its Close.
const closeWithin = 10 * time.Second

// finish ends the instance and reports its end.
func (h *hosting) finish(end ending) (api.InstanceProgress, error) {
	close(h.over)
	h.endCreation(lease.ErrOver)
	switch end.kind {
	case endIdle, endStopped, endClosed:
	case endState: // its calls end with their own errors, which say more
		h.instance.Load().lose(end.err.Message)
		_ = h.lease.Beat(context.Background()) // without it, the next instance knows less
	default:
		h.lease.GiveUp(lease.ErrOver) // nothing may go on with it
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer panics.Instance.Contain(context.Background(), nil, nil)
		h.close(end)
	}()
	h.waitClosed(closed, end)
	h.lease.GiveUp(lease.ErrOver)
	return h.report(end)
}

// stopWithin bounds how long an instance whose run is over stays open for the worker of its queue.
// The server can leave the last poll of a stopping worker open for a minute.
const stopWithin = time.Second

// stopServing stops the worker of an instance's queue and returns when no call of the instance can
// start any more.
func stopServing(stop func(), end ending) {
	switch {
	case stop == nil:
	case end.kind != endOver:
		stop()
	default: // the lease is given up, and no other instance uses the queue
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			stop()
		}()
		select {
		case <-stopped:
		case <-time.After(stopWithin):
		}
	}
}

// close stops serving the instance and closes it once its calls have ended.
func (h *hosting) close(end ending) {
	stopServing(h.stop, end)
	i := h.instance.Load()
	switch {
	case i != nil:
		defer h.count(h.request.Name(), -1)
	case end.kind == endNotCreated:
		return
	default:
		if i = (<-h.created).instance; i == nil {
			return
		}
	}
	if end.kind == endIdle && i.snapshots != nil && !i.everyCall {
		i.saveSnapshot(nil)
	}
	h.logEnd(end, i.close())
}

// logEnd logs the end of an instance. failure is the error of its Close.
func (h *hosting) logEnd(end ending, failure error) {
	fields := []any{"instance", h.request.Name(), "run", h.request.Origin.Run, "generation",
		h.last.Generation, "why", string(end.kind)}
	if end.err != nil {
		fields = append(fields, "reason", end.err.Message)
	}
	switch {
	case failure != nil:
		h.log.Warn("instance closed with an error", append(fields, "error", failure)...)
	case end.kind == endLost, end.kind == endState:
		h.log.Warn("instance lost", fields...)
	default:
		h.log.Info("instance closed", fields...)
	}
}

// waitClosed waits until the instance is closed and keeps the activity alive meanwhile, so that no
// other instance is created before.
func (h *hosting) waitClosed(closed <-chan struct{}, end ending) {
	tick := time.NewTicker(min(h.lease.Interval(), instanceBeat))
	defer tick.Stop()
	var late <-chan time.Time
	if end.kind != endStopped { // else the worker's own stop timeout bounds it
		late = time.After(closeWithin)
	}
	for {
		select {
		case <-closed:
			return
		case <-late:
			h.log.Warn("an instance does not end in time: its calls or its Close take too long",
				"instance", h.request.Name(),
				"run", h.request.Origin.Run, "waited", closeWithin)
			return
		case <-tick.C:
			if !h.unknown {
				_ = h.lease.Beat(context.Background()) // what it says changes nothing any more
			}
		}
	}
}

// report tells the run how the hosting has ended. An adopted activity has no execution of its own
// and is completed from here.
func (h *hosting) report(end ending) (state api.InstanceProgress, err error) {
	state, err = resultFromEnding(h, end)
	switch {
	case h.unknown:
		return state, activity.ErrResultPending
	case !h.adopted:
		return state, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	failure := h.config.Client.CompleteActivity(ctx, h.info.TaskToken, state, err)
	if _, gone := errors.AsType[*serviceerror.NotFound](failure); failure != nil && !gone {
		h.log.Warn("could not report the end of an instance", "instance", h.request.Name(), "run",
			h.request.Origin.Run, "error", failure)
	}
	return state, activity.ErrResultPending
}

// resultFromEnding returns the result of the activity that hosts an instance, by how the hosting
// ended.
func resultFromEnding(h *hosting, end ending) (state api.InstanceProgress, err error) {
	switch end.kind {
	case endIdle:
		return h.state(), nil
	case endClosed:
		return h.state().AfterClose(end.why), nil
	case endOver: // the server knows that the run has cancelled it
		return state, nil
	}
	left := h.state()
	switch {
	case left.Creating: // the run has its state
		left.Creating = end.kind != endNotCreated
		if lostState(h.request.Name(), h.last, h.gone) != "" {
			left.Ended = h.gone // for the next instance, which has to say so
		}
	case !h.adopted:
		left.State = nil // the last heartbeat has it
	}
	return state, hostFailure(end.err, left)
}

// hostFailure is Failure with the instance's last snapshot. Only an instance that was given up is
// requested again.
func hostFailure(e *api.Error, state api.InstanceProgress) error {
	again := *e
	again.Retryable = e.Type == api.ErrWorkerLost
	return executor.Failure(&again, state)
}
