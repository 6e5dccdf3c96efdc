package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// maxVerified is how often a call is verified: when its outcome is unknown, and once more when it was made again and its outcome
// is unknown again.
const maxVerified = 2

// verify finds out what became of a call whose outcome is unknown, as failure says, where its tool says how. The future gives
// the call's result or error. It returns nil where there is nothing to find out, or the run is cancelled.
func (p *pipeline) verify(ctx workflow.Context, c api.Call, v api.AdmissionDecision, failure *api.Error) workflow.Future {
	if !p.tools[c.Tool].Verifiable(failure) || p.verified[c.ID] == maxVerified || ctx.Err() != nil {
		return nil
	}
	p.verified[c.ID]++
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { end.Set(p.findOut(ctx, c, v, failure)) })
	return future
}

// findOut asks the tool that verifies. Where the call has taken effect, what that tool knows of it is the call's result; where it
// has not, the call is made once more with the same key; where that tool does not tell, the outcome stays unknown.
func (p *pipeline) findOut(ctx workflow.Context, c api.Call, v api.AdmissionDecision, failure *api.Error) (any, error) {
	t, n := p.tools[c.Tool], p.verified[c.ID]
	began := workflow.Now(ctx)
	done, output, err := p.askWhether(ctx, c, v, n)
	if err == nil && !done && n < maxVerified && ctx.Err() == nil {
		return p.onceMore(ctx, c, v)
	}
	p.verified[c.ID] = maxVerified
	request := api.FinalizeResultRequest{Call: c.ID, Tool: t, Origin: p.origin, Notes: v.Notes,
		Hooks: api.HooksFor(p.hooks.AfterCall, c.Tool), Arguments: validated(c, v), Parent: p.parent.Call, Took: api.Duration(workflow.Now(ctx).Sub(began))}
	if err == nil && done {
		request.Output = output
		request.Notes = append(request.Notes[:len(request.Notes):len(request.Notes)],
			fmt.Sprintf("verified by %s of %s: the call did not report (%s), and it has taken effect", api.VerifyCallID(c.ID, n), t.Verify.Tool, failure.Type))
	} else {
		unknown := *failure
		unknown.Type = api.ErrOutcomeUnknown
		if err != nil {
			unknown.Message += "; verifying it failed: " + cutText(err.Error())
		} else {
			unknown.Message += "; it had not taken effect when it was verified"
		}
		request.Error = &unknown
	}
	return p.finalizeResult(ctx, request)
}

// askWhether makes the nth call that verifies another one.
func (p *pipeline) askWhether(ctx workflow.Context, c api.Call, v api.AdmissionDecision, n int) (done bool, output json.RawMessage, err error) {
	how := p.tools[c.Tool].Verify
	arguments, err := how.Call().For(api.UndoSource{Arguments: validated(c, v), Key: api.IdempotencyKey(p.origin.Run, c.ID)})
	if err != nil {
		return false, nil, err
	}
	asks := api.Call{ID: api.VerifyCallID(c.ID, n), Tool: how.Tool, Arguments: string(arguments), CallPurpose: api.CallPurpose{Purpose: api.PurposeVerify, TargetCallID: c.ID}}
	decisions, err := p.admitBatch(ctx, []api.Call{asks}, 0)
	if err != nil {
		return false, nil, err
	}
	switch v := decisions[0]; {
	case v.Error != nil:
		return false, nil, p.refused(asks, v).Error
	case v.Result != nil:
		return how.Evaluate(p.overridden(asks, v).Result)
	}
	out, again := p.outcome(ctx, asks, decisions[0], p.execute(ctx, asks, decisions[0]))
	for again != nil {
		out, again = p.outcome(ctx, asks, decisions[0], again)
	}
	if out.Error != nil {
		return false, nil, out.Error
	}
	return how.Evaluate(out.Result)
}

// onceMore makes a call again that had not taken effect.
func (p *pipeline) onceMore(ctx workflow.Context, c api.Call, v api.AdmissionDecision) (any, error) {
	options := workflow.TimerOptions{Summary: "call " + c.ID + " had not taken effect"}
	if workflow.NewTimerWithOptions(ctx, time.Millisecond, options).Get(ctx, nil) != nil {
		return nil, api.NotStartedError()
	}
	var r api.Result
	err := p.schedule(ctx, c, v).Get(ctx, &r)
	return r, err
}
