package activities

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const (
	// progressInterval is the minimum time between two heartbeats that report progress, and before
	// the first one.
	progressInterval = 500 * time.Millisecond
	// maxProgressMessage bounds the message of a progress report, in bytes.
	maxProgressMessage = 1 << 10
)

// maxBeatInterval bounds the time between two heartbeats of an activity. A call whose tool allows a
// long silence still learns of its cancellation within this time on servers that do not push it,
// and has several heartbeats left when the server returns after an outage.
const maxBeatInterval = 5 * time.Second

const (
	// beatRetry is the wait after a heartbeat that the server did not answer.
	beatRetry = time.Second
	// maxBeatWait bounds the wait for the answer to one heartbeat.
	maxBeatWait = 10 * time.Second
)

// keepAlive sends heartbeats for the activity of ctx until stop is called, so that tools do not
// have to: a lost worker is detected within the heartbeat timeout. It also keeps a cancelled call
// alive until it ends, because missing heartbeats would count as a lost worker. Short activities
// end before the first heartbeat. Every heartbeat carries the last progress reported to the
// returned context.
func keepAlive(ctx context.Context, c client.Client) (reporting context.Context, stop func()) {
	p := newPulse(ctx, c)
	return p.withProgress(ctx), p.stop
}

// withProgress returns a context whose progress the heartbeats carry.
func (p *pulse) withProgress(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return callcontext.WithProgress(ctx, p.report)
}

// newPulse starts the heartbeats of the activity of ctx. It returns nil if none are expected, as
// for inline calls.
func newPulse(ctx context.Context, c client.Client) *pulse {
	info := activity.GetInfo(ctx)
	if info.HeartbeatTimeout <= 0 {
		return nil
	}
	p := &pulse{client: c, every: min(info.HeartbeatTimeout/3, maxBeatInterval),
		deadline: info.Deadline, last: time.Now()}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(p.every, p.beat)
	p.due = p.last.Add(p.every)
	return p
}

// heartbeat sends a heartbeat of the activity of ctx and waits at most maxWait for the answer. The
// SDK's own heartbeats cancel the activity when the server does not answer for a second. An
// activity that could have survived the outage would be lost, so only the server's word ends it.
//
// Without a client, in tests, the SDK sends it.
func heartbeat(ctx context.Context, c client.Client, maxWait time.Duration, details ...any) error {
	if c == nil {
		activity.RecordHeartbeat(ctx, details...)
		return nil
	}
	within, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	err := c.RecordActivityHeartbeat(within, activity.GetInfo(ctx).TaskToken, details...)
	if endsActivity(err) {
		// The SDK gets the same answer and ends the activity with the right cause.
		activity.RecordHeartbeat(ctx, details...)
		return nil
	}
	return err
}

// endsActivity reports whether the answer to a heartbeat ends the activity: it was cancelled,
// paused or reset, or the server no longer knows it. All other errors are about the connection.
func endsActivity(err error) bool {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	return gone || temporal.IsCanceledError(err) || errors.Is(err, activity.ErrActivityPaused) ||
		errors.Is(err, activity.ErrActivityReset)
}

// pulse sends the heartbeats of one activity, one at a time.
type pulse struct {
	ctx      context.Context
	cancel   context.CancelFunc
	client   client.Client
	every    time.Duration
	deadline time.Time

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	// sending is set while a heartbeat is in flight. hurry is then the pace of the next one; zero
	// means the usual one.
	sending bool
	hurry   time.Duration
	// last is the time of the last heartbeat, due that of the next.
	last, due time.Time
	// Every heartbeat carries the last progress and the remote task that the call waits for, if
	// any. A model step sends its streamed text instead. taskOver is set if the call waits for its
	// task no more, notes are those of a failure, should the worker be lost, harmless is the number
	// of attempts that had no effect, acted is set if one may have had one. saving are the waits
	// for a heartbeat that carries such facts.
	progress *api.Progress
	task     *api.RemoteTask
	taskOver bool
	notes    []string
	harmless int32
	acted    bool
	saving   []chan struct{}
	speech   *speech
}

func (p *pulse) beat() {
	p.mu.Lock()
	if p.stopped || p.sending || !time.Now().Before(p.deadline) {
		p.mu.Unlock()
		return
	}
	details, saving := p.heartbeatDetails(), p.saving
	p.last, p.sending, p.hurry, p.saving = time.Now(), true, 0, nil
	p.mu.Unlock()
	err := heartbeat(p.ctx, p.client, min(max(p.every, beatRetry), maxBeatWait), details...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sending = false
	p.endWaits(saving, err)
	if p.stopped {
		return
	}
	p.next(p.pause(err))
}

// pause returns the wait for the next heartbeat after one with that outcome. The caller holds the
// lock.
func (p *pulse) pause(err error) time.Duration {
	pace := p.every
	if err != nil {
		pace = min(pace, beatRetry)
	}
	if p.hurry > 0 {
		pace = min(pace, p.hurry)
	}
	return max(0, time.Until(p.last.Add(pace)))
}

// next schedules the next heartbeat. The caller holds the lock.
func (p *pulse) next(wait time.Duration) {
	p.due = time.Now().Add(wait)
	p.timer.Reset(wait)
}

// report records the tool's progress. It ignores numbers that JSON cannot represent.
func (p *pulse) report(progress api.Progress) {
	progress, ok := proper(progress)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress = &progress
	p.hasten(progressInterval)
}

// proper returns progress as others may see it; false for numbers that JSON cannot represent.
func proper(progress api.Progress) (api.Progress, bool) {
	progress.Message = executor.ValidText(progress.Message)
	progress.Message = progress.Message[:executor.FittingPrefix(progress.Message,
		maxProgressMessage)]
	return progress, !unreal(progress.Done) && !unreal(progress.Total)
}

// hasten schedules the next heartbeat at pace after the last one, unless it is due earlier. The
// caller holds the lock.
func (p *pulse) hasten(pace time.Duration) {
	if p.sending {
		p.hurry = pace
		return
	}
	if soon := max(0, time.Until(p.last.Add(pace))); !p.stopped &&
		time.Now().Add(soon).Before(p.due) {
		p.next(soon)
	}
}

func unreal(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) }

func (p *pulse) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.timer.Stop()
	p.cancel()
}
