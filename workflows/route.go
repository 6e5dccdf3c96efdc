package workflows

import (
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// schedule schedules the activity of an admitted call on its route. On a keyed lane, a call that comes long after its
// admission first has its key opened again.
func (p *pipeline) schedule(ctx workflow.Context, c api.Call, v api.AdmissionDecision) workflow.Future {
	if v.Route.OpenFor == 0 || workflow.Now(ctx).Before(p.openUntil[c.ID]) {
		return p.scheduleNow(ctx, c, v)
	}
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { end.Set(p.openAndRun(ctx, c, v)) })
	return future
}

// openAndRun opens the key of a call, schedules the call, and waits for it.
func (p *pipeline) openAndRun(ctx workflow.Context, c api.Call, v api.AdmissionDecision) (r api.Result, err error) {
	p.admittedAt(v, workflow.Now(ctx))
	request := api.OpenRequest{Base: p.queue, Lane: p.tools[c.Tool].Lane, Key: v.Route.Key}
	err = workflow.ExecuteLocalActivity(withOpenOptions(ctx), api.OpenKeyActivity, request).Get(ctx, nil)
	if ctx.Err() != nil {
		return r, api.NotStartedError()
	}
	if err == nil {
		err = p.scheduleNow(ctx, c, v).Get(ctx, &r)
	}
	return r, err
}

// admittedAt notes until when the queue of a call's key is served for certain, where it was opened no earlier than at.
func (p *pipeline) admittedAt(v api.AdmissionDecision, at time.Time) {
	if v.Route.OpenFor > 0 {
		p.openUntil[v.ID] = at.Add(v.Route.OpenFor.Std())
	}
}

func (p *pipeline) scheduleNow(ctx workflow.Context, c api.Call, v api.AdmissionDecision) workflow.Future {
	t := p.toolFor(c, v)
	arguments := validated(c, v)
	summary, parent := t.Summary(arguments), p.parent.Call
	switch c.Purpose {
	case api.PurposeUndo, api.PurposeVerify:
		summary = string(c.Purpose) + " " + c.TargetCallID + ": " + summary
		parent = api.CallPath(parent, c.TargetCallID)
	case api.PurposeCheck:
		summary = "check of the run: " + summary
	}
	options := callOptions(p.queue, c.ID, t, v.Route, summary)
	options.Priority = p.priority.call(c, t, v.Route)
	execution := api.Execution{Digest: t.Digest, Arguments: arguments, Origin: p.origin, Notes: v.Notes, Parent: parent,
		Hooks: api.HooksFor(p.hooks.AfterCall, t.Name), Timeout: v.Plan.ShortestTimeout(), Parts: p.partsOf(c.ID)}
	options.StartToCloseTimeout += api.HooksWithin(execution.Hooks)
	if v.Route.Holds {
		execution.QueueTimeout = t.On(v.Route).QueueTimeout
	}
	if t.Kind == api.KindStateful {
		return p.instances.call(ctx, t, options, execution)
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), c.Tool, execution)
}

// validated returns the arguments of an admitted call.
func validated(c api.Call, v api.AdmissionDecision) json.RawMessage {
	if len(v.Arguments) > 0 {
		return v.Arguments
	}
	return json.RawMessage(c.Arguments)
}

// withOpenOptions has a key opened however long the server does not take it: a call must not fail for what passes.
func withOpenOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, localOptions(localTimeout, signalRetry(0), ""))
}
