package budget

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/smallmap"
	"go.temporal.io/sdk/workflow"
)

const (
	// maxTask bounds what one workflow task carries, in bytes. Servers accept messages of 4 MiB,
	// and the answer to a query may be in the same message.
	maxTask = 2 << 20
	// overhead is about how many bytes a command or an event has besides its payloads.
	overhead = 512
	// small is the size of payloads that do not wait for the local activities of their workflow
	// task, and moreForSmall is how much larger the task may become by them.
	small        = 16 << 10
	moreForSmall = 512 << 10
	// maxUnsaved bounds the time of a workflow task in which local activities end. If its worker is
	// lost, their results are lost too.
	maxUnsaved = time.Second
)

// Task counts what the current workflow task carries to the server: the inputs of activities and
// child workflows, the markers of local activities, and the updates that it accepts. A task that
// would carry too much is ended with a timer, and the run continues in the next one. So is a task
// whose local activities have taken long.
type Task struct {
	load load
	// entered is what each of the local activities that run may add to the task, by ID, and
	// reserved their sum.
	entered  smallmap.Map[int]
	reserved int
	// ending is set while the run waits for its next workflow task.
	ending bool
	// records counts the calls of Record.
	records int
}

// load is what one workflow task carries.
type load struct {
	// task tells one workflow task from the next, by the history's length at its start. began is
	// its time, and unsaved is set if a local activity has ended in it.
	task    int
	began   time.Time
	unsaved bool
	// used is what the task carries so far, in as many commands.
	used, commands int
}

// Await waits until a payload of n bytes fits into the workflow task, for which it ends the task if
// necessary. It must not be called by the coroutine that takes the results of local activities. Its
// error is that of a cancelled context.
func (t *Task) Await(ctx workflow.Context, n int) error { return t.await(ctx, n, t.Fits) }

// AwaitInline is Await for the marker of a local activity that is about to start, as FitsInline
// reports.
func (t *Task) AwaitInline(ctx workflow.Context, n int) error {
	return t.await(ctx, n, t.FitsInline)
}

func (t *Task) await(ctx workflow.Context, n int, fits func(workflow.Context, int) bool) error {
	for !fits(ctx, n) {
		if t.reserved > 0 || t.ending {
			if err := workflow.Await(ctx, func() bool {
				return !t.ending && (t.reserved == 0 || fits(ctx, n))
			}); err != nil {
				return err
			}
			continue
		}
		if err := t.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Divide ends the workflow task if a payload of n bytes does not fit into it, also while local
// activities run: the task carries their markers. Its error is that of a cancelled context.
func (t *Task) Divide(ctx workflow.Context, n int) error {
	if t.FitsInline(ctx, n) {
		return nil
	}
	if t.ending {
		return workflow.Await(ctx, func() bool { return !t.ending })
	}
	return t.end(ctx)
}

// Accepts reports whether the workflow task can carry an update of n bytes. The first payload of a
// task always fits.
func (t *Task) Accepts(ctx workflow.Context, n int) bool {
	most := maxTask
	if n <= small {
		most += moreForSmall
	}
	used := t.current(ctx).used + t.reserved
	return used == 0 || used+n <= most
}

// Fits is Accepts for a command. A task that is being ended takes no more of them, so that they
// keep their order.
func (t *Task) Fits(ctx workflow.Context, n int) bool { return t.Accepts(ctx, n) && !t.ending }

// FitsInline reports whether the marker of a local activity fits into the workflow task. It does
// not if the task is to end, so that the server gets the results of those that have ended.
func (t *Task) FitsInline(ctx workflow.Context, n int) bool {
	now := t.current(ctx)
	return t.Fits(ctx, max(n, small+1)) &&
		!(now.unsaved && workflow.Now(ctx).Sub(now.began) >= maxUnsaved)
}

// Enter reserves n bytes for the marker of a local activity that starts.
func (t *Task) Enter(ctx workflow.Context, id string, n int) {
	t.load = t.current(ctx)
	t.entered.Set(id, n)
	t.reserved += n
}

// Leave releases what Enter reserved and adds the size of the marker. It ignores other IDs.
func (t *Task) Leave(ctx workflow.Context, id string, size int) {
	if n, ok := t.entered.Find(id); ok {
		t.entered.Delete(id)
		t.reserved -= n
		t.Add(ctx, size)
		t.load.unsaved = true
	}
}

// end ends the workflow task with a timer, which starts the next one.
func (t *Task) end(ctx workflow.Context) error {
	full := t.current(ctx).task
	t.ending = true
	defer func() { t.ending = false }()
	err := workflow.NewTimerWithOptions(ctx, time.Millisecond,
		workflow.TimerOptions{Summary: api.NextTaskSummary}).Get(ctx, nil)
	if err == nil && t.current(ctx).task == full {
		t.load = load{task: full, began: workflow.Now(ctx)} // the history of a test does not grow
	}
	return err
}

// Add counts a payload of that size.
func (t *Task) Add(ctx workflow.Context, size int) {
	t.load = t.current(ctx)
	t.load.used += size + overhead
	t.load.commands++
}

// current returns what the workflow task carries, which is nothing if another one has begun. It
// changes nothing: a server forgets the task of an update that is refused, and gives its number to
// a later one, so what a validator had noted would stand in place of what a replay finds.
func (t *Task) current(ctx workflow.Context) load {
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); task != t.load.task {
		return load{task: task, began: workflow.Now(ctx)}
	}
	return t.load
}

// Pending returns about how many events and bytes the workflow task records when it ends.
func (t *Task) Pending(ctx workflow.Context) (events, bytes int) {
	now := t.current(ctx)
	return now.commands, now.used
}

// Record runs a local activity whose marker has at most n bytes. run returns the marker's size.
// The error is that of a cancelled context, and run is not called then.
func (t *Task) Record(ctx workflow.Context, n int, run func() int) error {
	end, err := t.Begin(ctx, n)
	if err == nil {
		end(run())
	}
	return err
}

// Begin makes room for the marker of a local activity, of at most n bytes, that the caller starts
// then. end takes the marker's size once the activity has ended. The error is that of a cancelled
// context.
func (t *Task) Begin(ctx workflow.Context, n int) (end func(size int), err error) {
	if err := t.Divide(ctx, n); err != nil {
		return nil, err
	}
	t.records++
	id := fmt.Sprint("record/", t.records)
	t.Enter(ctx, id, n)
	return func(size int) { t.Leave(ctx, id, size) }, nil
}

// DecisionsSize returns about how many bytes the decisions of admission are recorded with.
func DecisionsSize(decisions []api.AdmissionDecision) (size int) {
	for _, v := range decisions {
		size += jsonvalue.PayloadSize(v.Arguments) + jsonvalue.TextSize(v.Prompt) +
			jsonvalue.TextSize(v.Question) +
			overhead/4 + detailsSize(v)
		if v.Result != nil {
			size += jsonvalue.PayloadSize(v.Result.Output)
		}
	}
	return size
}

// detailsSize returns the size of the parts of a decision that most decisions do not have.
func detailsSize(v api.AdmissionDecision) (size int) {
	for _, note := range v.Notes {
		size += jsonvalue.TextSize(note)
	}
	if v.Error != nil {
		size += measureJSON(v.Error)
	}
	if v.Approval != nil {
		size += measureJSON(v.Approval)
	}
	if v.Plan != nil {
		size += measureJSON(v.Plan)
	}
	if v.Pinned != nil {
		size += measureJSON(v.Pinned)
	}
	if len(v.Hooks)+len(v.Policies)+len(v.Labels) > 0 {
		size += measureJSON(v.Hooks) + measureJSON(v.Policies) + measureJSON(v.Labels)
	}
	return size
}

// measureJSON returns the size of a value as JSON.
func measureJSON(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return api.MaxPayload
	}
	return len(data)
}
