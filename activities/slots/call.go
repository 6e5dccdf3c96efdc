package slots

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// tool executes a call of the lane.
func (q *slotQueue) tool(ctx context.Context, in converter.EncodedValues) (api.Result, error) {
	return through(ctx, q, in, func(ctx context.Context) (api.Result, error) {
		return q.holder.config.Tool(ctx, in)
	})
}

// model executes a model step on the lane.
func (q *slotQueue) model(ctx context.Context, r api.ModelRequest) (api.ModelResponse, error) {
	return through(ctx, q, nil, func(ctx context.Context) (api.ModelResponse, error) {
		return q.holder.config.Model(ctx, r)
	})
}

// WhileOpen returns what executes the calls and model steps of a lane without a limit while its
// worker slots are open. Tasks in flight when the slots are closed are requeued, so that the lane's
// new rules apply to them. Calls beyond the worker's limit over all lanes are requeued too.
func (a *Server) WhileOpen(workerSlots *WorkerSlots, lane string) (tool func(context.Context,
	converter.EncodedValues) (api.Result, error),
	model func(context.Context, api.ModelRequest) (api.ModelResponse, error)) {
	model = func(ctx context.Context, in api.ModelRequest) (r api.ModelResponse, err error) {
		if workerSlots.isClosed() {
			return r, executor.Failure(newRequeueError(lane, nil))
		}
		return a.config.Model(ctx, in)
	}
	return a.requeueIf(func() bool { return a.excess() || workerSlots.isClosed() }, lane,
		a.config.Tool), model
}

// excess reports whether a call is one too many for the worker. Model steps do not ask, because a
// step that is returned uses up an attempt of its retry policy.
func (a *Server) excess() bool { return a.config.Excess != nil && a.config.Excess() }

// requeueIf returns a function that requeues the calls of a lane if requeue is true, and otherwise
// executes them.
func (a *Server) requeueIf(requeue func() bool, lane string,
	do func(context.Context, converter.EncodedValues) (api.Result, error)) func(context.Context,
	converter.EncodedValues) (api.Result, error) {
	return func(ctx context.Context, in converter.EncodedValues) (r api.Result, err error) {
		if requeue() {
			return r, executor.Failure(newRequeueError(lane, in))
		}
		return do(ctx, in)
	}
}

// leaseKey is the context key of the lease under which a call runs.
type leaseKey struct{}

// LaneFromContext returns the lane and the fencing number of the lease under which a call runs;
// false if
// there is none.
func LaneFromContext(ctx context.Context) (lane string, fence int64, ok bool) {
	h, ok := ctx.Value(leaseKey{}).(callLease)
	return h.lane, h.fence, ok
}

type callLease struct {
	lane  string
	fence int64
	// waited is how long the call waited for its turn in this process.
	waited time.Duration
}

// through executes a task when its turn comes, while the lease lasts. in is the task's Execution;
// nil for a model step.
func through[T any](ctx context.Context, q *slotQueue, in converter.EncodedValues,
	do func(context.Context) (T, error)) (result T, err error) {
	info, received := activity.GetInfo(ctx), time.Now()
	q.take()
	turn, err := q.startCall(ctx, info, in)
	if err != nil {
		q.end(countRefusal(err))
		return result, err
	}
	defer turn.end()
	period, err := q.holder.lease.Acquire(ctx)
	if err != nil {
		q.end(nil)
		return result, executor.Refusal(ctx, q.refusal(err, in, 0), in != nil)
	}
	began := time.Now()
	q.count(func(c *lanerules.Counts) { c.Acquired++; c.Running++ })
	told := callLease{lane: q.lane(turn.key), fence: q.holder.fence}
	if turn.waits {
		told.waited = began.Sub(received)
	}
	inner, cancel := context.WithCancelCause(context.WithValue(ctx, leaseKey{}, told))
	defer cancel(nil)
	defer context.AfterFunc(period, func() { cancel(context.Cause(period)) })()
	// also after a panic: the group is given up when all tasks have ended
	defer q.ran(info, began)
	return do(q.holder.lease.Bind(inner, cancel))
}

// RecordWait adds to a call's result or error how long it waited in this process.
func RecordWait(ctx context.Context, result *api.Result, failure *api.Error) {
	lease, ok := ctx.Value(leaseKey{}).(callLease)
	switch {
	case !ok:
	case failure != nil:
		failure.WaitedMicros = lease.waited.Microseconds()
	default:
		result.WaitedMicros = lease.waited.Microseconds()
	}
}

// countRefusal returns how to count a task that did not run.
func countRefusal(err error) func(*lanerules.Counts) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return nil
	}
	switch api.ErrorType(app.Type()) {
	case api.ErrQueueFull:
		return func(c *lanerules.Counts) { c.Rejected++ }
	case api.ErrQueueTimeout:
		return func(c *lanerules.Counts) { c.TimedOut++ }
	}
	return nil
}

// ran ends a task that ran.
func (q *slotQueue) ran(info activity.Info, began time.Time) {
	now := time.Now()
	q.end(func(c *lanerules.Counts) {
		c.Running--
		c.Ended++
		c.ExecutionMicros += now.Sub(began).Microseconds()
		if wait := began.Sub(info.ScheduledTime); info.Attempt == 1 && wait > 0 {
			c.WaitMicros += wait.Microseconds()
		}
	})
}

// turn is a call's use of a wait queue.
type turn struct {
	of    *waitQueues
	queue *waitQueue
	key   string
	// waits is set if the lane's calls wait in this process.
	waits bool
}

// end ends the turn of a call that ran.
func (t turn) end() {
	t.queue.leave()
	t.of.release(t.key, t.queue)
}

// lane returns the lane's name with a key.
func (q *slotQueue) lane(key string) string {
	lane := q.holder.request.Lane.Name
	if key != "" {
		lane += "/" + key
	}
	return lane
}

// startCall returns when it is the task's turn; the caller ends the turn after the task. If the
// lane's calls wait at the server, a call without a free slot is requeued: it was in flight when
// there were more permits than slots. The error is a failure of the call.
func (q *slotQueue) startCall(ctx context.Context, info activity.Info,
	in converter.EncodedValues) (turn, error) {
	q.mu.Lock()
	t, shut := turn{of: q.semaphore.queues, waits: q.waits}, q.shut
	q.mu.Unlock()
	if shut {
		return t, executor.Refusal(ctx, newRequeueError(q.lane(""), in), in != nil)
	}
	var x api.Execution
	if t.waits && in != nil {
		if err := in.Get(&x); err != nil {
			return t, executor.Failure(executor.UnreadableInput(err))
		}
	}
	t.key = x.Key
	t.queue = t.of.use(t.key)
	var err error
	if t.waits {
		err = q.awaitTurn(ctx, info, x, t)
	} else {
		err = q.beginNow(ctx, info, t)
	}
	if err != nil {
		t.of.release(t.key, t.queue)
		return t, executor.Refusal(ctx, q.refusal(err, in, x.QueueTimeout), in != nil)
	}
	return t, nil
}

// beginNow takes a slot for a task that does not wait here. An earlier attempt may have.
func (q *slotQueue) beginNow(ctx context.Context, info activity.Info, t turn) error {
	if !t.queue.begin() {
		return errQueueClosed
	}
	earlier := executor.LastHeartbeat(ctx)
	if !earlier.Waiting {
		return nil
	}
	w := &waiter{queue: q, info: info, earlier: earlier}
	err := w.recordStart()
	if err != nil {
		t.queue.leave()
	}
	return err
}

// awaitTurn waits in a wait queue until it is the task's turn. The first attempt may wait for the
// queue timeout from its scheduling, a later one from its arrival at this worker, because its due
// time is not known here.
func (q *slotQueue) awaitTurn(ctx context.Context, info activity.Info, x api.Execution,
	t turn) error {
	var deadline time.Time
	if timeout := x.QueueTimeout.Std(); timeout > 0 {
		deadline = info.StartedTime.Add(timeout)
		if info.Attempt == 1 {
			deadline = info.ScheduledTime.Add(timeout)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &waiter{queue: q, info: info, earlier: executor.LastHeartbeat(ctx), cancel: cancel}
	defer w.end()
	e := entrant{deadline: deadline, own: x.Own,
		sharer: sharer{levelFromInfo(info), cmp.Or(x.Fairness, info.Priority.FairnessKey)}}
	if err := t.queue.enter(ctx, e, func(waits bool) {
		if waits {
			w.begin()
		}
	}); err != nil {
		return err
	}
	err := w.recordStart()
	if err != nil {
		t.queue.leave()
	}
	return err
}

func levelFromInfo(info activity.Info) int {
	if info.Priority.PriorityKey > 0 {
		return info.Priority.PriorityKey
	}
	return lanerules.PriorityLevel(api.PriorityNormal)
}

// refusal is the failure of a call that did not get its turn.
func (q *slotQueue) refusal(err error, in converter.EncodedValues,
	timeout api.Duration) *api.Error {
	switch {
	case errors.Is(err, errQueueFull):
		e := api.Errorf(api.ErrQueueFull,
			"the lane %s has no free slot, and as many calls wait for one as may", q.lane(""))
		e.Phase = api.PhasePreExecution
		return e
	case errors.Is(err, errQueueTooLong):
		e := api.Errorf(api.ErrQueueTimeout, "the lane %s had no free slot for the call within %s",
			q.lane(""), timeout)
		e.Phase = api.PhasePreExecution
		return e
	case temporal.IsCanceledError(err):
		e := api.Errorf(api.ErrCancelled,
			"the call was cancelled while it waited for a slot of the lane %s", q.lane(""))
		e.Phase, e.NotStarted = api.PhasePreExecution, true
		return e
	}
	return newRequeueError(q.lane(""), in)
}

// newRequeueError is the error of a call that a worker may no longer start. The run schedules the
// call
// again without using up an attempt; a model step, for which in is nil, is retried by its retry
// policy.
func newRequeueError(lane string, in converter.EncodedValues) *api.Error {
	e := api.Errorf(api.ErrWorkerLost,
		"the worker gave up the lane %s before the call started; nothing ran", lane)
	e.Phase, e.Retryable = api.PhaseExecution, in == nil
	e.NotStarted, e.Requeue = true, true
	return e
}
