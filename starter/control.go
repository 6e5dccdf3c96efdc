package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// pauseFlags say who pauses or resumes a run, and why.
type pauseFlags struct {
	reason string
	by     byFlag
}

func (f *pauseFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "`text` that the run's history keeps as the reason")
	f.by.add(cmd.Flags(), "says so")
}

// pause makes a checked Pause of the flags.
func (f *pauseFlags) pause(cmd *cobra.Command) (api.Pause, error) {
	p := api.Pause{By: f.by.name(), Reason: f.reason}
	if e := p.Check(); e != nil {
		return p, usageError(cmd, "%v", e)
	}
	return p, nil
}

func (a *app) pauseCommand() *cobra.Command {
	var ref runReference
	var flags pauseFlags
	var onServer bool
	cmd := &cobra.Command{
		Use: "pause RUN", Short: "Have a run start nothing more until it is resumed",
		Long: `Pauses a run and the sub-agents below it: the calls and the model step that run now end, and nothing new starts until
'starter resume'. Messages and answers are taken meanwhile, and the run can be cancelled. Its wall time goes on.

With --on-server the Temporal server holds the run, where it has that switched on: then no worker need serve the run, but
it takes no answers to its questions either until it is resumed.`,
		Example: `  starter pause demo-1a2b3c4d --reason "the API is down"
  starter pause demo-1a2b3c4d --on-server`,
		Args: arguments(0, "RUN"),
		RunE: a.onPause(&ref, &flags, func(ctx context.Context, c client.Client, run *runReference, p api.Pause) error {
			return a.pauseRun(ctx, c, run, p, onServer)
		}),
	}
	ref.add(cmd.Flags())
	flags.add(cmd)
	cmd.Flags().BoolVar(&onServer, "on-server", false, "have the server hold the run, and not the run itself")
	return cmd
}

func (a *app) resumeCommand() *cobra.Command {
	var ref runReference
	var flags pauseFlags
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Have a paused run go on",
		Long: `Has a paused run go on, and the sub-agents below it, however they were paused.`,
		Example: `  starter resume demo-1a2b3c4d
  starter resume demo-1a2b3c4d --reason "the API is back"`,
		Args: arguments(0, "RUN"),
		RunE: a.onPause(&ref, &flags, a.resumeRun),
	}
	ref.add(cmd.Flags())
	flags.add(cmd)
	return cmd
}

// onPause is onRun for a command with pauseFlags.
func (a *app) onPause(ref *runReference, flags *pauseFlags, f func(context.Context, client.Client, *runReference, api.Pause) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p, err := flags.pause(cmd)
		if err != nil {
			return err
		}
		return a.onRun(ref, func(ctx context.Context, c client.Client, run *runReference) error { return f(ctx, c, run, p) })(cmd, args)
	}
}

func (a *app) pauseRun(ctx context.Context, c client.Client, run *runReference, p api.Pause, onServer bool) error {
	summary, err := a.open(ctx, c, run, stands)
	if err != nil {
		return err
	}
	if before := statusText(summary, onServer); before != nil {
		return a.tellStatus(run.workflowID, string(history.RunPaused), "is paused already, "+before.Note())
	}
	if err := a.pauseTree(ctx, c, run, p, onServer); err != nil {
		return err
	}
	return a.tellStatus(run.workflowID, string(history.RunPaused), "is "+p.Note())
}

// standing is the pause that a run is in already; nil for none. The server can hold a run that pauses itself, too.
func statusText(s history.Summary, onServer bool) *api.Pause {
	if onServer {
		return s.PausedOnServer
	}
	if s.Paused != nil && s.Paused.By == "" {
		return s.PausedOnServer // whether it pauses itself cannot be read: the run knows
	}
	return cmp.Or(s.Paused, s.PausedOnServer)
}

// stands returns a run's summary, or where its history cannot be read what the server says of it: enough to stop it.
func stands(ctx context.Context, c client.Client, workflowID, runID string) (history.Summary, error) {
	summary, err := audit.Describe(ctx, c, workflowID, runID)
	if errors.Is(err, history.ErrUnreadable) {
		return audit.Outline(ctx, c, workflowID, runID)
	}
	return summary, err
}

// open returns the summary, as describe reads it, of a run that has not ended. From then on the reference is to its last execution.
func (a *app) open(ctx context.Context, c client.Client, run *runReference, describe func(context.Context, client.Client, string, string) (history.Summary, error)) (history.Summary, error) {
	summary, err := describe(ctx, c, run.workflowID, run.runID)
	switch {
	case err != nil:
		return summary, a.lookupError(run.workflowID, run.runID, err)
	case !summary.Closed.IsZero():
		return summary, failure(exitFailed, "the run %q has ended already: %s", run.workflowID, summary.Status)
	}
	run.goOnAs(summary)
	return summary, nil
}

// pauseTree pauses a run, and then the sub-agents' runs below it: it starts no others.
func (a *app) pauseTree(ctx context.Context, c client.Client, run *runReference, p api.Pause, onServer bool) error {
	var err error
	if onServer {
		_, err = c.WorkflowService().PauseWorkflowExecution(ctx, &workflowservice.PauseWorkflowExecutionRequest{Namespace: a.connection.resolvedNamespace,
			WorkflowId: run.workflowID, RunId: run.runID, Identity: p.By, Reason: p.Reason, RequestId: randomHex(16)})
	} else {
		err = control(ctx, c, run, randomHex(16), api.PauseUpdate, p)
	}
	if err != nil {
		return a.controlError(run, err)
	}
	return a.below(ctx, c, run, func(child *runReference) error {
		summary, err := stands(ctx, c, child.workflowID, child.runID)
		if err != nil || !summary.Closed.IsZero() || statusText(summary, onServer) != nil {
			return a.lookupError(child.workflowID, child.runID, err)
		}
		return a.pauseTree(ctx, c, child, p, onServer)
	})
}

// below calls f with each run of a sub-agent that works for the run now. Where one has ended meanwhile there is nothing to do.
func (a *app) below(ctx context.Context, c client.Client, run *runReference, f func(*runReference) error) error {
	running, err := audit.Pending(ctx, c, run.workflowID, run.runID)
	if err != nil {
		return a.lookupError(run.workflowID, run.runID, err)
	}
	for _, r := range running {
		if r.Child == nil || r.Child.RunID == "" {
			continue
		}
		child := &runReference{workflowID: r.Child.WorkflowID}
		if err := f(child); err != nil {
			if summary, gone := stands(ctx, c, child.workflowID, ""); gone == nil && !summary.Closed.IsZero() {
				continue
			}
			return err
		}
	}
	return nil
}

func (a *app) resumeRun(ctx context.Context, c client.Client, run *runReference, p api.Pause) error {
	if _, err := a.open(ctx, c, run, stands); err != nil {
		return err
	}
	resumed, err := a.resumeTree(ctx, c, run, p, true)
	switch {
	case err != nil:
		return err
	case !resumed:
		return a.tellStatus(run.workflowID, string(history.RunRunning), "is not paused")
	}
	return a.tellStatus(run.workflowID, string(history.RunRunning), "goes on")
}

// resumeTree ends the pauses of a run and of the sub-agents' runs below it: those on the server, and where own is set those of
// the runs themselves. It reports whether there was one.
func (a *app) resumeTree(ctx context.Context, c client.Client, run *runReference, p api.Pause, own bool) (resumed bool, err error) {
	summary, err := stands(ctx, c, run.workflowID, run.runID)
	if err != nil {
		return false, a.lookupError(run.workflowID, run.runID, err)
	}
	if summary.PausedOnServer != nil {
		resumed = true
		_, err = c.WorkflowService().UnpauseWorkflowExecution(ctx, &workflowservice.UnpauseWorkflowExecutionRequest{Namespace: a.connection.resolvedNamespace,
			WorkflowId: run.workflowID, RunId: run.runID, Identity: p.By, Reason: p.Reason, RequestId: randomHex(16)})
	}
	if err == nil && own && summary.Paused != nil {
		var was bool
		was, err = resumeOwn(ctx, c, run, p)
		resumed = resumed || was
	}
	if err != nil {
		return resumed, a.controlError(run, err)
	}
	return resumed, a.below(ctx, c, run, func(child *runReference) error {
		also, err := a.resumeTree(ctx, c, child, p, own)
		resumed = resumed || also
		return err
	})
}

// resumeOwn ends the pause of a run itself. It reports false where there was none, which cannot be read of every run.
func resumeOwn(ctx context.Context, c client.Client, run *runReference, p api.Pause) (bool, error) {
	err := control(ctx, c, run, randomHex(16), api.ResumeUpdate, p)
	if refused, ok := controlRefusal(err); ok && refused.Type == api.NotPaused {
		return false, nil
	}
	return err == nil, err
}

// control sends an update and waits until the run has taken it.
func control(ctx context.Context, c client.Client, run *runReference, id, update string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: run.workflowID, RunID: run.runID, UpdateID: id,
		UpdateName: update, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// controlError says why a run did not do what it was told.
func (a *app) controlError(run *runReference, err error) error {
	r := a.connection.reach()
	if _, late := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err); late {
		return failure(exitFailed, "no worker of the run %q has answered within %s; the run may still do it when one comes\nSee how it stands: %s",
			run.workflowID, replyWithin, r.command("show", run.workflowID))
	}
	if isNotFound(err) {
		return failure(exitFailed, "the run %q has ended meanwhile\nSee how it ended: %s", run.workflowID, r.command("show", run.workflowID))
	}
	if _, ok := errors.AsType[*serviceerror.Unimplemented](err); ok {
		return failure(exitFailed, "this server does not hold runs; leave out --on-server, and the run pauses itself")
	}
	if _, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return failure(exitFailed, "the run %q is not in a state for that: %w\nSee how it stands: %s", run.workflowID, err, r.command("show", run.workflowID))
	}
	refused, ok := controlRefusal(err)
	if !ok {
		return a.lookupError(run.workflowID, "", err)
	}
	return failure(exitFailed, "run %s: %s", run.workflowID, refused.Message)
}

// refusals are what a run that cannot be read refuses, in our words.
var refusals = map[api.ControlErrorType]string{api.PauseAlready: "the run is paused already", api.NotPaused: "the run is not paused",
	api.RunEnding: "the run is ending", api.ControlFull: "the run has been told to pause, go on or read a message too often"}

// controlRefusal is why the run itself refused what it was told. The type stands there in the clear where the rest is encrypted.
func controlRefusal(err error) (refused api.ControlError, ok bool) {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || app.Details(&refused) == nil {
		return refused, ok
	}
	kind := api.ControlErrorType(app.Type())
	text, known := refusals[kind]
	return api.ControlError{Type: kind, Message: text}, known
}

// tellStatus says how a run stands after a command.
func (a *app) tellStatus(id, status, what string) error {
	if a.format.json() {
		return writeJSON(a.Out, map[string]string{"workflow_id": id, "status": status}, false)
	}
	return a.println(fmt.Sprintf("run %s %s", id, what))
}
