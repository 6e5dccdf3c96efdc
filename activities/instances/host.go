// Package instances hosts the instances of runs: those of stateful tools and sessions with MCP
// servers. It creates them, serves their task queues, takes snapshots, and gives them up when this
// process can no longer prove its ownership.
package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/command"
	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// Served describes the dedicated worker of one instance.
type Served struct {
	// Queue is the instance's task queue, Lane the lane of its tool.
	Queue, Lane string
	// Tool executes the calls, as the dynamic activity; HostInstance is the activity
	// api.HostInstanceActivity of a continued run, which adopts the instance. Close is the activity
	// api.CloseInstanceActivity of a run that is ending or closes the instance on demand.
	Tool         func(context.Context, converter.EncodedValues) (api.Result, error)
	HostInstance func(context.Context, api.HostInstanceRequest) (api.InstanceProgress, error)
	Close        func(context.Context, instancerules.CloseRequest) error
	// Failed receives the error that stops the worker. It does not block.
	Failed func(error)
}

// Serve starts a worker for one instance. stop ends its polling and returns when its calls have
// ended or the worker's stop timeout has passed.
type Serve func(Served) (stop func(), err error)

// Config configures a Host.
type Config struct {
	Client client.Client
	// Converter decodes the heartbeats of earlier hosts.
	Converter converter.DataConverter
	// Executors are the executors by kind of tool; those that implement executor.Host create the
	// instances. Serve starts a worker for one of them; if it is nil, the process hosts none.
	Executors map[string]executor.Executor
	Serve     Serve
	// Spec returns the exact toolspec that a run is pinned to.
	Spec func(ctx context.Context, tool string, x api.Execution) (*toolspecs.Compiled, error)
	// Tool executes calls, as the dynamic activity.
	Tool func(context.Context, converter.EncodedValues) (api.Result, error)
	// RestoreVariables sets the run's variables where an origin has only their digest.
	RestoreVariables func(context.Context, *api.Origin) error
}

// Host hosts the instances of one process.
type Host struct {
	config Config

	mu   sync.Mutex
	live map[string]int
}

// New returns a host without instances.
func New(c Config) *Host { return &Host{config: c, live: map[string]int{}} }

// Live returns the number of instances in this process, by name.
func (host *Host) Live() map[string]int {
	host.mu.Lock()
	defer host.mu.Unlock()
	return maps.Clone(host.live)
}

func (host *Host) count(name string, change int) {
	host.mu.Lock()
	defer host.mu.Unlock()
	host.live[name] += change
}

// HostInstance implements the activity api.HostInstanceActivity: it creates a run's instance of a
// stateful tool and hosts it until the run no longer needs it, its idle timeout passes, or this
// process can no longer prove that it owns the instance. Meanwhile it serves the instance's own
// task queue. It completes with the instance's last snapshot if the run no longer needs the
// instance or if it was idle. It fails with worker_lost if the instance was given up, and with
// another error if it could not be created; the failure's second detail is the last snapshot.
func (host *Host) HostInstance(ctx context.Context,
	r api.HostInstanceRequest) (api.InstanceProgress, error) {
	h := &hosting{Host: host, request: r, info: activity.GetInfo(ctx),
		log:       activity.GetLogger(ctx),
		created:   make(chan creation, 1),
		adoptions: make(chan activity.Info), endings: make(endings, 1),
		over: make(chan struct{})}
	if e := h.prepare(ctx); e != nil {
		return api.InstanceProgress{}, hostFailure(e, r.Last)
	}
	h.size.confirmed = cmp.Or(h.info.HeartbeatTimeout, h.spec.Execution.Heartbeat.Std())
	h.lease = lease.New(host.config.Client, h.info.TaskToken, h.size.confirmed,
		func() any { return h.state() })
	switch err := h.lease.First(ctx); {
	case errors.Is(err, lease.ErrHostCancelled):
		return api.InstanceProgress{}, nil
	case err != nil:
		return h.last, hostFailure(h.lostError("its first heartbeat did not arrive: "+err.Error()),
			h.state())
	}
	creating, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	h.endCreation = cancel
	go func() { h.created <- h.create(creating) }()
	return h.finish(h.run(ctx))
}

// hosting is one execution of HostInstance.
type hosting struct {
	*Host
	request api.HostInstanceRequest
	spec    *toolspecs.Spec
	starter executor.Host
	log     lease.Logger
	lease   *lease.Lease
	// last is what is known of the run's instances so far. gone is why the state of the last one
	// may be lost.
	last api.InstanceProgress
	gone string
	// info identifies the activity that hosts the instance. It differs from this execution if the
	// instance was adopted.
	info    activity.Info
	adopted bool
	// cancellation ends with the context of the first execution; nil once that was handled.
	cancellation <-chan struct{}
	// unknown means that the server no longer knows the activity, so that no report is possible.
	unknown bool
	// parked is when the instance began to wait for adoption, asked when the run was last checked.
	parked, asked time.Time
	// beaten is when the last heartbeat was sent. announced means that the server accepted one that
	// says that the instance was created; no call starts before.
	beaten    time.Time
	announced bool
	size      leaseSize

	created     chan creation
	endCreation context.CancelCauseFunc
	instance    atomic.Pointer[instance]
	stop        func()
	// stateLost receives why the instance lost its state; nil if that cannot happen.
	stateLost <-chan error
	adoptions chan activity.Info
	// endings receives the ending that another goroutine causes: the run is over, or the queue of
	// the instance cannot be served.
	endings endings
	// over is closed when the instance is given up.
	over chan struct{}
}

// creation is the outcome of creating the instance.
type creation struct {
	instance *instance
	err      *api.Error
}

// prepare determines which instance to create.
func (h *hosting) prepare(ctx context.Context) *api.Error {
	compiled, err := h.config.Spec(ctx, h.request.Tool, api.Execution{Digest: h.request.Digest,
		Origin: h.request.Origin})
	if err != nil {
		return api.Errorf(api.ErrExecutorNotFound,
			"the worker cannot get the pinned toolspec of %s: %v", h.request.Tool, err)
	}
	spec := compiled.Spec
	spec.Execution.Heartbeat = max(spec.Execution.Heartbeat, h.request.Heartbeat)
	h.spec = &spec
	var ok bool
	h.starter, ok = h.config.Executors[h.spec.Entry.Type()].(executor.Host)
	if !ok || h.config.Serve == nil {
		return api.Errorf(api.ErrExecutorNotFound,
			"this worker hosts no instances of tools of the kind %s", h.spec.Entry.Type())
	}
	if h.request.Adopt {
		return h.lostError("the instance that was to be adopted is not here")
	}
	h.last, h.gone, err = h.previous(ctx)
	h.last.Generation++
	h.last.Ended, h.last.Closed, h.last.Creating = "", false, false
	if err != nil {
		return h.lostError("what is left of the instance before cannot be read: " + err.Error())
	}
	return nil
}

// state returns the details of heartbeats.
func (h *hosting) state() api.InstanceProgress {
	if i := h.instance.Load(); i != nil {
		return i.state()
	}
	creating := h.last
	creating.Creating = true
	return creating
}

func (h *hosting) lostError(why string) *api.Error {
	e := api.Errorf(api.ErrWorkerLost, "the worker gave up the instance of %s: %s",
		h.request.Name(), why)
	e.Phase, e.Retryable = api.PhaseExecution, true
	return e
}

// create creates the instance. If the factory's error is transient, it retries by the tool's retry
// policy.
func (h *hosting) create(ctx context.Context) (made creation) {
	defer panics.Instance.Contain(ctx, nil, func(failed error) {
		made = creation{nil, api.Errorf(api.ErrExecution, "the instance of %s could not be created: %v",
			h.request.Name(), failed)}
	})
	retry := h.spec.Execution.Retry
	wait := retry.InitialInterval.Std()
	for attempt := 1; ; attempt++ {
		i, err := h.createOnce(ctx)
		e := api.AsError(err)
		if e == nil || !e.Retryable || attempt >= retry.MaxAttempts {
			return creation{i, e}
		}
		select {
		case <-time.After(max(wait, e.RetryAfter.Std())):
		case <-ctx.Done():
			return creation{nil, e}
		}
		wait = min(time.Duration(float64(wait)*retry.Backoff), retry.MaxInterval.Std())
	}
}

// createOnce creates the instance within the tool's timeout, with the snapshot of the previous one.
func (h *hosting) createOnce(ctx context.Context) (*instance, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, end := context.WithTimeoutCause(ctx, h.spec.Execution.Timeout.Std(), executor.ErrTimeout)
	defer end()
	hidden := &executor.Redactor{References: h.spec.Entry.Common().Secrets}
	ctx = executor.WithRedactor(ctx, hidden)
	timeout := h.lease.Bind(ctx, cancel)
	if e := command.EnsureDependencies(timeout, h.spec); e != nil {
		return nil, e
	}
	origin := h.request.Origin
	if origin.VariablesDigest != "" {
		if err := h.config.RestoreVariables(ctx, &origin); err != nil {
			return nil, err
		}
	}
	origin.Conversation = cmp.Or(origin.Conversation, h.info.WorkflowExecution.ID)
	info := executor.InstanceInfo{Asks: h.request.Asks,
		StartInfo: tool.StartInfo{Instance: h.request.Name(), Origin: origin,
			WorkflowID: h.info.WorkflowExecution.ID, RunID: h.info.WorkflowExecution.RunID,
			Generation: h.last.Generation}}
	started, err := executor.Guard(timeout, executor.Handler(h.spec),
		func() (executor.Instance, error) { return h.starter.StartInstance(timeout, h.spec, info) })
	if err != nil {
		return nil, h.creationError(timeout, err)
	}
	i := newInstance(h.request.Name(), h.spec, started, h.lease, h.last, h.gone)
	i.hidden = hidden
	_, err = executor.Guard(timeout, i.handler,
		func() (struct{}, error) { return struct{}{}, i.restore(timeout) })
	if err != nil {
		return nil, errors.Join(h.creationError(timeout, err), i.close())
	}
	return i, nil
}

// creationError returns why the instance could not be created. It also says that the state of the
// last one is gone: there is no call on the next one that could.
func (h *hosting) creationError(ctx context.Context, err error) error {
	e := h.creationFailure(ctx, err)
	if note := lostState(h.request.Name(), h.last, h.gone); note != "" {
		e.Notes = append(e.Notes, note)
	}
	return e
}

func (h *hosting) creationFailure(ctx context.Context, err error) *api.Error {
	if cause := context.Cause(ctx); errors.Is(cause, executor.ErrTimeout) &&
		(errors.Is(err, cause) || errors.Is(err, ctx.Err())) {
		return api.Errorf(api.ErrTimeout, "the instance of %s was not created within %s",
			h.request.Name(), h.spec.Execution.Timeout)
	}
	e := executor.RedactorFromContext(ctx).Error(executor.ToolError(err, h.spec))
	e.Message = fmt.Sprintf("the instance of %s could not be created: %s", h.request.Name(), e.Message)
	return e
}
