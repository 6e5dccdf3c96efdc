package workflows

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// sender sends the input of a call's attempt to the server.
type sender struct{ *callRun }

// send starts an attempt as soon as its input fits into the workflow task. It fails if the input is
// too large for any.
func (c sender) send(ctx workflow.Context,
	start func(workflow.Context) workflow.Future) workflow.Future {
	size := c.inputSize()
	if fault := budget.Payload("the input of call "+c.call.ID, size); fault != nil {
		return c.unsendable(ctx, fault)
	}
	task := &c.pipeline.sizes.Task
	return c.fitting(ctx, size, task.Fits, task.Await, func(ctx workflow.Context) workflow.Future {
		task.Add(ctx, size)
		return start(ctx)
	})
}

// unsendable records that the call cannot be sent, and fails.
func (c sender) unsendable(ctx workflow.Context, fault *api.Error) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		_, err := c.finalize(ctx, api.FinalizeResultRequest{Call: c.call.ID, Tool: *c.tool,
			Origin: c.pipeline.originOf(c.call.Asked()), Notes: c.decision.Notes, Error: fault})
		end.SetError(err)
	})
	return future
}

// fitting starts an attempt as soon as n bytes fit into the workflow task, as fits reports and
// await waits for, and the call waits for nothing else.
func (c sender) fitting(ctx workflow.Context, n int, fits func(workflow.Context, int) bool,
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
func (c sender) waits() bool { return c.paused() || c.pipeline.instances.isClosing(*c.tool) }

// paused reports whether the call waits for a paused run. Calls that the run itself makes belong to
// the end of others, which a pause does not stop.
func (c sender) paused() bool {
	return c.pipeline.control.paused != nil && !c.call.OfRun()
}

// inputSize returns at most how many bytes the input of the call's activity or child workflow has.
func (c sender) inputSize() int {
	if c.size > 0 {
		return c.size
	}
	p, size := c.pipeline,
		c.pipeline.passedSize+jsonvalue.PayloadSize(c.arguments())+64*len(c.parts)
	for _, note := range c.decision.Notes {
		size += jsonvalue.TextSize(note)
	}
	if c.task != nil {
		size += encoded(c.task)
	}
	switch c.tool.Dispatch {
	case api.DispatchChildWorkflow:
		size += p.childSize() + jsonvalue.PayloadSize(c.tool.Spec) +
			jsonvalue.TextSize(c.decision.Prompt) +
			filledSize(c.callRun)
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

// passed returns the origin for the inputs of activities, which nearly always is the same.
func passed(origin *api.Origin) *api.Origin {
	p := origin.Passed()
	if origin.Caller.Claims == nil && origin.Caller.Principal == p.Caller.Principal &&
		origin.VariablesDigest == p.VariablesDigest {
		return origin
	}
	return new(p)
}

// measure computes what the inputs of all calls have in common.
func (p *pipeline) measure() {
	p.passedSize = encoded(api.Execution{Origin: *p.passed, Hooks: p.hooks.AfterCall})
}

// childSize returns how many bytes the inputs of all sub-agents have in common.
func (p *pipeline) childSize() int {
	if p.childBytes == 0 {
		p.childBytes = encoded(api.RunInput{Variables: p.origin.Variables, Policies: p.policies,
			Attributes: p.attributes.known})
	}
	size := p.childBytes
	for _, label := range p.runFacts.Labels {
		size += jsonvalue.TextSize(label)
	}
	return size
}

// encoded returns the size of a value as JSON.
func encoded(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return api.MaxPayload
	}
	return len(data)
}

// pinRules pins the run to the rules for all runs that came with decisions, if it has none.
func (p admitter) pinRules(decisions ...api.AdmissionDecision) {
	for _, v := range decisions {
		if v.Pinned != nil && p.pinned.Policies.Digest == "" {
			p.pinned.Policies = v.Pinned.Value
		}
	}
}

// schedule schedules the call's activity on its route.
func (c *callRun) schedule(ctx workflow.Context) workflow.Future {
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
	p.questions.scheduled(ctx, c)
	options.StartToCloseTimeout += hookrules.AllWithin(execution.Hooks)
	if route.Holds {
		execution.QueueTimeout = failures.OnRoute(t, route).QueueTimeout
	}
	if route.Key != "" {
		execution.Key, execution.Fairness = route.Key, p.priority.Fairness(route)
		execution.Requeues = c.requeues
	}
	switch {
	case t.Dispatch != api.DispatchInstance:
	case c.task == nil:
		return p.instances.call(ctx, t, options, execution)
	default: // the task does not need the instance, which may be lost
		options.TaskQueue = queues.InstanceHostQueue(p.queue, t.Lane)
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), c.call.Tool,
		execution)
}

// afterCancel returns the error of a call that the run cancelled because of fault, and whose
// activity ended with err. The activity of a started call can end otherwise than cancelled: its
// worker was lost, or reported before it knew. The SDK then keeps the activity's ID, and fails
// workflow tasks that give it to another activity. The next one of the call has another ID.
func (s *instances) afterCancel(activityID string, fault *api.Error, err error) error {
	if temporal.IsCanceledError(err) {
		return fault
	}
	if s.blocked == nil {
		s.blocked = map[string]int{}
	}
	s.blocked[api.CallOfActivity(activityID)]++
	return err
}

// activityID returns the ID of the next activity of a call.
func (s *instances) activityID(callID string) string {
	return api.CallActivityID(callID, s.blocked[callID])
}

// execution returns the input of the call's activity, without the lane-specific parts.
func (c *callRun) execution() api.Execution {
	p := c.pipeline
	return api.Execution{Digest: c.tool.Digest, Arguments: c.arguments(), Origin: c.passed(),
		Notes: c.decision.Notes, Parent: p.parent.Call,
		Hooks:   hookrules.For(p.hooks.AfterCall, c.tool.Name),
		Timeout: policyrules.ShortestTimeout(c.decision.Plan), Task: c.task,
		HasErrors: p.usage.Failed > 0, Own: c.call.OfRun()}
}

// origin returns the origin of the call, which may have a caller and a trace of its own.
func (c *callRun) origin() api.Origin {
	o := c.pipeline.originOf(c.call.Asked())
	o.Trace = cmp.Or(c.call.Trace, o.Trace)
	return o
}

// passed returns the origin of the call for the input of its activity.
func (c *callRun) passed() api.Origin {
	o, own := *c.pipeline.passed, c.origin()
	o.Caller, o.Trace = own.Caller.Passed(), own.Trace
	return o
}

// describe returns the summary of the call's activity, and the path of the parent call.
func (c *callRun) describe() (summary, parent string) {
	// The Web UI shows the summary beside the activity's type, which is the tool's name.
	summary = strings.TrimSpace(callview.Line("", callview.RedactArguments(*c.tool, c.arguments()), nil))
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
func (c *callRun) inline(ctx workflow.Context) workflow.Future {
	if fault := failures.InlineFault(*c.tool); fault != nil {
		return readyFuture(ctx, fault)
	}
	task := &c.pipeline.sizes.Task
	return sender{c}.fitting(ctx, api.MaxInlineRecord, task.FitsInline, task.AwaitInline,
		c.executeInline)
}

// executeInline starts the local activity of a call whose result fits.
func (c *callRun) executeInline(ctx workflow.Context) workflow.Future {
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
	return localOptions(t.Timeout.Std()+inlineGrace+hookrules.AllWithin(hooks), retry, summary)
}

// shorter returns the shorter of two durations; zero means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// maxBounded is the number of attempts up to which their total time is computed; unlimited attempts
// count as this number.
const maxBounded = 1000

// localOptions bounds each attempt of a local activity by timeout, and all attempts by their
// possible total. Without a total the SDK uses the timeout of one attempt for it.
func localOptions(timeout time.Duration, retry *temporal.RetryPolicy,
	summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: timeout,
		ScheduleToCloseTimeout: time.Duration(min(cmp.Or(retry.MaximumAttempts, maxBounded),
			maxBounded)) * (timeout + retry.MaximumInterval),
		RetryPolicy: retry,
		Summary:     summary,
	}
}

// inlineStep makes a model step within the workflow task. The run cannot answer queries meanwhile,
// so the step gets all it needs as input.
func (r *agentRun) inlineStep(ctx workflow.Context, s *modelStep,
	response *api.ModelResponse) error {
	p, o, request := r.pipeline, &s.options, &s.request
	if err := p.sizes.Task.AwaitInline(ctx, maxInlineStep); err != nil {
		return err
	}
	p.sizes.Task.Enter(ctx, o.ActivityID, maxInlineStep)
	setup := setupOf(ctx, r.in, &r.pinned)
	setup.Agent = r.agent
	request.Inline = &api.InlineStep{ID: o.ActivityID,
		Messages: slices.Clip(r.conversation.Messages), Setup: &setup}
	if request.Limit == "" && request.Compact == nil {
		request.Inline.Left, request.Inline.Admit = p.WallTimeLeft(ctx), p.admitter.stepAdmission()
	}
	options := localOptions(o.StartToCloseTimeout, o.RetryPolicy, api.InlineSummary(o.ActivityID,
		o.Summary))
	err := workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options),
		api.ModelActivity, *request).Get(ctx, response)
	p.sizes.Task.Leave(ctx, o.ActivityID, response.Message.Size()+
		budget.DecisionsSize(response.Decisions))
	p.admitter.pinRules(response.Decisions...)
	p.admitted = response.Decisions
	return err
}

// stepAdmission returns what an inline model step needs to admit its own calls. It returns nil if
// the step cannot admit them: because what sub-agents may use depends on the step's own usage, or
// because hooks before calls would delay the step.
func (p admitter) stepAdmission() *api.AdmissionRequest {
	if len(p.hooks.BeforeCall) > 0 || slices.ContainsFunc(p.pinned.Catalog.Tools,
		func(t api.Tool) bool { return t.Dispatch == api.DispatchChildWorkflow }) {
		return nil
	}
	request := p.admission(api.Call{}, p.usage.Calls)
	request.Tools = p.pinned.Catalog.Tools
	return &request
}
