package host

import (
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/switchyard/switchyard/api"
)

// laneCounts counts attempts at tool calls of this process by lane. For lanes with a limit the
// holders of slots also count, across workers and beyond the life of each.
type laneCounts struct {
	since time.Time

	mu    sync.Mutex
	lanes map[string]*api.LaneCounts
}

func newLaneCounts() *laneCounts {
	return &laneCounts{since: time.Now(), lanes: map[string]*api.LaneCounts{}}
}

// count counts the start of a call and returns a function that counts its end. Other activities are
// ignored. The wait of a later attempt is unknown.
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

// answer returns the result of ReportLanesActivity.
func (c *laneCounts) answer(worker string) api.WorkerLanes {
	a := api.WorkerLanes{Worker: worker, Since: c.since.UTC(), Lanes: map[string]api.LaneCounts{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, counts := range c.lanes {
		a.Lanes[name] = *counts
	}
	return a
}
