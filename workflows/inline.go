package workflows

import (
	"cmp"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// maxRecorded bounds what one workflow task has to record of calls and model steps that ran inline, in bytes: servers take
	// messages of 4 MiB, and other decisions of the task come on top.
	maxRecorded = 2 << 20
	// maxInlineStep is what the answer of a model step that runs inline may have to be recorded with.
	maxInlineStep = api.MaxPayload
	// markerOverhead is about what is recorded of anything that ran inline besides its result.
	markerOverhead = 512
)

const (
	// maxInlineBackoff bounds the wait between two attempts of an inline call: it is spent within a workflow task.
	maxInlineBackoff = time.Second
	// inlineGrace is how much later than an inline tool's own timeout its attempt is given up.
	inlineGrace = time.Second
)

// inline keeps count of what the run's workflow task will have to record. Calls and model steps that run inline are local
// activities: their results are recorded when the task ends, all together.
type inline struct {
	// on says that something of the run may run inline.
	on bool
	// task tells one workflow task from the next, by the history's length at its start.
	task int
	// recorded is what the task has to record so far. entered is what each of those that run may add to it, by id, and
	// reserved their sum.
	recorded, reserved int
	entered            map[string]int
	// ending is set while the run waits for its next workflow task.
	ending bool
}

// await waits until n more bytes fit into what the workflow task records, for which it ends the task if need be. Its error
// is that of a cancelled context.
func (i *inline) await(ctx workflow.Context, n int) error {
	for !i.fits(ctx, n) {
		if i.reserved > 0 || i.ending {
			if err := workflow.Await(ctx, func() bool { return !i.ending && (i.reserved == 0 || i.fits(ctx, n)) }); err != nil {
				return err
			}
			continue
		}
		if err := i.endTask(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (i *inline) fits(ctx workflow.Context, n int) bool {
	i.look(ctx)
	return !i.ending && (i.recorded+i.reserved == 0 || i.recorded+i.reserved+n <= maxRecorded)
}

// enter keeps n bytes for a call or a step that begins.
func (i *inline) enter(id string, n int) {
	if i.entered == nil {
		i.entered = map[string]int{}
	}
	i.entered[id] = n
	i.reserved += n
}

// leave gives back what was kept for a call or a step, which has ended, and counts the size that is recorded of it. Of others
// it does nothing.
func (i *inline) leave(ctx workflow.Context, id string, size int) {
	if n, ok := i.entered[id]; ok {
		delete(i.entered, id)
		i.reserved -= n
		i.add(ctx, size)
	}
}

// endTask ends the workflow task, and with it records what ran inline, by a timer that begins the next one.
func (i *inline) endTask(ctx workflow.Context) error {
	i.ending = true
	defer func() { i.ending = false }()
	err := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "record what ran inline"}).Get(ctx, nil)
	i.recorded = 0
	return err
}

func (i *inline) add(ctx workflow.Context, size int) {
	i.look(ctx)
	i.recorded += size + markerOverhead
}

// look notices that another workflow task has begun.
func (i *inline) look(ctx workflow.Context) {
	if task := workflow.GetInfo(ctx).GetCurrentHistoryLength(); task != i.task {
		i.task, i.recorded = task, 0
	}
}

// verdictsSize is about how many bytes verdicts are recorded with.
func decisionsSize(decisions []api.AdmissionDecision) (size int) {
	for _, v := range decisions {
		size += len(v.Arguments) + len(v.Prompt) + len(v.Question) + markerOverhead/4
		if v.Result != nil {
			size += len(v.Result.Output)
		}
	}
	return size
}

// inline executes the call within the workflow task, as soon as its result fits into what the task
// records. The future has an api.Result.
func (c *callRun) inline(ctx workflow.Context) workflow.Future {
	if fault := c.tool.InlineFault(); fault != nil {
		return failed(ctx, fault)
	}
	p := c.pipeline
	if p.inline.fits(ctx, api.MaxInlineRecord) {
		return c.executeInline(ctx)
	}
	waiting, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := p.inline.await(ctx, api.MaxInlineRecord); err != nil {
			end.SetError(err)
			return
		}
		end.Chain(c.executeInline(ctx))
	})
	return waiting
}

// executeInline starts the local activity of a call whose result fits.
func (c *callRun) executeInline(ctx workflow.Context) workflow.Future {
	p := c.pipeline
	p.inline.enter(c.call.ID, api.MaxInlineRecord)
	call := &api.InlineCall{ID: c.call.ID, Tool: c.tool, Left: p.wallTimeLeft(ctx),
		Apart:     p.origin.Caller.Type == api.CallerAgent && !p.stepsInline,
		Execution: c.execution()}
	options := inlineOptions(c.tool, call.Hooks, api.InlineSummary(c.call.ID, c.tool.Summary(call.Arguments)))
	return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), c.call.Tool, call)
}

func inlineOptions(t api.Tool, hooks []api.Hook, summary string) workflow.LocalActivityOptions {
	retry := retryPolicy(t)
	retry.InitialInterval = shorter(retry.InitialInterval, maxInlineBackoff)
	retry.MaximumInterval = shorter(retry.MaximumInterval, maxInlineBackoff)
	return localOptions(t.Timeout.Std()+inlineGrace+api.HooksWithin(hooks), retry, summary)
}

// shorter returns the shorter one of two durations, of which zero is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// maxBounded is up to how many attempts the time of all attempts together is reckoned with, and what any number counts as.
const maxBounded = 1000

// localOptions bounds each attempt of a local activity by a timeout, and all of them by what they can take together: without
// a bound the SDK takes the one for the other.
func localOptions(timeout time.Duration, retry *temporal.RetryPolicy, summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout:    timeout,
		ScheduleToCloseTimeout: time.Duration(min(cmp.Or(retry.MaximumAttempts, maxBounded), maxBounded)) * (timeout + retry.MaximumInterval),
		RetryPolicy:            retry,
		Summary:                summary,
	}
}

// inlineStep makes a model step within the workflow task. Nobody could answer its questions about the run meanwhile, so it
// is given all it needs.
func (r *agentRun) inlineStep(ctx workflow.Context, o workflow.ActivityOptions, request api.ModelRequest) (response api.ModelResponse, err error) {
	p := r.pipeline
	if err := p.inline.await(ctx, maxInlineStep); err != nil {
		return response, err
	}
	p.inline.enter(o.ActivityID, maxInlineStep)
	request.Inline = &api.InlineStep{ID: o.ActivityID, Messages: slices.Clip(r.conversation.messages),
		Setup: &api.Setup{Agent: r.agent, Pinned: api.Pack(r.pinned)}}
	if request.Limit == "" && request.Compact == nil {
		request.Inline.Left, request.Inline.Admit = p.wallTimeLeft(ctx), p.stepAdmission()
	}
	began := workflow.Now(ctx)
	options := localOptions(o.StartToCloseTimeout, o.RetryPolicy, api.InlineSummary(o.ActivityID, o.Summary))
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), api.ModelActivity, request).Get(ctx, &response)
	p.inline.leave(ctx, o.ActivityID, response.Message.Size()+decisionsSize(response.Decisions))
	for _, v := range response.Decisions {
		p.admittedAt(v, began)
	}
	p.admitted = response.Decisions
	return response, err
}

// stepAdmission is with what a model step that runs inline admits its calls; nil where it cannot, because what sub-agents may
// use depends on what the step itself has used, or because hooks before calls would hold up the step.
func (p *pipeline) stepAdmission() *api.AdmissionRequest {
	if len(p.hooks.BeforeCall) > 0 || slices.ContainsFunc(p.catalog.Tools, func(t api.Tool) bool { return t.Kind == api.KindAgent }) {
		return nil
	}
	request := p.admission(p.usage.Calls)
	request.Tools = p.catalog.Tools
	return &request
}

// noticeWallTime looks at the clock where the wall time's timer may not have been heard of: what runs inline keeps the
// workflow task busy that would tell of it.
func (r *agentRun) noticeWallTime(ctx workflow.Context, stopTurns func()) {
	limit := r.limits.WallTime.Std()
	if r.pipeline.inline.on && limit > 0 && workflow.Now(ctx).Sub(r.started) >= limit {
		r.timeOver = true
		stopTurns()
	}
}
