package workflows

import (
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// undo is what undoes the run's calls, where its end makes that necessary. The zero value keeps and
// undoes nothing.
type undo struct {
	// on says that calls are kept, when at which ends of the run they are undone.
	on   bool
	when api.UndoWhen
	// calls are ready to be made, in the order in which what they undo was done; size is how many
	// bytes their arguments have.
	calls []api.Call
	size  int
}

func newUndo(when api.UndoWhen, continued *api.Packed[[]api.Call]) undo {
	u := undo{on: when != api.UndoNever, when: when}
	if continued != nil {
		for _, c := range continued.Value {
			u.add(c)
		}
	}
	return u
}

// add keeps a call. Beyond what a run can keep, it keeps that the call cannot be made.
func (u *undo) add(c api.Call) {
	if u.size += len(c.Arguments); u.size > api.MaxUndo {
		u.size -= len(c.Arguments)
		c.Arguments = ""
		c.Problem = fmt.Sprintf(
			"the run keeps %d bytes of arguments of such calls already; at most %d are kept",
			u.size, api.MaxUndo)
	}
	u.calls = append(u.calls, c)
}

// carry returns the calls for another run; nil where there are none.
func (u *undo) continueState() *api.Packed[[]api.Call] {
	if len(u.calls) == 0 {
		return nil
	}
	packed := api.Pack(u.calls)
	return &packed
}

// noteUndo keeps the calls that undo this one and its parts, if its tool declares how to undo it
// and it may have taken effect. err is that of its last attempt.
func (c *callRun) noteUndo(out api.CallOutcome, err error) {
	p, t := c.pipeline, c.pipeline.tools[c.call.Tool]
	if !p.undo.on || t.Undo == nil || c.call.Purpose == api.PurposeUndo {
		return
	}
	if len(c.parts) == 0 && mayHaveActed(t, out, err) {
		p.undo.note(t, p.origin.Run, c.call, c.decision, out)
	}
	for _, part := range c.parts {
		if out := out.PartOf(part.ID); mayHaveActed(t, out, err) {
			p.undo.note(t, p.origin.Run, part.call, part.decision, out)
		}
	}
}

// note keeps the call that undoes one with that outcome.
func (u *undo) note(t api.Tool, run string, c api.Call, v api.AdmissionDecision,
	out api.CallOutcome) {
	undo := api.Call{ID: api.UndoCallID(c.ID), Tool: t.Undo.Tool, CallPurpose: api.CallPurpose{
		Purpose: api.PurposeUndo, TargetCallID: c.ID, TargetTool: c.Tool}}
	arguments, fault := t.Undo.For(api.UndoSource{Arguments: validated(c, v), Result: out.Result,
		Key: api.IdempotencyKey(run, c.ID)})
	if fault != nil {
		undo.Problem = cutText(fault.Error())
	}
	undo.Arguments = string(arguments)
	u.add(undo)
}

// mayHaveActed reports whether there may be something to undo of a call. A sub-agent that gave no
// result has undone its calls itself. A cancelled activity that tells nothing was not begun, unless
// it is in between two attempts.
func mayHaveActed(t api.Tool, out api.CallOutcome, err error) bool {
	if out.Result != nil {
		return true
	}
	cancelled, ok := errors.AsType[*temporal.CanceledError](err)
	unbegun := ok && !cancelled.HasDetails() && retryPolicy(t).MaximumAttempts == 1
	return t.Kind != api.KindAgent && !unbegun && out.Error.MayHaveActed()
}

// adopt keeps what undoes the calls that the sub-agent's run of a call has made.
func (u *undo) adopt(callID string, calls *api.Packed[[]api.Call]) {
	if !u.on || calls == nil {
		return
	}
	for _, c := range calls.Value {
		c.TargetCallID = api.CallPath(callID, c.TargetCallID)
		c.ID = api.UndoCallID(c.TargetCallID)
		u.add(c)
	}
}

// end returns the error with which a run ends whose loop or calls have ended with err: one that
// failed or was cancelled first undoes its calls, unless it is not to, and tells what it used and
// undid.
func (p *pipeline) end(ctx workflow.Context, err error) error {
	if err == nil || workflow.IsContinueAsNewError(err) {
		return err
	}
	p.control.end()
	cancelled := ctx.Err() != nil && temporal.IsCanceledError(err)
	var undone []api.Undone
	if p.undo.when.At(cancelled) {
		undone = p.undoCalls(ctx)
	}
	switch {
	case cancelled && len(undone) == 0:
		// Whoever waits for the run is told what it used.
		return temporal.NewCanceledError(p.usage)
	case cancelled:
		return temporal.NewCanceledError(p.usage, undone)
	case len(undone) == 0:
		return err
	}
	return p.withUndone(err, undone)
}

// undoCalls undoes the run's calls, the last one first, one after the other. One that cannot be
// undone does not keep the others from it. Cancelling the run, also once more, does not stop it.
func (p *pipeline) undoCalls(ctx workflow.Context) []api.Undone {
	ctx, forget := workflow.NewDisconnectedContext(ctx)
	defer forget()
	calls := p.undo.calls
	p.undo.calls, p.admitted, p.historyBudget.Undoing = nil, nil, true
	undone := make([]api.Undone, 0, len(calls))
	for i := len(calls) - 1; i >= 0; i-- {
		undone = append(undone, p.undoCall(ctx, calls[i]))
	}
	return reported(undone)
}

func (p *pipeline) undoCall(ctx workflow.Context, c api.Call) api.Undone {
	undone := api.Undone{CallID: c.ID, Tool: c.Tool, TargetCallID: c.TargetCallID,
		TargetTool: c.TargetTool}
	if p.fitting(ctx, []*callRun{p.newCall(c, api.AdmissionDecision{})}) == 0 {
		undone.Error = api.Errorf(api.ErrBudgetExceeded, "%s", p.fullness(ctx))
		return undone
	}
	outcomes, err := p.runTurn(ctx, []api.Call{c}, "")
	if err != nil {
		undone.Error = api.Errorf(api.ErrExecution, "the call could not be admitted: %s",
			cutText(err.Error()))
	} else if outcomes[0].Error != nil {
		undone.Error = shortFailures(outcomes)[0].Error
	}
	return undone
}

// maxUndone bounds the undone calls that a run's end lists: the calls' records have it all.
const maxUndone = 500

// reported returns what a run's end tells of many undone calls: first of all those that were not.
func reported(all []api.Undone) []api.Undone {
	if len(all) <= maxUndone {
		return all
	}
	var failed, done []api.Undone
	for _, u := range all {
		if u.Error != nil {
			failed = append(failed, u)
		} else {
			done = append(done, u)
		}
	}
	return append(failed, done...)[:maxUndone]
}

// withUndone adds to a run's failure what was undone.
func (p *pipeline) withUndone(err error, undone []api.Undone) error {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return err
	}
	kind := api.RunErrorType(app.Type())
	message := app.Message() + "\n" + undoneLine(undone)
	switch kind {
	case api.RunModelFailed:
		return runError(kind, message, app.Unwrap(), p.usage, undone)
	case api.RunRefused, api.RunCallsFailed, api.RunBlocked:
		var result api.RunResult
		if app.Details(&result) == nil {
			result.Undone = undone
			return runError(kind, message, app.Unwrap(), p.tally(result))
		}
	}
	return err
}

func undoneLine(undone []api.Undone) string {
	failed := 0
	for _, u := range undone {
		if u.Error != nil {
			failed++
		}
	}
	if failed == 0 {
		return fmt.Sprintf("(calls undone: %d)", len(undone))
	}
	return fmt.Sprintf("(calls undone: %d, not undone: %d)", len(undone)-failed, failed)
}
