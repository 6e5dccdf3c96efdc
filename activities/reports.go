package activities

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
)

// recentReports is how long before the end of a call progress has to be reported to be kept with
// the result. Heartbeats carry earlier reports.
const recentReports = time.Second

// reports collects what a tool reports during a call, for those who see the result only: heartbeats
// carry progress twice a second at most, and no log messages.
type reports struct {
	// inline says that nothing is collected: the call is over in an instant, and its record small.
	inline bool

	mu   sync.Mutex
	all  []report
	size int
}

type report struct {
	api.Report
	at   time.Time
	size int
}

// withCollector returns a context whose reports r collects, besides what they are for already.
func (r *reports) withCollector(outer context.Context) context.Context {
	if r.inline {
		return outer
	}
	ctx := callcontext.WithProgress(outer, func(p api.Progress) {
		callcontext.ReportProgress(outer, p)
		if p, ok := proper(p); ok {
			r.add(api.Report{Progress: &p})
		}
	})
	return callcontext.WithLog(ctx, func(l api.LogLine) {
		callcontext.Log(outer, l)
		r.add(api.Report{Log: &l})
	})
}

// add keeps a report, and drops the first ones if there are too many.
func (r *reports) add(what api.Report) {
	data, err := json.Marshal(what)
	if err != nil || len(data) > api.MaxReports {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, report{what, time.Now(), len(data) + 1})
	for r.size += len(data) + 1; r.size > api.MaxReports; r.all = r.all[1:] {
		r.size -= r.all[0].size
	}
}

// kept returns the reports for the result.
func (r *reports) kept() []api.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return nil
	}
	recent := time.Now().Add(-recentReports)
	var kept []api.Report
	for _, one := range r.all {
		if one.Progress == nil || one.at.After(recent) {
			kept = append(kept, one.Report)
		}
	}
	return slices.Clip(kept)
}
