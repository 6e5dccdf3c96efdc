package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/core/undorules"
	"go.temporal.io/sdk/workflow"
)

// verification determines whether a call with an unknown outcome took effect, by calls of the tool
// that verifies it. If it did, the result is what that tool returned. If it did not, the call fails
// with NotDone, or is attempted once more with the same key, unless its client has cancelled it.
// Without a usable answer the outcome stays unknown.
type verification struct {
	steps
	began   time.Time
	failure *api.Error
}

// evaluation is what the tool that verifies a call says of it: whether it took effect, and its
// result. err is why there is no answer.
type evaluation struct {
	done   bool
	output json.RawMessage
	err    error
}

// verify verifies the call, whose last attempt failed.
func (s steps) verify(failure *api.Error) {
	s.call.goOn(s.flow.ctx, api.JournalVerify, failure)
	v := verification{s, workflow.Now(s.flow.ctx), failure}
	if s.call.session == nil {
		v.askTwice(s.flow, v.decide)
		return
	}
	// The session goes on if the client cancels the call, before this or meanwhile.
	verified, end := workflow.NewFuture(s.flow.ctx)
	var answer *evaluation
	s.flow.Add(verified, func(workflow.Future) { v.decide(*answer) })
	workflow.Go(s.call.session, func(ctx workflow.Context) {
		f := s.call.pipeline.newFlow(ctx)
		v.askTwice(f, func(a evaluation) { answer = &a })
		f.until(func() bool { return answer != nil })
		end.SetValue(nil)
	})
}

// decide repeats or finalizes the call by the answer.
func (v verification) decide(a evaluation) {
	c, ctx := v.call, v.flow.ctx
	if a.err == nil && !a.done && c.tool.Verify.OnAbsent == api.AbsentRepeat && !c.repeated &&
		ctx.Err() == nil {
		c.repeated, c.task = true, nil
		c.goOn(ctx, api.JournalAttempt, v.failure)
		v.again(time.Millisecond, "had no effect")
		return
	}
	request, failure := c.finalizeRequest(), *v.failure
	request.Tool = c.pipeline.tools.Of(c.call.Tool)
	request.Took = api.Duration(workflow.Now(ctx).Sub(v.began))
	by := undorules.VerifyCallID(c.call.ID, c.verifications) + " of " + c.tool.Verify.Tool
	switch {
	case a.err == nil && a.done:
		request.Output = a.output
		request.Notes = slices.Concat(request.Notes, failure.Notes, []string{fmt.Sprintf(
			"verified by %s: the call did not report (%s), and it has taken effect", by,
			failure.Type)})
	case a.err == nil:
		failure.Type, failure.NotDone = api.ErrExecution, true
		failure.Message += "; " + by + " found that it had no effect"
		request.Error = &failure
	default:
		failure.Message += "; verifying it failed: " + cutText(a.err.Error())
		request.Error = &failure
	}
	v.finalize(request)
}

// askTwice asks the tool whether the call took effect. The answer that it did not counts only the
// second time, after the attempt can no longer be running.
func (v verification) askTwice(f *flow, ended func(evaluation)) {
	v.ask(f, func(a evaluation) {
		if a.err != nil || a.done {
			ended(a)
			return
		}
		waited := workflow.NewTimerWithOptions(f.ctx, v.call.tool.AbsentAfter().Std(),
			workflow.TimerOptions{Summary: "call " + v.call.call.ID + " is verified again"})
		f.Add(waited, func(workflow.Future) {
			if waited.Get(f.ctx, nil) != nil {
				ended(evaluation{err: errVerifyingEnded})
				return
			}
			v.ask(f, ended)
		})
	})
}

// errVerifyingEnded is why a call that had no effect at first is not verified again.
var errVerifyingEnded = errors.New("the run was cancelled or reached a limit before the answer counts")

// ask makes the call that verifies this one.
func (v verification) ask(f *flow, ended func(evaluation)) {
	c, how := v.call, v.call.tool.Verify
	c.verifications++
	arguments, err := undorules.Arguments(how.Call(), placeholders.Source{Arguments: c.Arguments(),
		Key: api.IdempotencyKey(c.pipeline.origin.Run, c.call.ID)})
	if err != nil {
		ended(evaluation{err: err})
		return
	}
	call := api.Call{ID: undorules.VerifyCallID(c.call.ID, c.verifications), Tool: how.Tool,
		Arguments:   string(arguments),
		CallPurpose: api.CallPurpose{Purpose: api.PurposeVerify, TargetCallID: c.call.ID}}
	f.makeOwn(call, func(out api.CallOutcome, err error) {
		var a evaluation
		switch {
		case err != nil:
			a.err = err
		case out.Error != nil:
			a.err = out.Error
		default:
			a.done, a.output, a.err = undorules.ReadAnswer(*how, out.Result)
		}
		ended(a)
	})
}
