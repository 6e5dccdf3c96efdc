package host

import (
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
)

// laneCounts counts the attempts at tool calls of this process by lane. Of lanes with a limit the holders of their slots
// count too, over all workers and for longer than one of them lives.
type laneCounts struct {
	since time.Time

	mu    sync.Mutex
	lanes map[string]*api.LaneCounts
}

func newLaneCounts() *laneCounts {
	return &laneCounts{since: time.Now(), lanes: map[string]*api.LaneCounts{}}
}

// count counts an activity, if it is a call, and returns what is to be called when it has ended. The wait of a later attempt
// is not known.
func (c *laneCounts) count(lane string, info activity.Info) (ended func()) {
	if api.CheckToolName(info.ActivityType.Name) != nil {
		return func() {}
	}
	if info.IsLocalActivity {
		lane = api.LaneInline
	}
	var waited time.Duration
	if info.Attempt == 1 {
		waited = max(info.StartedTime.Sub(info.ScheduledTime), 0)
	}
	began := time.Now()
	c.change(lane, func(l *api.LaneCounts) {
		l.Running++
		l.Acquired++
	})
	return func() {
		c.change(lane, func(l *api.LaneCounts) {
			l.Running--
			l.Ended++
			l.WaitMicros += waited.Microseconds()
			l.ExecutionMicros += time.Since(began).Microseconds()
		})
	}
}

func (c *laneCounts) change(lane string, change func(*api.LaneCounts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lanes[lane] == nil {
		c.lanes[lane] = &api.LaneCounts{}
	}
	change(c.lanes[lane])
}

// answer is the result of LanesActivity.
func (c *laneCounts) answer(worker string) api.WorkerLanes {
	a := api.WorkerLanes{Worker: worker, Since: c.since.UTC(), Lanes: map[string]api.LaneCounts{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, counts := range c.lanes {
		a.Lanes[name] = *counts
	}
	return a
}
