package audit

import (
	"context"
	"iter"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

const (
	// mergeDelay is the time after which no earlier event of another open run is expected: events
	// are read as soon as the server has them.
	mergeDelay = time.Second
	// findPace is the interval for looking up the run of a sub-agent that is about to start.
	findPace = 200 * time.Millisecond
)

// FollowTree is Follow for a run and the runs of all its sub-agents. Events have the order of their
// times, those of one time the order of their paths, and are numbered in it (TreeSequence). The
// order is the same each time the tree is read from the start. While several runs are open, an
// event is yielded up to a second late, because another run may have an earlier one.
//
// If the history of a sub-agent is deleted or cannot be decoded, FollowTree yields the other events
// and then ErrNotFound or ErrUnreadable.
func FollowTree(ctx context.Context, c client.Client,
	workflowID, runID string) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		reading, stop := context.WithCancel(ctx)
		defer stop()
		t := &treeFollower{client: c, arrivals: make(chan treeArrival)}
		t.begin(reading, &branch{id: workflowID, found: make(chan string, 1)}, runID)
		if err := t.follow(reading, yield); err != nil {
			yield(api.Event{}, err)
		}
	}
}

// treeFollower merges the events of the runs of a tree.
type treeFollower struct {
	client   client.Client
	arrivals chan treeArrival
	branches []*branch
	// sequence is the number of the last event.
	sequence int
	// gone is why a run could not be read.
	gone error
}

// branch is one run of the tree.
type branch struct {
	id string
	// path is that of the call which the run executes, parentRun the execution that made this
	// call. Both are empty for the run at the top.
	path, parentRun string
	// found takes the run's ID when the call has ended; empty if the run never started.
	found chan string
	// children are the open runs of its sub-agents by call.
	children map[string]*branch
	// latest is the time of its last event, and no event of it is earlier.
	latest time.Time
	queue  []branchEvent
	// current is when its reader had read all present events; zero before that.
	current time.Time
	ended   bool
}

// branchEvent is an event that waits for its turn.
type branchEvent struct {
	api.Event
	// at is its time in the tree: that of the event, and not before an earlier event of its run.
	at, arrived time.Time
}

// treeArrival is news of a branch: an event, that its present events are read, or its end.
type treeArrival struct {
	branch  *branch
	event   *api.Event
	current bool
	err     error
}

// begin starts to read a run.
func (t *treeFollower) begin(ctx context.Context, b *branch, runID string) {
	b.children = map[string]*branch{}
	t.branches = append(t.branches, b)
	tell := func(a treeArrival) bool {
		a.branch = b
		select {
		case t.arrivals <- a:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		if b.path != "" {
			runID = t.find(ctx, b)
			if runID == "" {
				tell(treeArrival{})
				return
			}
		}
		t.read(ctx, b.id, runID, tell)
	}()
}

// find waits for the run of a sub-agent's call, and returns its ID; empty if it never starts.
func (t *treeFollower) find(ctx context.Context, b *branch) string {
	tick := time.NewTicker(findPace)
	defer tick.Stop()
	for {
		info, err := describe(ctx, t.client, b.id, "")
		e := info.GetWorkflowExecutionInfo()
		if err == nil && e.GetParentExecution().GetRunId() == b.parentRun {
			return firstRun(info)
		}
		select {
		case runID := <-b.found:
			return runID
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
	}
}

// read tells the present events of a run, and then those that follow.
func (t *treeFollower) read(ctx context.Context, id, runID string, tell func(treeArrival) bool) {
	s := Subscribe(t.client, Position{WorkflowID: id, Run: runID})
	for _, events := range []func(context.Context) iter.Seq2[api.Event, error]{s.Read, s.Events} {
		for event, err := range events(ctx) {
			if err != nil {
				tell(treeArrival{err: err})
				return
			}
			if !tell(treeArrival{event: &event}) {
				return
			}
		}
		if s.Summary().Status != history.RunRunning || !tell(treeArrival{current: true}) {
			break
		}
	}
	tell(treeArrival{})
}

// follow yields the events of the tree until all its runs are closed or the reader stops.
func (t *treeFollower) follow(ctx context.Context, yield func(api.Event, error) bool) error {
	for {
		wait, more := t.emit(yield)
		switch {
		case !more:
			return nil
		case t.done():
			return t.gone
		}
		select {
		case a := <-t.arrivals:
			if err := t.take(ctx, a); err != nil {
				return err
			}
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *treeFollower) done() bool {
	for _, b := range t.branches {
		if !b.ended || len(b.queue) > 0 {
			return false
		}
	}
	return true
}

// take takes what a reader tells. It returns an error that prevents reading the tree.
func (t *treeFollower) take(ctx context.Context, a treeArrival) error {
	b := a.branch
	switch {
	case a.event != nil:
		t.queue(ctx, b, *a.event)
	case a.current:
		b.current = time.Now()
	case a.err != nil && !IsMissing(a.err):
		return a.err
	default:
		if a.err != nil {
			t.gone = WorstError(t.gone, a.err)
		}
		b.ended = true
		for _, child := range b.children {
			child.found <- ""
		}
	}
	return nil
}

// queue adds an event of a branch, and begins or ends the search for the run of a sub-agent.
func (t *treeFollower) queue(ctx context.Context, b *branch, e api.Event) {
	e.Parent = b.path
	if e.Time.After(b.latest) {
		b.latest = e.Time
	}
	b.queue = append(b.queue, branchEvent{Event: e, at: b.latest, arrived: time.Now()})
	switch child := b.children[e.CallID]; {
	case e.Type == api.EventToolStarted && e.Child != nil && child == nil:
		child = &branch{id: e.Child.WorkflowID, path: api.CallPath(b.path, e.CallID),
			parentRun: e.RunID, latest: b.latest, found: make(chan string, 1)}
		b.children[e.CallID] = child
		t.begin(ctx, child, "")
	case e.Type != api.EventToolStarted && e.Record != nil && child != nil:
		delete(b.children, e.CallID)
		runID := ""
		if e.Record.Child != nil {
			runID = e.Record.Child.RunID
		}
		child.found <- runID
	}
}

// emit yields the events whose turn it is. If the next one only waits for time to pass, wait
// receives when it has; more is false if the reader has stopped.
func (t *treeFollower) emit(yield func(api.Event, error) bool) (wait <-chan time.Time, more bool) {
	for {
		next := t.next()
		if next == nil {
			return nil, true
		}
		left, known := t.remainingDelay(next)
		switch {
		case !known:
			return nil, true
		case left > 0:
			return time.After(left), true
		}
		e := next.queue[0].Event
		next.queue = next.queue[1:]
		t.sequence++
		e.TreeSequence = t.sequence
		if !yield(e, nil) {
			return nil, false
		}
	}
}

// next returns the branch with the first event; nil if there is none.
func (t *treeFollower) next() (first *branch) {
	for _, b := range t.branches {
		if len(b.queue) > 0 && (first == nil || b.before(first)) {
			first = b
		}
	}
	return first
}

// before reports whether the first event of b is before that of another branch.
func (b *branch) before(other *branch) bool {
	order := b.queue[0].at.Compare(other.queue[0].at)
	return order < 0 || order == 0 && b.path < other.path
}

// remainingDelay returns how long other runs may still have events before the first one of a
// branch. known is false while one of them has events that are not read.
func (t *treeFollower) remainingDelay(first *branch) (left time.Duration, known bool) {
	for _, b := range t.branches {
		if b.ended || len(b.queue) > 0 {
			continue
		}
		if b.current.IsZero() {
			return 0, false
		}
		since := first.queue[0].arrived
		if b.current.After(since) {
			since = b.current
		}
		left = max(left, mergeDelay-time.Since(since))
	}
	return left, true
}
