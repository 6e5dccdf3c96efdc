package console

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
)

const (
	// watchEvery is how often a run with open pages is looked at. maxWatches bounds such runs, and
	// maxWatchesEach those of one person.
	watchEvery     = time.Second
	maxWatches     = 128
	maxWatchesEach = 16
)

// watches look at runs that pages are open for, each run once for all browsers.
type watches struct {
	backend backend
	// took returns how long a run was read for its pages: they read it again after each change.
	took  func(runRef) time.Duration
	ctx   context.Context
	close context.CancelFunc
	mu    sync.Mutex
	runs  map[runRef]*watch
}

type watch struct {
	changed chan struct{}
	pages   map[string]int // of each person
	cancel  context.CancelFunc
}

func newWatches(b backend, took func(runRef) time.Duration) *watches {
	ctx, cancel := context.WithCancel(context.Background())
	return &watches{backend: b, took: took, ctx: ctx, close: cancel, runs: map[runRef]*watch{}}
}

// follow starts to look at a run if no page does yet. ok is false if there are too many runs, or
// too many with pages of that person.
func (w *watches) follow(run runRef, who string) (changed func() <-chan struct{}, done func(),
	ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.runs[run]
	if one == nil && len(w.runs) >= maxWatches ||
		(one == nil || one.pages[who] == 0) && w.of(who) >= maxWatchesEach {
		return nil, nil, false
	}
	if one == nil {
		ctx, cancel := context.WithCancel(w.ctx)
		one = &watch{changed: make(chan struct{}), pages: map[string]int{}, cancel: cancel}
		w.runs[run] = one
		go w.look(ctx, run, one)
	}
	one.pages[who]++
	return func() <-chan struct{} {
		w.mu.Lock()
		defer w.mu.Unlock()
		return one.changed
	}, func() { w.leave(run, one, who) }, true
}

// of returns how many runs a person has open pages of.
func (w *watches) of(who string) (n int) {
	for _, one := range w.runs {
		if one.pages[who] > 0 {
			n++
		}
	}
	return n
}

// leave ends one page of a person, and the watch with its last page.
func (w *watches) leave(run runRef, one *watch, who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.pages[who]--; one.pages[who] == 0 {
		delete(one.pages, who)
	}
	if len(one.pages) == 0 {
		one.cancel()
		w.forget(run, one)
	}
}

// forget removes a watch, unless another one has taken its place. w.mu is held.
func (w *watches) forget(run runRef, one *watch) {
	if w.runs[run] == one {
		delete(w.runs, run)
	}
}

// look tells about changes of a run until ctx ends or the run has ended. The ID of a session's run
// is used again, so that pages opened later need another watch.
func (w *watches) look(ctx context.Context, run runRef, one *watch) {
	last, first := "", true
	for pause := watchEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		state, ended, err := w.state(ctx, run)
		if pause = watchEvery; err == nil {
			pause = max(watchEvery, 4*(time.Since(began)+w.took(run)))
		}
		w.tell(run, one, state != last && !first || first && ended, ended)
		last, first = state, false
		if ended {
			return
		}
	}
}

// tell tells the pages of a watch about a change, and forgets a watch whose run has ended.
func (w *watches) tell(run runRef, one *watch, changed, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ended {
		w.forget(run, one)
	}
	if changed {
		close(one.changed)
		one.changed = make(chan struct{})
	}
}

// state identifies what a page of the run shows, or why it cannot be read.
func (w *watches) state(ctx context.Context, run runRef) (state string, ended bool, err error) {
	s, err := containPanics(ctx, func() (history.Summary,
		error) {
		return w.backend.outline(ctx, run)
	})
	if err != nil {
		status, _ := explain(err)
		return fmt.Sprint("error ", status), false, err
	}
	if !s.Closed.IsZero() {
		return "ended", true, nil
	}
	pending, err := w.backend.listPending(ctx, run)
	if err != nil {
		pending = nil // the history still tells what changed
	}
	var b strings.Builder
	for _, part := range s.Parts {
		fmt.Fprint(&b, part.RunID, part.HistoryEvents, s.Status)
	}
	for _, r := range pending {
		fmt.Fprint(&b, "\n", r.ID, r.State, r.Attempt, describeProgress(r))
	}
	return b.String(), false, nil
}

// describeProgress identifies how far something has come.
func describeProgress(r audit.Running) string {
	switch {
	case r.Live != nil:
		return fmt.Sprint(r.Live.Attempt, r.Live.Until())
	case r.Progress != nil:
		return fmt.Sprint(r.Progress.Done, r.Progress.Message)
	}
	return ""
}
