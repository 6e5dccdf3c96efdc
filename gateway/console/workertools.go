package console

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"golang.org/x/sync/singleflight"
)

const (
	// askEvery is how long an answer of the workers is shown before they are asked again.
	askEvery = 30 * time.Second
	// askWithin bounds the time to ask them.
	askWithin = 30 * time.Second
)

// workersView is what the workers have, as they last said.
type workersView struct {
	Workers []workerreport.Catalog
	// Asked is when they answered. Failed says that they could not be asked since.
	Asked  time.Time
	Failed bool
	report workerreport.Report
}

// workerTools asks the workers for their tools, once for all browsers, when somebody looks.
type workerTools struct {
	ask    func(context.Context) (workerreport.Report, error)
	asking singleflight.Group
	mu     sync.Mutex
	last   workersView
	tried  time.Time
}

// current returns the last answer, after a moment if it is old. It is the zero view before the
// first answer, and if the console cannot ask.
func (w *workerTools) current(ctx context.Context) workersView {
	w.mu.Lock()
	last, old := w.last, time.Since(w.tried) >= askEvery
	w.mu.Unlock()
	if w.ask == nil || !old {
		return last
	}
	readTogether(ctx, &w.asking, w.refresh)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// refresh asks the workers. The answer is for all who look, so it does not end with a request.
func (w *workerTools) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	report, err := containPanics(ctx, func() (workerreport.Report, error) { return w.ask(ctx) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = time.Now()
	if w.last.Failed = err != nil; err == nil {
		w.last = workersView{Workers: report.Workers, Asked: w.tried, report: report}
	}
}

// foundTool is a version of a tool, or its absence, on workers.
type foundTool struct {
	Version string
	// Same says that it is the version of the gateway. Otherwise Missing says that the workers do
	// not have the tool, or they have another one under that version.
	Same, Missing bool
	Workers       []string
}

// of returns which workers have which version of a tool.
func (v workersView) of(name, digest string) (found []foundTool) {
	for _, w := range v.Workers {
		tools := v.report.Catalogs[w.Digest]
		if w.Failure != "" || len(tools) != w.Tools {
			continue // it did not answer, or has too many tools to list
		}
		one := foundTool{Missing: true}
		if i, has := slices.BinarySearchFunc(tools, name, func(t workerreport.ToolVersion,
			name string) int {
			return strings.Compare(t.Name, name)
		}); has {
			one = foundTool{Version: tools[i].Version, Same: tools[i].Digest == digest}
		}
		at := slices.IndexFunc(found, func(f foundTool) bool {
			return f.Version == one.Version && f.Same == one.Same && f.Missing == one.Missing
		})
		if at < 0 {
			at, found = len(found), append(found, one)
		}
		found[at].Workers = append(found[at].Workers, w.Worker)
	}
	return found
}
