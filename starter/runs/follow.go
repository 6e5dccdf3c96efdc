package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/starter/internal/terminal"
	"go.temporal.io/sdk/client"
)

const (
	// insistWithin is the time for a second Ctrl-C, which cancels the run.
	insistWithin = 2 * time.Second
)

// follower follows one run to its end.
type follower struct {
	app     *cli.App
	client  client.Client
	id, run string
	view    terminal.View
	lanes   *laneWatch
	// texts joins what the model says while a step is under way.
	texts   audit.Texts
	last    api.Event
	records []api.Record
	// started and usage are the run's, for the report.
	started time.Time
	usage   api.Usage
	// owned says that this command started the run, so that interrupting it is about the run too.
	owned             bool
	cancelOnInterrupt bool
	// whole keeps the records' arguments and results.
	whole bool
	// each has the report tell the results of all calls.
	each bool
	// dry says that the run withholds calls.
	dry    bool
	insist <-chan time.Time
	// cancelled is when the run was asked to stop.
	cancelled time.Time
	// missing is since when the server has not answered.
	missing time.Time
	// askedBelow is when the sub-agents were asked for their questions.
	askedBelow time.Time
	// undecided is why workers fail to decide what the run does next, as it was told of last.
	undecided string
	detached  bool
}

// arrival is the next event of the run, or why there is none.
type arrival struct {
	event api.Event
	err   error
}

// follow shows the run until it ends, or until the user turns away from it. An error is the
// reader's or the server's.
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
	for event, err := range audit.Follow(ctx, f.client, f.id, f.run) {
		select {
		case arrivals <- arrival{event, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) take(a arrival) error {
	if a.err != nil {
		return a.err
	}
	e := a.event
	f.last = e
	if e.Type == api.EventRunStarted {
		f.started = e.Time
	}
	f.count(e)
	if e.Record != nil && e.Type != api.EventToolStarted {
		record := *e.Record
		if !f.whole {
			// the report needs neither, and runs can be long
			record.Arguments, record.Result = nil, nil
		}
		f.records = append(f.records, record)
	}
	return f.view.Event(e)
}

// count adds up what the run uses: a run that fails or is cancelled does not say it at its end.
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

// askPending shows what runs now. An error says that the server has not answered for too long: the
// reader of events, which waits for a server that comes back, would notice much later.
func (f *follower) askPending(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ConnectTimeout)
	defer cancel()
	running, err := audit.Pending(ctx, f.client, f.id, f.run)
	if err != nil {
		return f.missed(err, time.Now())
	}
	f.missing = time.Time{}
	f.view.Pending(running)
	if err := f.tell(running); err != nil {
		return err
	}
	f.askBelow(ctx, running, time.Now())
	f.tellUndecided(ctx, running)
	for _, note := range f.lanes.check(ctx, running, time.Now()) {
		f.view.Note(note)
	}
	if queue, waits := unserved(running, time.Now()); waits && !f.cancelled.IsZero() &&
		time.Since(f.cancelled) >= patience {
		f.view.Note(endsLater(f.app.Connection.Invocation(), queue))
		f.detached = true
	}
	return nil
}

// tellUndecided says once why workers fail to decide what the run does next.
func (f *follower) tellUndecided(ctx context.Context, running []audit.Running) {
	if audit.Undecided(ctx, f.client, f.app.Connection.ResolvedNamespace, f.id, running) != nil {
		return // what reads the events meets the same trouble
	}
	failed := slices.IndexFunc(running,
		func(r audit.Running) bool { return r.Kind == audit.KindRun && r.LastFailure != "" })
	if failed >= 0 && running[failed].LastFailure != f.undecided {
		f.undecided = running[failed].LastFailure
		f.view.Note(terminal.StandsStill(running[failed]))
	}
}

// tell shows what the model said since the last time. The ids are those of the last event: it is
// the same run's.
func (f *follower) tell(running []audit.Running) error {
	for _, e := range f.texts.Next(running, time.Now()) {
		e.WorkflowID, e.RunID = f.id, f.last.RunID
		if err := f.view.Event(e); err != nil {
			return err
		}
	}
	return nil
}

// unserved returns the task queue of a run that waits for a worker to take its next decision, if
// that is how it stands.
func unserved(running []audit.Running, now time.Time) (queue string, waits bool) {
	for _, r := range running {
		if r.Kind == audit.KindRun && r.State == audit.StateWaiting &&
			now.Sub(r.Since) >= patience {
			return r.Queue, true
		}
	}
	return "", false
}

// endsLater says that a run that was asked to stop cannot do so now.
func endsLater(r cli.Invocation, queue string) string {
	return fmt.Sprintf("no worker serves the run: it ends as cancelled when a worker of the task queue %q starts\n  start one: %s",
		queue, r.WorkerCommand(queue, ""))
}

// missed notes that the server did not answer.
func (f *follower) missed(err error, now time.Time) error {
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

// interrupt answers the first Ctrl-C, or another signal.
func (f *follower) interrupt(ctx context.Context, cause error) {
	switch {
	case !f.owned, errors.Is(cause, cli.ErrStackLost): // nobody is left who would cancel it
		f.detached = true
	case f.cancelOnInterrupt:
		f.cancel(ctx)
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

// howToGoOn says how to come back to the run, and how to end it.
func (f *follower) howToGoOn() string {
	r := f.app.Connection.Invocation()
	return "\n  follow it: " + r.Command("watch", f.id) + "\n  cancel it: " +
		r.Command("cancel", f.id)
}

// interruptAgain answers every further one: the first cancels the run unless that is done, the next
// turns away from it.
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
	if err := requestCancel(ctx, f.app, f.client, &cli.RunRef{WorkflowID: f.id, RunID: f.run},
		"interrupted at the terminal"); err != nil {
		f.view.Note(fmt.Sprintf("cannot cancel the run: %v", err))
		f.detached = true
	}
}

// exitCode is the code for how the run ended.
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

// askBelow shows what the sub-agents ask that run now.
func (f *follower) askBelow(ctx context.Context, running []audit.Running, now time.Time) {
	isChild := func(r audit.Running) bool { return r.Child != nil }
	if !slices.ContainsFunc(running, isChild) {
		f.view.Below(nil, nil)
		return
	}
	if now.Sub(f.askedBelow) < belowPace {
		return
	}
	f.askedBelow = now
	open, err := audit.Questions(ctx, f.client, f.id, f.run)
	waiting, failure := audit.Approvals(ctx, f.client, f.id, f.run)
	if err == nil && failure == nil { // otherwise the next try tells, or the reader of events
		f.view.Below(slices.DeleteFunc(open,
			func(q audit.RunQuestion) bool { return q.WorkflowID == f.id }),
			slices.DeleteFunc(waiting,
				func(a audit.RunApproval) bool { return a.WorkflowID == f.id }))
	}
}

// belowPace is how often the sub-agents below a run are asked for their questions: its own stand in
// its events.
const belowPace = 3 * time.Second
