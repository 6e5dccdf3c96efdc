package workflows

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// makeOne admits a call that the run itself makes, executes it and returns its outcome. It returns
// an error if the call cannot be admitted.
func (p *pipeline) makeOne(ctx workflow.Context, call api.Call) (api.CallOutcome, error) {
	decisions, err := p.admitter.admitBatch(ctx, []api.Call{call}, 0)
	if err != nil {
		return api.CallOutcome{}, err
	}
	c := p.newCall(call, decisions[0])
	c.share = p.Divide(p.usage, decisions)
	return c.run(ctx), nil
}

// verify determines whether a call with that failure took effect, by calls of the tool that
// verifies it. If it did, the result is what that tool returned. If it did not, the call fails with
// NotDone, or repeat is set and the call is attempted once more with the same key. Without a usable
// answer the outcome stays unknown.
func (c *callRun) verify(ctx workflow.Context, failure *api.Error) (r *api.Result, repeat bool,
	err error) {
	began := workflow.Now(ctx)
	done, output, err := askTwice(ctx, c)
	if err == nil && !done && c.tool.Verify.OnAbsent == api.AbsentRepeat && !c.repeated {
		return nil, true, nil
	}
	request := c.finalizeRequest()
	request.Tool = c.pipeline.tools.Of(c.call.Tool)
	request.Took = api.Duration(workflow.Now(ctx).Sub(began))
	switch {
	case err == nil && done:
		request.Output = output
		request.Notes = append(request.Notes[:len(request.Notes):len(request.Notes)],
			fmt.Sprintf("verified by %s of %s: the call did not report (%s), and it has taken effect",
				api.VerifyCallID(c.call.ID, c.verifications), c.tool.Verify.Tool, failure.Type))
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
