package budget

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

const (
	// MaxRecorded bounds what one workflow task records of calls and model steps that ran inline,
	// in bytes: servers accept messages of 4 MiB, and other commands of the task are in the same
	// message.
	MaxRecorded = 2 << 20
	// markerOverhead is about how many bytes a marker has besides its result.
	markerOverhead = 512
)

// Task counts what the current workflow task records of calls and model steps that run inline. They
// are local activities, whose results are recorded together when the task ends.
type Task struct {
	// On says that something of the run may run inline.
	On bool
	// task tells one workflow task from the next, by the history's length at its start.
	task int
	// recorded is what the task has to record so far. entered is what each of those that run may
	// add to it, by id, and reserved their sum.
	recorded, reserved int
	entered            map[string]int
	// ending is set while the run waits for its next workflow task.
	ending bool
}

// Await waits until n more bytes fit into what the workflow task records, for which it ends the
// task if need be. Its error is that of a cancelled context.
func (i *Task) Await(ctx workflow.Context, n int) error {
	for !i.Fits(ctx, n) {
		if i.reserved > 0 || i.ending {
			if err := workflow.Await(ctx, func() bool {
				return !i.ending &&
					(i.reserved == 0 || i.Fits(ctx, n))
			}); err != nil {
				return err
			}
			continue
		}
		if err := i.endTask(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (i *Task) Fits(ctx workflow.Context, n int) bool {
	i.Look(ctx)
	return !i.ending && (i.recorded+i.reserved == 0 || i.recorded+i.reserved+n <= MaxRecorded)
}

// Enter keeps n bytes for a call or a step that begins.
func (i *Task) Enter(id string, n int) {
	if i.entered == nil {
		i.entered = map[string]int{}
	}
	i.entered[id] = n
	i.reserved += n
}

// Leave gives back what was kept for a call or a step, which has ended, and counts the size that is
// recorded of it. Of others it does nothing.
func (i *Task) Leave(ctx workflow.Context, id string, size int) {
	if n, ok := i.entered[id]; ok {
		delete(i.entered, id)
		i.reserved -= n
		i.Add(ctx, size)
	}
}

// endTask ends the workflow task, and with it records what ran inline, by a timer that begins the
// next one.
func (i *Task) endTask(ctx workflow.Context) error {
	i.ending = true
	defer func() { i.ending = false }()
	err := workflow.NewTimerWithOptions(ctx, time.Millisecond,
		workflow.TimerOptions{Summary: "record what ran inline"}).Get(ctx, nil)
	i.recorded = 0
	return err
}

func (i *Task) Add(ctx workflow.Context, size int) {
	i.Look(ctx)
	i.recorded += size + markerOverhead
}

// Look notices that another workflow task has begun.
func (i *Task) Look(ctx workflow.Context) {
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); task != i.task {
		i.task, i.recorded = task, 0
	}
}

// DecisionsSize returns about how many bytes the decisions of admission are recorded with.
func DecisionsSize(decisions []api.AdmissionDecision) (size int) {
	for _, v := range decisions {
		size += len(v.Arguments) + len(v.Prompt) + len(v.Question) + markerOverhead/4
		if v.Result != nil {
			size += len(v.Result.Output)
		}
	}
	return size
}

// Pending returns about how many events and bytes the workflow task records when it ends.
func (i *Task) Pending() (events, bytes int) { return i.recorded / markerOverhead, i.recorded }
