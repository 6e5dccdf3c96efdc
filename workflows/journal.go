package workflows

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/workflow"
)

// journal records what became of calls where the ends of their attempts do not say it, so that a
// reader of the history does not have to decide it again. It is empty in most runs: a call that
// succeeds, or fails with the failure of its activity, has no entry.
type journal struct {
	Bystander
	task *budget.Task
	// entries are those that are not recorded yet, of size bytes.
	entries []api.JournalEntry
	size    int
}

// maxJournal bounds the entries of one marker, in bytes.
const maxJournal = 256 << 10

// add records an entry, in one marker with those that the other coroutines add before they wait:
// the SDK lets a new coroutine run last.
func (j *journal) add(ctx workflow.Context, e api.JournalEntry) {
	size := measureJSON(e)
	j.task.Add(ctx, size)
	if j.size+size > maxJournal {
		j.record(ctx)
	}
	j.entries, j.size = append(j.entries, e), j.size+size
	if len(j.entries) == 1 {
		workflow.Go(ctx, j.record)
	}
}

// record records the entries, if there are any.
func (j *journal) record(ctx workflow.Context) {
	entries := j.entries
	if j.entries, j.size = nil, 0; len(entries) > 0 {
		options := workflow.SideEffectOptions{Summary: "what became of call " + entries[0].Call}
		workflow.SideEffectWithOptions(ctx, options, func(workflow.Context) any { return entries })
	}
}

// Finish records what is left when the calls of a turn have ended: a reader takes calls of which it
// knows no end at the next model step for calls that the run has not made.
func (j *journal) Finish(ctx workflow.Context) error {
	j.record(ctx)
	return nil
}

// goOn records what follows an attempt that failed.
func (c *Call) goOn(ctx workflow.Context, next api.JournalStep, failure *api.Error) {
	end := failures.CancelledBeforeStart()
	if next == api.JournalVerify {
		end = failure
	}
	c.open = true
	c.pipeline.journal.add(ctx, api.JournalEntry{Call: c.call.ID, Next: next,
		Failure: failure.Message, Error: *c.afterEarlier(end),
		MayHaveStarted: c.lost != nil || c.repeated || next == api.JournalVerify})
}

// noteEnd records that the call ended with e, if the history does not say so: no marker has its
// end, and e is not what the failure of its activity says. made is set if the run made the error of
// the attempt itself. A call that was cancelled before the run scheduled it has no entry: the
// history shows that it was not scheduled.
func (c *Call) noteEnd(ctx workflow.Context, e, said *api.Error, made bool) {
	unsaid := e != said || made && (c.open || e.Type != api.ErrCancelled)
	if c.marked || !unsaid {
		return
	}
	ids := partIDs(c)
	if len(ids) == 0 {
		ids = []string{c.call.ID}
	}
	for _, id := range ids {
		c.pipeline.journal.add(ctx, api.JournalEntry{Call: id, Error: *e})
	}
}
