package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Config configures a Server.
type Config struct {
	Client client.Client
	// Identity is the identity of the process's workers, as the server records it.
	Identity string
	// Lanes returns the currently configured lanes.
	Lanes func() *lanes.Set
	// ServeQueue starts a worker for a task queue of a lane with a limit; nil rejects such lanes.
	ServeQueue ServeQueue
	// Excess reports whether a call that is about to start is one too many for the worker's limit
	// over all lanes; nil if there is no limit. Each call asks once.
	Excess func() bool
	// Exit ends the process if a call continues after its lane's lease has ended.
	Exit func()
	// Tool executes calls, Model executes model steps.
	Tool  func(context.Context, converter.EncodedValues) (api.Result, error)
	Model func(context.Context, api.ModelRequest) (api.ModelResponse, error)
}

// Server serves the slots of lanes in one process.
type Server struct {
	config Config
	owned  *ownedSlots
	unkept func()
}

// New returns a server that owns no slots yet.
func New(c Config) *Server {
	return &Server{config: c, owned: newOwnedSlots(), unkept: func() {}}
}

// OnUnkept sets a function to call when the server no longer knows the activity of a group, because
// the lane's keeper may be gone. It must be set before slots are served and does not block.
func (a *Server) OnUnkept(check func()) { a.unkept = check }

const (
	// slotsReleased is the error type with which a group of slots moves to another worker
	// immediately.
	slotsReleased = "slots_released"
	// atOnce is the wait before such a group is offered again; zero would select the retry
	// policy's. declinedWait is the wait after this worker declined a group.
	atOnce       = time.Millisecond
	declinedWait = 100 * time.Millisecond
)

// Serve implements the activity api.ServeSlotsActivity: it serves a lane with one group of its
// slots or keys until the lane's keeper no longer needs the group, the worker stops, or this
// process can no longer prove that it owns the group. It then stops its calls before another worker
// can take over; if a call does not stop, the lane's configuration decides whether the process
// exits.
//
// It completes with its SlotsState when the group is no longer needed. Every failure leads to
// another attempt, on any worker.
func (a *Server) Serve(ctx context.Context, r lanerules.SlotsRequest) (lanerules.SlotsState,
	error) {
	info := activity.GetInfo(ctx)
	h := &slotGroup{Server: a, request: r, log: activity.GetLogger(ctx), since: time.Now(),
		namespace: info.Namespace, queue: info.TaskQueue,
		failed: make(chan error, 1)}
	if a.config.ServeQueue == nil {
		return lanerules.SlotsState{}, errors.New("this worker serves no lanes with a limit")
	}
	if a.owned.declines(h.queue, r.Group, h.since) {
		return lanerules.SlotsState{}, newReleaseError(releaseShared, declinedWait)
	}
	h.restore(ctx, int64(info.Attempt))
	h.configure()
	h.lease = lease.New(a.config.Client, info.TaskToken, info.HeartbeatTimeout,
		func() any { return h.tell() })
	if err := h.lease.First(ctx); err != nil {
		if errors.Is(err, lease.ErrHostCancelled) {
			return h.state(), nil
		}
		return lanerules.SlotsState{}, fmt.Errorf("the first heartbeat did not arrive: %w", err)
	}
	a.owned.add(h)
	defer a.owned.remove(h)
	h.log.Info("slots taken", h.fields()...)
	go h.guard()
	return h.finish(ctx, h.keep(ctx))
}

// slotGroup is one execution of Serve.
type slotGroup struct {
	*Server
	request lanerules.SlotsRequest
	log     lease.Logger
	lease   *lease.Lease
	since   time.Time
	// beaten is when the last heartbeat was sent.
	beaten time.Time
	fence  int64
	failed chan error
	// namespace and queue are where the group is offered; workers are the other workers that had
	// polled for slots there at the time shared.
	namespace, queue string
	workers          []string
	shared           time.Time
	// left means that the worker stops while its process continues.
	left atomic.Bool

	mu   sync.Mutex
	lane api.Lane
	// queues are the served task queues.
	queues []*slotQueue
	// counts are those of earlier holders.
	counts lanerules.Counts
	// told is the state in the last heartbeat.
	told lanerules.SlotsState
}

// restore takes over the state that the previous holder recorded.
func (h *slotGroup) restore(ctx context.Context, attempt int64) {
	var last lanerules.SlotsState
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &last); err != nil {
			h.log.Warn("what the holder before counted cannot be read", append(h.fields(), "error",
				err)...)
		}
	}
	// An operator's reset restarts the attempt count; only the heartbeats keep the fencing number.
	h.fence = max(h.request.Fence+attempt, last.Fence+1)
	h.counts = last.Counts
	h.counts.Running, h.counts.Waiting, h.counts.Keys = 0, 0, 0
}

func (h *slotGroup) fields() []any {
	return []any{"lane", h.request.Lane.Name, "group", h.request.Group + 1, "of",
		h.request.Lane.Holders, "fence", h.fence}
}

// configure applies the lane's current configuration. The keeper decides the number of groups.
func (h *slotGroup) configure() {
	lane, known := h.config.Lanes().Lane(h.request.Lane.Name)
	if !known || !lane.HasLimit() || lane.HasKey() != h.request.Lane.HasKey() {
		lane = lanes.WithDefaults(h.request.Lane) // until the keeper hears of it
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	changed := !reflect.DeepEqual(lane, h.lane)
	h.lane = lane
	for _, q := range h.queues {
		if changed || !q.polls() {
			// this may query the server, which must not delay heartbeats
			go q.configure(lane)
		}
	}
}

// share returns how many calls of a queue this holder runs at a time.
func (h *slotGroup) share(lane api.Lane) int {
	return lanerules.Share(lane, h.request.Group, max(h.request.Lane.Holders, 1))
}

// state returns the details of heartbeats.
func (h *slotGroup) state() lanerules.SlotsState {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := lanerules.SlotsState{Fence: h.fence, Since: h.since.UnixMilli(), Slots: h.share(h.lane),
		Counts: h.counts}
	for _, q := range h.queues {
		q.addTo(&s.Counts)
	}
	return s
}

// release is why a group is given up.
type release string

const (
	// releaseUnneeded: the keeper no longer needs the group.
	releaseUnneeded release = "the lane is divided otherwise now, or has no limit any more"
	// releaseStopped: the worker stops.
	releaseStopped release = "the worker stops"
	// releaseLost: this process can no longer prove that it owns the group.
	releaseLost release = "the lease is over"
	// releaseShared: another worker has arrived that has none of the lane's groups.
	releaseShared release = "another worker is to have it"
	// releaseFailed: the lane's task queue cannot be served.
	releaseFailed release = "its task queue cannot be served"
)

// keep serves the lane until there is a reason to stop.
func (h *slotGroup) keep(ctx context.Context) release {
	h.serve()
	tick := time.NewTicker(min(h.lease.Interval(), lookInterval))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if temporal.IsCanceledError(context.Cause(ctx)) {
				return releaseUnneeded
			}
			return releaseStopped
		case <-activity.GetWorkerStopChannel(ctx):
			return releaseStopped
		case <-h.lease.Lost:
			return releaseLost
		case err := <-h.failed:
			h.log.Warn("the lane's task queue cannot be served", append(h.fields(), "error",
				err)...)
			return releaseFailed
		case <-tick.C:
			if why := h.look(ctx); why != "" {
				return why
			}
		}
	}
}

// serve starts to serve the task queues of the group.
func (h *slotGroup) serve() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, queue := range lanerules.GroupQueues(h.lane, h.request.Base, h.request.Group,
		h.request.Lane.Holders) {
		h.start(queue)
	}
}

// finish stops serving the lane, and reports when no call runs that another holder's could overlap.
func (h *slotGroup) finish(ctx context.Context, why release) (lanerules.SlotsState, error) {
	if why == releaseLost {
		h.lease.GiveUp(lease.ErrOver)
	}
	h.wait(ctx, h.stopAll(why))
	_ = h.beat(ctx) // the next holder goes on counting from here
	state := h.state()
	h.lease.GiveUp(lease.ErrOver)
	h.tellRelease(why)
	if why == releaseUnneeded {
		return state, nil
	}
	if why == releaseShared {
		h.owned.gaveUp(h, time.Now())
	}
	return state, newReleaseError(why, atOnce)
}

// tellRelease logs that the group was given up. It names an outage of the server as the reason.
func (h *slotGroup) tellRelease(why release) {
	fields := append(h.fields(), "why", string(why))
	silence, unanswered := h.lease.Silence()
	if why == releaseLost && unanswered {
		h.log.Warn("slots given up: no connection to Temporal", append(fields, "for",
			silence.Round(time.Millisecond))...)
		return
	}
	h.log.Info("slots given up", fields...)
}

// newReleaseError is the failure that makes the server offer a group again after a delay.
func newReleaseError(why release, after time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("the worker gave up its slots: "+string(why),
		slotsReleased,
		temporal.ApplicationErrorOptions{NextRetryDelay: after,
			Category: temporal.ApplicationErrorCategoryBenign})
}

// wait renews the lease while calls finish. It returns when none runs or when the lease has also
// ended at the server; returning earlier would hand over slots that calls still use.
func (h *slotGroup) wait(ctx context.Context, stopped <-chan struct{}) {
	tick := time.NewTicker(h.lease.Interval())
	defer tick.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-h.lease.Lost:
			select {
			case <-stopped:
			case <-time.After(h.lease.Margin()):
			}
			return
		case <-tick.C:
			if errors.Is(h.beat(ctx), lease.ErrHostGone) { // another holder may start at any time
				h.unkept()
				h.lease.GiveUp(lease.ErrOver)
			}
		}
	}
}

// stopAll stops serving all queues. Running calls may finish, unless the lease is lost or the
// stopping process reaches its stop timeout. The channel is closed when no call runs any more.
func (h *slotGroup) stopAll(why release) <-chan struct{} {
	h.mu.Lock()
	patient := why == releaseUnneeded || why == releaseShared || why == releaseStopped &&
		h.left.Load()
	var all sync.WaitGroup
	for _, q := range h.queues {
		q.close()
		all.Go(func() { q.stop(patient) })
	}
	h.mu.Unlock()
	stopped := make(chan struct{})
	go func() {
		all.Wait()
		close(stopped)
	}()
	return stopped
}

// guard ensures that no call continues after the lease has ended, whatever else blocks this holder.
func (h *slotGroup) guard() {
	<-h.lease.Lost
	time.AfterFunc(h.lease.Margin()*3/4, h.exitIfBusy)
}

// exitIfBusy ends the process if calls continue after the lease has ended, because the next
// holder's calls must not overlap them.
func (h *slotGroup) exitIfBusy() {
	h.mu.Lock()
	lane := h.lane
	h.mu.Unlock()
	running := h.state().Running
	if running == 0 || cmp.Or(lane.OnLostLease, api.OnLostLeaseExit) != api.OnLostLeaseExit {
		return
	}
	silence, _ := h.lease.Silence()
	h.log.Warn("calls did not stop when the lease of their lane was over; this process ends, so that they cannot overlap the next holder's (on_lost_lease: exit)",
		append(h.fields(), "running", running, "silence", silence.Round(time.Millisecond))...)
	h.config.Exit()
}
