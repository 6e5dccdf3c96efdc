package workflows

import (
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/batches"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/core/undorules"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// undo records the calls that compensate the run's calls if the run ends in a way that requires it.
// The zero value records and undoes nothing.
type undo struct {
	Bystander
	// run is the ID of the run, for the keys of its calls.
	run string
	// tools are those of the run, by name.
	tools *turn.Tools
	// on is set if undo calls are recorded; when lists the ends of the run that execute them.
	on   bool
	when api.UndoWhen
	// calls are ready to execute, in the order in which the calls that they undo took effect; size
	// is the length of their arguments in bytes.
	calls []api.Call
	size  int
}

// set sets the ends of the run after which its calls are undone.
func (u *undo) set(when api.UndoWhen) { u.on, u.when = when != api.UndoNever, when }

// applies reports whether a run that failed, or was cancelled, undoes its calls.
func (u *undo) applies(cancelled bool) bool { return u.on && undorules.Applies(u.when, cancelled) }

// restore restores the undo calls of the execution before.
func (u *undo) Restore(_ workflow.Context, before *api.ContinueState) {
	if before.Undo != nil {
		for _, c := range before.Undo.Value {
			u.add(c)
		}
	}
}

// save adds the undo calls that continue-as-new carries.
func (u *undo) Save(_ workflow.Context, next *api.ContinueState) { next.Undo = u.pack() }

// add records an undo call. Beyond the size limit it records only that the call cannot be made.
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

// pack returns the undo calls for another run; nil for none.
func (u *undo) pack() *api.Packed[[]api.Call] {
	if len(u.calls) == 0 {
		return nil
	}
	packed := api.Pack(u.calls)
	return &packed
}

// end records the undo calls of a call and its parts, if its tool declares undo and it may have
// taken effect.
func (u *undo) End(_ workflow.Context, c *Call, out api.CallOutcome) {
	t := u.tools.Of(c.call.Tool)
	if !u.on || t.Undo == nil || c.call.Purpose == api.PurposeUndo || !c.IsExecuted() {
		return
	}
	if len(c.parts) == 0 && c.mayHaveActed(out) {
		u.note(t, c.call, c.decision, out)
	}
	for _, part := range c.parts {
		if out := batches.Part(out, part.ID); c.mayHaveActed(out) {
			u.note(t, part.call, part.decision, out)
		}
	}
}

// note records the call that undoes a call with that outcome.
func (u *undo) note(t api.Tool, c api.Call, v api.AdmissionDecision, out api.CallOutcome) {
	undo := api.Call{ID: undorules.CallID(c.ID), Tool: t.Undo.Tool, CallPurpose: api.CallPurpose{
		Purpose: api.PurposeUndo, TargetCallID: c.ID, TargetTool: c.Tool}}
	arguments, fault := undorules.Arguments(*t.Undo,
		placeholders.Source{Arguments: selectArguments(c,
			v), Result: out.Result,
			Key: api.IdempotencyKey(u.run, c.ID)})
	if fault != nil {
		undo.Problem = cutText(fault.Error())
	}
	undo.Arguments = string(arguments)
	u.add(undo)
}

// mayHaveActed reports whether the call, or a part of it, may have effects to undo.
func (c *Call) mayHaveActed(out api.CallOutcome) bool {
	return out.Result != nil || !c.finalized && out.Error.MayHaveActed()
}

// adopt records the undo calls of the run below a call.
func (u *undo) Adopt(call *Call, below *api.RunResult) {
	if !u.on || below.Undo == nil {
		return
	}
	for _, c := range below.Undo.Value {
		c.TargetCallID = api.CallPath(call.call.ID, c.TargetCallID)
		c.ID = undorules.CallID(c.TargetCallID)
		u.add(c)
	}
}

// undoCalls executes the undo calls sequentially, the last one first. A failed one does not stop
// the others, and neither does another cancellation of the run.
func (p *pipeline) undoCalls(ctx workflow.Context) []api.Undone {
	ctx, forget := workflow.NewDisconnectedContext(ctx)
	defer forget()
	calls := p.undo.calls
	p.undo.calls, p.admitted, p.sizes.History.Undoing = nil, nil, true
	undone := make([]api.Undone, 0, len(calls))
	for i := len(calls) - 1; i >= 0; i-- {
		undone = append(undone, p.undoCall(ctx, calls[i]))
	}
	return limitUndone(undone)
}

func (p *pipeline) undoCall(ctx workflow.Context, c api.Call) api.Undone {
	undone := api.Undone{CallID: c.ID, Tool: c.Tool, TargetCallID: c.TargetCallID,
		TargetTool: c.TargetTool}
	if p.countFitting(ctx, []*Call{p.newCall(c, api.AdmissionDecision{})}) == 0 {
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

// maxUndone bounds the undone calls that a run's error lists. The audit records of the calls are
// complete.
const (
	maxUndone = 500
	// maxUndoneBytes bounds their JSON, in bytes.
	maxUndoneBytes = 512 << 10
)

// limitUndone returns the undone calls that a run's error lists, beginning with those that failed.
func limitUndone(all []api.Undone) []api.Undone {
	if len(all) <= maxUndone && measureJSON(all) <= maxUndoneBytes {
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
	list, size := append(failed, done...), 0
	for i, u := range list {
		if size += measureJSON(u); i == maxUndone || size > maxUndoneBytes {
			return list[:i]
		}
	}
	return list
}

// withUndone adds the undone calls to a run's failure.
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
			return runError(kind, message, app.Unwrap(), *p.tally(&result))
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
