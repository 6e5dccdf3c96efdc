package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

const (
	// insistWithin is the time within which a second Ctrl-C cancels the run.
	insistWithin = 2 * time.Second
)

// follower follows one run to its end.
type follower struct {
	app     *cli.App
	client  client.Client
	id, run string
	view    terminal.View
	lanes   *laneWatch
	// texts joins the model's streamed text of the current step.
	texts audit.Texts
	// attempts finds the failed attempts of what is open.
	attempts audit.Attempts
	last     api.Event
	records  []api.Record
	// started and usage are the run's, for the report.
	started time.Time
	usage   api.Usage
	// tree is set to follow the run's sub-agents, too.
	tree bool
	// owned is set if this command started the run, so that an interrupt also affects the run.
	owned bool
	// whole keeps the records' arguments and results.
	whole bool
	// dry is set for a dry run.
	dry    bool
	insist <-chan time.Time
	// cancelled is when cancellation was requested.
	cancelled time.Time
	// missing is the time since which the server has not answered.
	missing time.Time
	// askedBelow is when the sub-agents' open questions were last queried.
	askedBelow time.Time
	// undecided is the last reported reason why workflow tasks of the run fail.
	undecided string
	detached  bool
}

// arrival is the run's next event, or the error that ended the stream.
type arrival struct {
	event api.Event
	err   error
}

// follow shows the run until it ends or the user stops following it. Errors come from the event
// reader or the server.
func (f *follower) follow(ctx context.Context) error {
	defer f.view.Close()
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	arrivals := make(chan arrival)
	go f.read(reading, arrivals)
	pending := time.NewTicker(terminal.PendingPace)
	defer pending.Stop()
	interrupted := ctx.Done()
	for !f.detached {
		var err error
		select {
		case a, open := <-arrivals:
			if !open {
				return nil
			}
			err = f.take(a)
		case <-pending.C:
			err = f.askPending(reading)
		case <-interrupted:
			interrupted = nil
			f.interrupt(reading, context.Cause(ctx))
		case cause := <-f.app.Again:
			f.interruptAgain(reading, cause)
		case <-f.insist:
			f.detached = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) read(ctx context.Context, arrivals chan<- arrival) {
	defer close(arrivals)
	run := f.handle()
	events := run.Follow(ctx, 0)
	if f.tree {
		events = run.FollowTree(ctx)
	}
	for event, err := range events {
		select {
		case arrivals <- arrival{event, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) handle() *switchyard.Run {
	return f.app.Handle(f.client, &cli.RunRef{WorkflowID: f.id, RunID: f.run})
}

func (f *follower) take(a arrival) error {
	if a.err != nil {
		return a.err
	}
	e := a.event
	if e.Parent != "" {
		return f.view.Event(e) // of a sub-agent: it is in the record of the run's call
	}
	f.last = e
	if e.Type == api.EventRunStarted {
		f.started = e.Time
	}
	f.count(e)
	if e.Record != nil && e.Type != api.EventToolStarted {
		record := *e.Record
		if !f.whole {
			// The report needs neither, and runs can be long.
			record.Arguments, record.Result = nil, nil
		}
		f.records = append(f.records, record)
	}
	return f.view.Event(e)
}

// count sums the run's usage, because a failed or cancelled run does not report it.
func (f *follower) count(e api.Event) {
	u := &f.usage
	switch {
	case e.Type == api.EventStepCompleted && e.Step != nil:
		u.AddStep(e.Step.Usage)
	case e.Record != nil && e.Type != api.EventToolStarted:
		u.Calls++
		if e.Record.Error != nil {
			u.Failed++
		}
		u.Add(e.Record.Usage)
	}
}

// askPending shows pending work. It returns an error if the server has not answered for too long;
// the event reader, which retries, would notice much later.
func (f *follower) askPending(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ConnectTimeout)
	defer cancel()
	running, err := audit.Pending(ctx, f.client, f.id, f.run)
	if err != nil {
		return f.recordNoAnswer(err, time.Now())
	}
	f.missing = time.Time{}
	f.view.Pending(running)
	if !f.tree { // neither has a place in the order of the tree
		if err := f.tell(running); err != nil {
			return err
		}
	}
	f.askBelow(ctx, running, time.Now())
	f.tellUndecided(ctx, running)
	for _, note := range f.lanes.check(ctx, running, time.Now()) {
		f.view.Note(note)
	}
	if f.cancelled.IsZero() {
		return f.lanes.checkTimeout(f.id, f.run, running, time.Now())
	}
	if queue, waits := findUnserved(running, time.Now()); waits &&
		time.Since(f.cancelled) >= patience {
		f.view.Note(endsLater(f.app.Connection.Invocation(), queue))
		f.detached = true
	}
	return nil
}

// tellUndecided reports once why workflow tasks of the run fail.
func (f *follower) tellUndecided(ctx context.Context, running []audit.Running) {
	if audit.SetLastFailure(ctx, f.client, f.app.Connection.ResolvedNamespace, f.id,
		running) != nil {
		return // what reads the events meets the same trouble
	}
	failed := slices.IndexFunc(running,
		func(r audit.Running) bool { return r.Kind == audit.KindRun && r.LastFailure != "" })
	if failed >= 0 && running[failed].LastFailure != f.undecided {
		f.undecided = running[failed].LastFailure
		f.view.Note(terminal.StandsStill(running[failed]))
	}
}

// tell shows what history does not have yet: failed attempts and new model output. It reuses the
// IDs of the last event, which belongs to the same run.
func (f *follower) tell(running []audit.Running) error {
	now := time.Now()
	for _, e := range slices.Concat(f.attempts.Next(running, now), f.texts.Next(running, now)) {
		e.WorkflowID, e.RunID = f.id, f.last.RunID
		if err := f.view.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// findUnserved returns the task queue of a run whose workflow task waits for a worker, and whether
// it waits.
func findUnserved(running []audit.Running, now time.Time) (queue string, waits bool) {
	for _, r := range running {
		if r.Kind == audit.KindRun && r.State == audit.StateWaiting &&
			now.Sub(r.Since) >= patience {
			return r.Queue, true
		}
	}
	return "", false
}

// endsLater returns a message that a run cannot be cancelled until a worker serves its queue.
func endsLater(r cli.Invocation, queue string) string {
	return fmt.Sprintf("no worker serves the run: it ends as cancelled when a worker of the task queue %q starts\n  start one: %s",
		queue, r.WorkerCommand(queue, ""))
}

// recordNoAnswer records that the server did not answer.
func (f *follower) recordNoAnswer(err error, now time.Time) error {
	switch {
	case !cli.Unreachable(err): // the reader of events meets the same trouble and reports it
	case f.missing.IsZero():
		f.missing = now
		f.view.Note(fmt.Sprintf("the server does not answer; waiting up to %s", cli.GiveUpAfter))
	case now.Sub(f.missing) > cli.GiveUpAfter:
		return err
	}
	return nil
}

// interrupt handles the first Ctrl-C or another signal.
func (f *follower) interrupt(ctx context.Context, cause error) {
	switch {
	case !f.owned, errors.Is(cause, cli.ErrStackLost): // the process that would cancel it ends
		f.detached = true
	case f.app.Connection.Local && errors.Is(cause, cli.ErrTerminated):
		f.detached = true
	case f.app.Connection.Local:
		f.view.Note(fmt.Sprintf(
			"the server stops with this command, and so does the run; Ctrl-C again within %s cancels the run first",
			insistWithin))
		f.insist = time.After(insistWithin)
	case errors.Is(cause, cli.ErrTerminated):
		f.view.Note("the run continues without this terminal" + f.howToGoOn())
		f.detached = true
	default:
		f.view.Note(fmt.Sprintf(
			"the run continues without this terminal; Ctrl-C again within %s cancels it%s",
			insistWithin, f.howToGoOn()))
		f.insist = time.After(insistWithin)
	}
}

// howToGoOn returns the commands that resume following and that cancel the run.
func (f *follower) howToGoOn() string {
	r := f.app.Connection.Invocation()
	return "\n  follow it: " + r.Command("watch", f.id) + "\n  cancel it: " +
		r.Command("cancel", f.id)
}

// interruptAgain handles further interrupts: the first one cancels the run unless that is done, the
// next one stops following it.
func (f *follower) interruptAgain(ctx context.Context, cause error) {
	if f.insist == nil || errors.Is(cause, cli.ErrTerminated) {
		f.detached = true
		return
	}
	f.insist = nil
	f.cancel(ctx)
}

func (f *follower) cancel(ctx context.Context) {
	f.view.Note("cancelling the run and its running calls")
	f.cancelled = time.Now()
	if err := f.handle().Cancel(ctx, cli.UserHere(), "interrupted at the terminal"); err != nil {
		f.view.Note(fmt.Sprintf("cannot cancel the run: %v", err))
		f.detached = true
	}
}

// exitCode returns the exit code for the run's outcome.
func (f *follower) exitCode() int {
	if f.detached {
		return cli.ExitCancelled
	}
	return endCode(f.last.Type)
}

func endCode(t api.EventType) int {
	switch t {
	case api.EventRunCompleted:
		return cli.ExitDone
	case api.EventRunCancelled:
		return cli.ExitCancelled
	}
	return cli.ExitFailed
}

// askBelow shows the open questions of sub-agents that are running.
func (f *follower) askBelow(ctx context.Context, running []audit.Running, now time.Time) {
	isChild := func(r audit.Running) bool { return r.Child != nil }
	if !slices.ContainsFunc(running, isChild) {
		f.view.SubAgents(nil, nil)
		return
	}
	if now.Sub(f.askedBelow) < belowPace {
		return
	}
	f.askedBelow = now
	open, err := audit.Questions(ctx, f.client, f.id, f.run)
	waiting, failure := audit.Approvals(ctx, f.client, f.id, f.run)
	if err == nil && failure == nil { // otherwise the next try tells, or the reader of events
		f.view.SubAgents(slices.DeleteFunc(open,
			func(q audit.RunQuestion) bool { return q.WorkflowID == f.id }),
			slices.DeleteFunc(waiting,
				func(a audit.RunApproval) bool { return a.WorkflowID == f.id }))
	}
}

// belowPace is the interval for querying sub-agents' open questions. The run's own questions arrive
// as events.
const belowPace = 3 * time.Second
