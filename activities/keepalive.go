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
	// progressInterval is the least time between two heartbeats that tell of progress, and before
	// the first.
	progressInterval = 500 * time.Millisecond
	// maxProgressMessage bounds the message of a report, in bytes.
	maxProgressMessage = 1 << 10
)

// keepAlive heartbeats for the activity of ctx until stop is called, so that no tool's author has
// to: a lost worker is noticed within the heartbeat timeout. A call that was cancelled is kept
// alive too, for as long as it takes to end: its silence would count as a lost worker. Short
// activities end before the first beat and cost nothing.
//
// Every beat carries the last progress that was reported to the returned context.
func keepAlive(ctx context.Context) (reporting context.Context, stop func()) {
	p := newPulse(ctx)
	if p == nil {
		return ctx, func() {}
	}
	return api.WithProgress(ctx, p.report), p.stop
}

// newPulse begins the heartbeats of the activity of ctx; nil where nobody waits for any, as of what
// runs inline.
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

// pulse is the heartbeat of one activity.
type pulse struct {
	ctx      context.Context
	every    time.Duration
	deadline time.Time

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	// last and due are when the last beat was and the next one is.
	last, due time.Time
	// details are those of every beat: nothing, or the last progress. A model step has its speech
	// in place of them.
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

// next sets when the next beat is. The caller has the lock.
func (p *pulse) next(wait time.Duration) {
	p.due = time.Now().Add(wait)
	p.timer.Reset(wait)
}

// report takes what the tool says of its progress. Numbers that JSON cannot hold say nothing.
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

// hasten has the next beat follow the last one after pace, unless it is due before. The caller has
// the lock.
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
