package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// undo records the calls that compensate the run's calls if the run ends in a way that requires it.
// The zero value records and undoes nothing.
type undo struct {
	// on is set if undo calls are recorded; when lists the ends of the run that execute them.
	on   bool
	when api.UndoWhen
	// calls are ready to execute, in the order in which the calls that they undo took effect; size
	// is the length of their arguments in bytes.
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

// continueState returns the undo calls for another run; nil for none.
func (u *undo) continueState() *api.Packed[[]api.Call] {
	if len(u.calls) == 0 {
		return nil
	}
	packed := api.Pack(u.calls)
	return &packed
}

// noteUndo records the undo calls of this call and its parts, if its tool declares undo and it may
// have taken effect.
func (c *callRun) noteUndo(out api.CallOutcome) {
	p, t := c.pipeline, c.pipeline.tools.Of(c.call.Tool)
	if !p.undo.on || t.Undo == nil || c.call.Purpose == api.PurposeUndo {
		return
	}
	if len(c.parts) == 0 && c.mayHaveActed(out) {
		p.undo.note(t, p.origin.Run, c.call, c.decision, out)
	}
	for _, part := range c.parts {
		if out := out.PartOf(part.ID); c.mayHaveActed(out) {
			p.undo.note(t, p.origin.Run, part.call, part.decision, out)
		}
	}
}

// note records the call that undoes a call with that outcome.
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

// mayHaveActed reports whether the call, or a part of it, may have effects to undo.
func (c *callRun) mayHaveActed(out api.CallOutcome) bool {
	return out.Result != nil || !c.finalized && out.Error.MayHaveActed()
}

// adopt records the undo calls of the sub-agent's run of a call.
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

// end returns the error with which the run ends after its loop or calls ended with err. A failed or
// cancelled run first undoes its calls, unless undo is off; the error then has its usage and what
// was undone.
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
		// The error carries the usage to the caller of the run.
		return temporal.NewCanceledError(p.usage)
	case cancelled:
		return temporal.NewCanceledError(p.usage, undone)
	case len(undone) == 0:
		return err
	}
	return p.withUndone(err, undone)
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

// maxUndone bounds the undone calls that a run's error lists. The audit records of the calls are
// complete.
const (
	maxUndone = 500
	// maxUndoneBytes bounds their JSON, in bytes.
	maxUndoneBytes = 512 << 10
)

// reported returns the undone calls that a run's error lists, beginning with those that failed.
func reported(all []api.Undone) []api.Undone {
	if len(all) <= maxUndone && encoded(all) <= maxUndoneBytes {
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
		if size += encoded(u); i == maxUndone || size > maxUndoneBytes {
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

// makeOne admits a call that the run itself makes, executes it and returns its outcome. It returns
// an error if the call cannot be admitted.
func (p *pipeline) makeOne(ctx workflow.Context, call api.Call) (api.CallOutcome, error) {
	decisions, err := p.admitter.admitBatch(ctx, []api.Call{call}, 0, true)
	if err != nil {
		return api.CallOutcome{}, err
	}
	c := p.newCall(call, decisions[0])
	c.share = p.Divide(p.usage, decisions)
	return c.run(ctx), nil
}

// verify determines whether a call with that failure took effect, by calls of the tool that
// verifies it. If it did, the result is what that tool returned. If it did not, the call fails with
// NotDone, or repeat is set and the call is attempted once more with the same key, unless its
// client has cancelled it. Without a usable answer the outcome stays unknown.
func (c *callRun) verify(ctx workflow.Context, failure *api.Error) (r *api.Result, repeat bool,
	err error) {
	if c.session == nil {
		return c.verifyOn(ctx, ctx, failure)
	}
	// The session goes on if the client cancels the call, before this or meanwhile.
	verified, end := workflow.NewFuture(ctx)
	workflow.Go(c.session, func(own workflow.Context) {
		r, repeat, err = c.verifyOn(own, ctx, failure)
		end.SetValue(nil)
	})
	_ = verified.Get(ctx, nil) // has no error
	return r, repeat, err
}

// verifyOn is verify on a context of its own; call is that of the call, which its client may
// cancel.
func (c *callRun) verifyOn(ctx, call workflow.Context, failure *api.Error) (r *api.Result,
	repeat bool, err error) {
	began := workflow.Now(ctx)
	done, output, err := askTwice(ctx, c)
	if err == nil && !done && c.tool.Verify.OnAbsent == api.AbsentRepeat && !c.repeated &&
		call.Err() == nil {
		return nil, true, nil
	}
	request := c.finalizeRequest()
	request.Tool = c.pipeline.tools.Of(c.call.Tool)
	request.Took = api.Duration(workflow.Now(ctx).Sub(began))
	switch {
	case err == nil && done:
		request.Output = output
		request.Notes = slices.Concat(request.Notes, failure.Notes, []string{fmt.Sprintf(
			"verified by %s of %s: the call did not report (%s), and it has taken effect",
			api.VerifyCallID(c.call.ID, c.verifications), c.tool.Verify.Tool, failure.Type)})
	case err == nil:
		absent := *failure
		absent.Type, absent.NotDone = api.ErrExecution, true
		absent.Message += fmt.Sprintf("; %s of %s found that it had no effect",
			api.VerifyCallID(c.call.ID, c.verifications), c.tool.Verify.Tool)
		request.Error = &absent
	default:
		unknown := *failure
		unknown.Message += "; verifying it failed: " + cutText(err.Error())
		request.Error = &unknown
	}
	r, err = c.finalize(ctx, request)
	return r, false, err
}

// askTwice asks the tool that verifies c whether c took effect. The answer that it did not counts
// only the second time, after the attempt can no longer be running.
func askTwice(ctx workflow.Context, c *callRun) (done bool, output json.RawMessage, err error) {
	done, output, err = c.askVerifier(ctx)
	if err != nil || done {
		return done, output, err
	}
	options := workflow.TimerOptions{Summary: "call " + c.call.ID + " is verified again"}
	waited := workflow.NewTimerWithOptions(ctx, c.tool.AbsentAfter().Std(), options)
	if err := waited.Get(ctx, nil); err != nil {
		return false, nil, errVerifyingEnded
	}
	return c.askVerifier(ctx)
}

// errVerifyingEnded is why a call that had no effect at first is not verified again.
var errVerifyingEnded = errors.New("the run was cancelled or reached a limit before the answer counts")

// askVerifier makes the call that verifies c.
func (c *callRun) askVerifier(ctx workflow.Context) (done bool, output json.RawMessage, err error) {
	c.verifications++
	p, how := c.pipeline, c.tool.Verify
	arguments, err := how.Call().For(api.UndoSource{Arguments: c.arguments(),
		Key: api.IdempotencyKey(p.origin.Run, c.call.ID)})
	if err != nil {
		return false, nil, err
	}
	out, err := p.makeOne(ctx, api.Call{ID: api.VerifyCallID(c.call.ID, c.verifications),
		Tool:        how.Tool,
		Arguments:   string(arguments),
		CallPurpose: api.CallPurpose{Purpose: api.PurposeVerify, TargetCallID: c.call.ID}})
	switch {
	case err != nil:
		return false, nil, err
	case out.Error != nil:
		return false, nil, out.Error
	}
	return how.Evaluate(out.Result)
}
