package workflows

import (
	"cmp"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/workflow"
)

// send starts an attempt as soon as its input fits into the workflow task. It fails if the input is
// too large for any.
func (c *Call) send(ctx workflow.Context,
	start func(workflow.Context) workflow.Future) workflow.Future {
	size := c.inputSize()
	if fault := budget.Payload("the input of call "+c.call.ID, size); fault != nil {
		return c.unsendable(ctx, fault)
	}
	task := &c.pipeline.sizes.Task
	return c.startWhenFits(ctx, size, task.Fits, task.Await,
		func(ctx workflow.Context) workflow.Future {
			task.Add(ctx, size)
			return start(ctx)
		})
}

// unsendable records that the call cannot be sent, and fails.
func (c *Call) unsendable(ctx workflow.Context, fault *api.Error) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_, err := c.finalize(ctx, api.FinalizeResultRequest{Call: c.call.ID, Tool: *c.tool,
			Origin: c.pipeline.findOrigin(c.call.RequestedID()), Notes: c.decision.Notes,
			Error: fault})
		end.SetError(err)
	})
	return future
}

// startWhenFits starts an attempt as soon as n bytes fit into the workflow task, as fits reports
// and
// await waits for, and the call waits for nothing else.
func (c *Call) startWhenFits(ctx workflow.Context, n int, fits func(workflow.Context, int) bool,
	await func(workflow.Context, int) error,
	start func(workflow.Context) workflow.Future) workflow.Future {
	if !c.waits() && fits(ctx, n) {
		return start(ctx)
	}
	waiting, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for c.waits() || !fits(ctx, n) {
			err := await(ctx, n)
			if err == nil && c.waits() {
				err = workflow.Await(ctx, func() bool { return !c.waits() })
			}
			if err != nil {
				end.SetError(failures.CancelledBeforeStart())
				return
			}
		}
		end.Chain(start(ctx))
	})
	return waiting
}

// waits reports whether the call may not start yet: the run is paused, or the instance that served
// calls before is being closed.
func (c *Call) waits() bool { return c.isPaused() || c.pipeline.instances.isClosing(*c.tool) }

// isPaused reports whether the call waits for a paused run. Calls that the run itself makes belong
// to
// the end of others, which a pause does not stop.
func (c *Call) isPaused() bool {
	return c.pipeline.control.paused != nil && !c.call.OfRun()
}

// inputSize returns at most how many bytes the input of the call's activity or child workflow has.
func (c *Call) inputSize() int {
	if c.size > 0 {
		return c.size
	}
	p, size := c.pipeline,
		c.pipeline.passedSize+jsonvalue.PayloadSize(c.Arguments())+64*len(c.parts)
	for _, note := range c.decision.Notes {
		size += jsonvalue.TextSize(note)
	}
	if c.task != nil {
		size += measureJSON(c.task)
	}
	switch c.tool.Dispatch {
	case api.DispatchChildWorkflow:
		size += p.childSize() + jsonvalue.PayloadSize(c.tool.Spec) +
			jsonvalue.TextSize(c.decision.Prompt) +
			filledSize(c)
	case api.DispatchInstance:
		size += p.instances.hostSize(*c.tool)
	}
	c.size = size
	return size
}

// What pipelines without a parent or hooks refer to. Nothing changes them.
var (
	noParent api.Parent
	noHooks  api.Hooks
)

// toActivityOrigin returns the origin for the inputs of activities, which nearly always is the
// same.
func toActivityOrigin(origin *api.Origin) *api.Origin {
	p := origin.ToActivityInput()
	if origin.Caller.Claims == nil && origin.Caller.Principal == p.Caller.Principal &&
		origin.VariablesDigest == p.VariablesDigest {
		return origin
	}
	return new(p)
}

// measure computes what the inputs of all calls have in common.
func (p *pipeline) measure() {
	p.passedSize = measureJSON(api.Execution{Origin: *p.passed, Hooks: p.hooks.AfterCall})
}

// childSize returns how many bytes the inputs of all sub-agents have in common.
func (p *pipeline) childSize() int {
	if p.childBytes == 0 {
		p.childBytes = measureJSON(api.RunInput{Variables: p.origin.Variables, Policies: p.policies,
			Attributes: p.attributes.known})
	}
	size := p.childBytes
	for _, label := range p.runFacts.Labels {
		size += jsonvalue.TextSize(label)
	}
	return size
}

// schedule schedules the call's activity on its route.
func (c *Call) schedule(ctx workflow.Context) workflow.Future {
	p, t, route := c.pipeline, *c.tool, c.decision.Route
	if c.call.OfRun() {
		t.QueueTimeout, route.QueueTimeout = 0, 0
	}
	summary, parent := c.describe()
	options := callOptions(p.queue, p.instances.activityID(c.call.ID), t, route, summary)
	options.Priority = p.priority.Call(c.call, t, route)
	execution := c.execution()
	execution.Parent = parent
	for _, part := range c.parts {
		execution.Parts = append(execution.Parts, part.Part)
	}
	p.questions.openQuestion(ctx, c)
	options.StartToCloseTimeout += hookrules.TotalTimeout(execution.Hooks)
	if route.Holds {
		execution.QueueTimeout = failures.ApplyRoute(t, route).QueueTimeout
	}
	if route.Key != "" {
		execution.Key, execution.Fairness = route.Key, p.priority.Fairness(route)
	}
	switch {
	case t.Dispatch != api.DispatchInstance:
	case c.task == nil:
		return p.instances.call(ctx, t, options, execution)
	default: // the task does not need the instance, which may be lost
		options.TaskQueue = queues.InstanceHost(p.queue, t.Lane)
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), c.call.Tool,
		execution)
}

// describe returns the summary of the call's activity, and the path of the parent call.
func (c *Call) describe() (summary, parent string) {
	// The Web UI shows the summary beside the activity's type, which is the tool's name.
	summary = strings.TrimSpace(callview.Line("", callview.RedactArguments(*c.tool, c.Arguments()), nil))
	summary, parent = cmp.Or(summary, "no arguments"), c.pipeline.parent.Call
	switch target := c.call.TargetCallID; c.call.Purpose {
	case api.PurposeUndo, api.PurposeVerify:
		return string(c.call.Purpose) + " " + target + ": " + summary, api.CallPath(parent, target)
	case api.PurposeCheck:
		return "check of the run: " + summary, parent
	}
	return summary, parent
}

const (
	// maxInlineStep is the size that the answer of an inline model step may have in a workflow
	// task.
	maxInlineStep = api.MaxPayload
)

const (
	// maxInlineBackoff bounds the wait between two attempts of an inline call, because the wait is
	// part of a workflow task.
	maxInlineBackoff = time.Second
	// inlineGrace is added to an inline tool's timeout before its attempt is abandoned.
	inlineGrace = time.Second
)

// inline executes the call within the workflow task as soon as its result fits into what the task
// may record. The future resolves to an api.Result.
func (c *Call) inline(ctx workflow.Context) workflow.Future {
	if fault := failures.InlineFault(*c.tool); fault != nil {
		return readyFuture(ctx, fault)
	}
	task := &c.pipeline.sizes.Task
	return c.startWhenFits(ctx, api.MaxInlineRecord, task.FitsInline, task.AwaitInline,
		c.executeInline)
}

// executeInline starts the local activity of a call whose result fits.
func (c *Call) executeInline(ctx workflow.Context) workflow.Future {
	p := c.pipeline
	p.sizes.Task.Enter(ctx, c.call.ID, api.MaxInlineRecord)
	call := &api.InlineCall{ID: c.call.ID, Tool: *c.tool, Left: p.WallTimeLeft(ctx),
		Apart:     p.origin.Caller.Type == api.CallerAgent && !p.stepsInline,
		Execution: c.execution()}
	options := inlineOptions(*c.tool, call.Hooks, api.InlineSummary(c.call.ID,
		callview.CallLine(*c.tool, call.Arguments)))
	call.Origin = c.origin()
	return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options),
		c.call.Tool, call)
}

func inlineOptions(t api.Tool, hooks []api.Hook, summary string) workflow.LocalActivityOptions {
	retry := retryPolicy(t)
	retry.InitialInterval = shorter(retry.InitialInterval, maxInlineBackoff)
	retry.MaximumInterval = shorter(retry.MaximumInterval, maxInlineBackoff)
	return localOptions(t.Timeout.Std()+inlineGrace+hookrules.TotalTimeout(hooks), retry, summary)
}

// shorter returns the shorter of two durations; zero means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// filledSize returns how many bytes the arguments of the call add to the plan of a plan tool.
func filledSize(c *Call) int {
	if c.decision.Prompt != "" {
		return 0 // an agent
	}
	entry, err := decodeEntry(*c.tool)
	if err != nil || entry.Plan == nil {
		return 0
	}
	filled, err := planrules.Fill(*entry.Plan, c.Arguments())
	if err != nil {
		return 0
	}
	return measureJSON(filled)
}
