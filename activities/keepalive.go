package activities

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
)

const (
	// progressInterval is the minimum time between two heartbeats that report progress, and before
	// the first one.
	progressInterval = 500 * time.Millisecond
	// maxProgressMessage bounds the message of a progress report, in bytes.
	maxProgressMessage = 1 << 10
)

// keepAlive sends heartbeats for the activity of ctx until stop is called, so that tools do not
// have to: a lost worker is detected within the heartbeat timeout. It also keeps a cancelled call
// alive until it ends, because missing heartbeats would count as a lost worker. Short activities
// end before the first heartbeat. Every heartbeat carries the last progress reported to the
// returned context.
func keepAlive(ctx context.Context) (reporting context.Context, stop func()) {
	p := newPulse(ctx)
	if p == nil {
		return ctx, func() {}
	}
	return api.WithProgress(ctx, p.report), p.stop
}

// newPulse starts the heartbeats of the activity of ctx. It returns nil if none are expected, as
// for inline calls.
func newPulse(ctx context.Context) *pulse {
	info := activity.GetInfo(ctx)
	if info.HeartbeatTimeout <= 0 {
		return nil
	}
	p := &pulse{ctx: context.WithoutCancel(ctx), every: info.HeartbeatTimeout / 3,
		deadline: info.Deadline, last: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(p.every, p.beat)
	p.due = p.last.Add(p.every)
	return p
}

// pulse sends the heartbeats of one activity.
type pulse struct {
	ctx      context.Context
	every    time.Duration
	deadline time.Time

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	// last is the time of the last heartbeat, due that of the next.
	last, due time.Time
	// details are sent with every heartbeat: nothing or the last progress. A model step sends its
	// streamed text instead.
	details []any
	speech  *speech
}

func (p *pulse) beat() {
	p.mu.Lock()
	if p.stopped || !time.Now().Before(p.deadline) {
		p.mu.Unlock()
		return
	}
	details := p.details
	if p.speech != nil {
		details = []any{p.speech.live()}
	}
	p.last = time.Now()
	p.next(p.every)
	p.mu.Unlock()
	activity.RecordHeartbeat(p.ctx, details...)
}

// next schedules the next heartbeat. The caller holds the lock.
func (p *pulse) next(wait time.Duration) {
	p.due = time.Now().Add(wait)
	p.timer.Reset(wait)
}

// report records the tool's progress. It ignores numbers that JSON cannot represent.
func (p *pulse) report(progress api.Progress) {
	if unreal(progress.Done) || unreal(progress.Total) {
		return
	}
	progress.Message = executor.ValidText(progress.Message)
	progress.Message = progress.Message[:executor.FittingPrefix(progress.Message,
		maxProgressMessage)]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.details = []any{progress}
	p.hasten(progressInterval)
}

// hasten schedules the next heartbeat at pace after the last one, unless it is due earlier. The
// caller holds the lock.
func (p *pulse) hasten(pace time.Duration) {
	if soon := max(0, time.Until(p.last.Add(pace))); !p.stopped &&
		time.Now().Add(soon).Before(p.due) {
		p.next(soon)
	}
}

func unreal(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) }

func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.timer.Stop()
}
