package workflows

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// details are a run's current details: its status as Markdown, which Temporal's Web UI and CLI read
// from the workflow's metadata. They need no command and add nothing to history. pipeline.changed
// rewrites them if the run's glance has changed.
type details struct {
	pipeline *pipeline
	agent    bool
	// before is the number of turns that earlier runs of the conversation took.
	before int
	shown  glance
	// over is set when the run has ended. The details do not change after that.
	over bool
}

// glance is the summary of a run's state that decides whether the details are rewritten.
type glance struct {
	turn, waiting, running, approvals, asked, escalated, questions int
	usage                                                          api.Usage
	limits                                                         api.Limits
	paused                                                         *api.Pause
	approval                                                       *approval
	question                                                       *question
	undoing                                                        bool
}

type detailsKey struct{}

// startingDetails are the details of a run that has not pinned its tools.
const startingDetails = "**Starting**: a worker fixes the tools that the run may call."

// withDetails shows that the run starts. The context passes the details to newPipeline.
func withDetails(ctx workflow.Context) (workflow.Context, *details) {
	d := &details{}
	workflow.SetCurrentDetails(ctx, startingDetails)
	return workflow.WithValue(ctx, detailsKey{}, d), d
}

// showing wraps a workflow of calls so that it keeps its current details.
func showing(run Run) Run {
	return func(ctx workflow.Context, in *api.RunInput) (*api.RunResult, error) {
		ctx, d := withDetails(ctx)
		result, err := run(ctx, given(in))
		d.end(ctx, result, err)
		return result, err
	}
}

// showingAgent is showing for an agent run, which takes a conversation as second input.
func showingAgent(ctx workflow.Context, in *api.RunInput, earlier []byte) (*api.RunResult, error) {
	ctx, d := withDetails(ctx)
	result, err := agentWorkflow(ctx, given(in), earlier)
	d.end(ctx, result, err)
	return result, err
}

// given returns the input of a run, an empty one for a run that was started without one.
func given(in *api.RunInput) *api.RunInput { return cmp.Or(in, &api.RunInput{}) }

// follow makes the details of the context those of the run.
func (p *pipeline) follow(ctx workflow.Context, in *api.RunInput) {
	d, ok := ctx.Value(detailsKey{}).(*details)
	if !ok {
		d = &details{}
	}
	d.pipeline, d.agent = p, in.Agent != nil
	p.details = d
	p.control.changed, p.control.approvals.changed, p.questions.changed = p.changed, p.changed,
		p.changed
	p.changed(ctx)
}

// changed updates what the run shows about its state: the current details and the search
// attributes. It is called before the run waits for calls or its model, and when people or
// questions change what it waits for. A coroutine that waits for changes would cost more: the SDK
// resumes every coroutine at each step.
func (p *pipeline) changed(ctx workflow.Context) {
	p.updateAttributes(ctx)
	p.details.update(ctx)
}

// update rewrites the details if the run's glance has changed.
func (d *details) update(ctx workflow.Context) {
	if d.over {
		return
	}
	if g := d.glance(); g != d.shown {
		d.shown = g
		workflow.SetCurrentDetails(ctx, d.text(workflow.GetInfo(ctx)))
	}
}

// end shows how the run ended.
func (d *details) end(ctx workflow.Context, result *api.RunResult, err error) {
	d.over = true
	workflow.SetCurrentDetails(ctx, d.ending(result, err))
}

// glance reads the run's state. Its cost does not depend on the number of calls.
func (d *details) glance() glance {
	p := d.pipeline
	g := glance{turn: p.turn, waiting: len(p.runFacts.Open), running: len(p.runFacts.Started),
		approvals: len(p.control.approvals.open), asked: len(p.control.approvals.known),
		questions: len(p.questions.open), usage: p.usage, limits: p.Limits,
		paused: p.control.paused, undoing: p.sizes.History.Undoing}
	if g.approvals > 0 {
		g.approval = p.control.approvals.open[g.approvals-1]
		for _, o := range p.control.approvals.open[:min(g.approvals, maxListed)] {
			if o.Escalated {
				g.escalated++
			}
		}
	}
	if g.questions > 0 {
		g.question = p.questions.open[g.questions-1]
	}
	return g
}

// ending returns the details of a run that has ended.
func (d *details) ending(result *api.RunResult, err error) string {
	t := &detailsText{}
	switch {
	case err == nil:
		t.result(result)
	case workflow.IsContinueAsNewError(err):
		t.line("**Goes on** in a history of its own; this one had become long.")
	case temporal.IsCanceledError(err):
		t.line("**Cancelled**")
	default:
		t.failure(err)
	}
	if d.pipeline != nil {
		t.line(d.used())
	}
	return t.String()
}
