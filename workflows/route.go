package workflows

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// schedule schedules the activity of the call on its route. On a keyed lane, a call that comes long
// after its admission first has its key opened again.
func (c *callRun) schedule(ctx workflow.Context) workflow.Future {
	route := c.decision.Route
	if route.OpenFor == 0 || workflow.Now(ctx).Before(c.pipeline.openUntil[c.call.ID]) {
		return c.scheduleActivity(ctx)
	}
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := c.openKey(ctx); err != nil {
			end.SetError(err)
			return
		}
		end.Chain(c.scheduleActivity(ctx))
	})
	return future
}

// openKey opens the key of the call's lane.
func (c *callRun) openKey(ctx workflow.Context) error {
	p, route := c.pipeline, c.decision.Route
	p.admittedAt(c.decision, workflow.Now(ctx))
	request := api.OpenRequest{Base: p.queue, Lane: c.tool.Lane, Key: route.Key}
	err := workflow.ExecuteLocalActivity(withOpenOptions(ctx), api.OpenKeyActivity, request).Get(ctx, nil)
	if ctx.Err() != nil {
		return api.NotStartedError()
	}
	return err
}

// admittedAt notes until when the queue of a call's key is certainly served, if it was opened at
// that time or later.
func (p *pipeline) admittedAt(v api.AdmissionDecision, at time.Time) {
	if v.Route.OpenFor > 0 {
		p.openUntil[v.ID] = at.Add(v.Route.OpenFor.Std())
	}
}

func (c *callRun) scheduleActivity(ctx workflow.Context) workflow.Future {
	p, t, route := c.pipeline, c.tool, c.decision.Route
	summary, parent := c.describe()
	options := callOptions(p.queue, c.call.ID, t, route, summary)
	options.Priority = p.priority.call(c.call, t, route)
	execution := c.execution()
	execution.Parent = parent
	for _, part := range c.parts {
		execution.Parts = append(execution.Parts, part.Part)
	}
	options.StartToCloseTimeout += api.HooksWithin(execution.Hooks)
	if route.Holds {
		execution.QueueTimeout = t.On(route).QueueTimeout
	}
	if t.Kind == api.KindStateful {
		return p.instances.call(ctx, t, options, execution)
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), c.call.Tool, execution)
}

// execution returns the input of the call's activity, without what depends on the lane.
func (c *callRun) execution() api.Execution {
	p := c.pipeline
	return api.Execution{Digest: c.tool.Digest, Arguments: c.arguments(), Origin: p.origin,
		Notes: c.decision.Notes, Parent: p.parent.Call,
		Hooks: api.HooksFor(p.hooks.AfterCall, c.tool.Name), Timeout: c.decision.Plan.ShortestTimeout()}
}

// describe returns the summary of the call's activity, and the path of the call that it works for.
func (c *callRun) describe() (summary, parent string) {
	summary, parent = c.tool.Summary(c.arguments()), c.pipeline.parent.Call
	switch target := c.call.TargetCallID; c.call.Purpose {
	case api.PurposeUndo, api.PurposeVerify:
		return string(c.call.Purpose) + " " + target + ": " + summary, api.CallPath(parent, target)
	case api.PurposeCheck:
		return "check of the run: " + summary, parent
	}
	return summary, parent
}

// withOpenOptions allows any number of attempts to open a key: a call must not fail because the
// server is unavailable for a while.
func withOpenOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, localOptions(localTimeout, signalRetry(0), ""))
}
