package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

const (
	// patience is how long a task waits for a worker before its queue is checked.
	patience = time.Second
	// recheck is the interval between two checks of one queue.
	recheck = 5 * time.Second
	// workerTimeout is how long a run may wait for a worker.
	workerTimeout = time.Minute
)

// laneWatch detects lanes without workers on which tasks wait.
type laneWatch struct {
	client    client.Client
	namespace string
	// queue is the task queue of the run.
	queue      string
	invocation cli.Invocation
	checked    map[string]time.Time
	reported   map[string]bool
	// givesUp is set if the command gives up without a worker.
	givesUp bool
}

func newLaneWatch(c client.Client, namespace, queue string, inv cli.Invocation) *laneWatch {
	return &laneWatch{client: c, namespace: namespace, queue: queue, invocation: inv,
		checked: map[string]time.Time{}, reported: map[string]bool{}}
}

// check returns a note for each unserved lane that was not reported before.
func (l *laneWatch) check(ctx context.Context, running []audit.Running, now time.Time) []string {
	var notes []string
	for _, r := range running {
		if r.State != audit.StateWaiting || r.Queue == "" || now.Sub(r.Since) < patience ||
			now.Sub(l.checked[r.Queue]) < recheck {
			continue
		}
		l.checked[r.Queue] = now
		kind := enumspb.TASK_QUEUE_TYPE_ACTIVITY
		if r.Kind == audit.KindRun {
			kind = enumspb.TASK_QUEUE_TYPE_WORKFLOW
		}
		served, err := l.isServed(ctx, r.Queue, kind)
		if err != nil {
			continue // doctor tells why
		}
		if note := l.note(r, served); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// checkTimeout returns an error if nothing of a run happens and a task has waited for workerTimeout
// on a queue that no worker served at the last check. runID may be empty.
func (l *laneWatch) checkTimeout(id, runID string, running []audit.Running, now time.Time) error {
	waits := func(r audit.Running) bool { return r.State == audit.StateWaiting }
	if !l.givesUp || slices.ContainsFunc(running, func(r audit.Running) bool {
		return !waits(r)
	}) {
		return nil
	}
	for _, r := range running {
		if !l.reported[r.Queue] || now.Sub(r.Since) < workerTimeout {
			continue
		}
		what, lane := "", ""
		if r.Kind != audit.KindRun {
			lane = r.Lane
			what = fmt.Sprintf("the lane %q, ", cli.LaneName(r.Lane))
		}
		return cli.UnservedError(id, runID,
			"no worker has served %stask queue %q for %s; the run %s stays open and goes on when a worker starts\n  start one: %s\n  follow the run: %s\n  cancel it: %s",
			what, r.Queue, workerTimeout, id, l.invocation.WorkerCommand(l.queue, lane),
			l.invocation.Command("watch", id), l.invocation.Command("cancel", id))
	}
	return nil
}

func (l *laneWatch) note(r audit.Running, served bool) string {
	if served {
		delete(l.reported, r.Queue)
		return ""
	}
	if l.reported[r.Queue] {
		return ""
	}
	l.reported[r.Queue] = true
	if r.Kind == audit.KindRun {
		return fmt.Sprintf("the run waits: no worker serves the task queue %q\n  start one: %s",
			r.Queue, l.invocation.WorkerCommand(r.Queue, ""))
	}
	return fmt.Sprintf("%s waits: no worker serves the lane %q (task queue %q)\n  start one: %s",
		r.ID, cli.LaneName(r.Lane), r.Queue, l.invocation.WorkerCommand(l.queue, r.Lane))
}

// isServed reports whether a worker has polled the queue recently or is a candidate to host its
// lane's slots, which can all be taken for a long time.
func (l *laneWatch) isServed(ctx context.Context, queue string, kind enumspb.TaskQueueType) (bool,
	error) {
	workers, err := lanestate.Pollers(ctx, l.client, l.namespace, queue, kind)
	name := queues.LaneName(l.queue, queue)
	if err != nil || len(workers) > 0 || kind != enumspb.TASK_QUEUE_TYPE_ACTIVITY ||
		strings.HasPrefix(name, cli.Bypassing) {
		return len(workers) > 0, err
	}
	workers, err = lanestate.Pollers(ctx, l.client, l.namespace, queues.Slots(l.queue,
		cli.LaneFromName(name)), kind)
	return len(workers) > 0, err
}
