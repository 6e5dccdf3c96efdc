package workflows

import (
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// details are a run's current details: how it stands, as Markdown, where Temporal's Web UI and CLI
// ask the run's metadata. They are no command and leave nothing in history. They follow the run's
// state by themselves: at most once when the run has done something, and only where a glance at it
// shows something new.
type details struct {
	pipeline *pipeline
	agent    bool
	// before is how many turns the earlier runs of the conversation took.
	before int
	shown  glance
	// over is set when the run has ended: what is shown then stays.
	over bool
}

// glance is what tells whether the details have to be written anew.
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

// begun is what is shown of a run that has not pinned its tools.
const startingDetails = "**Starting**: a worker fixes the tools that the run may call."

// withDetails has a run show that it begins. The context leads newPipeline to the details.
func withDetails(ctx workflow.Context) (workflow.Context, *details) {
	d := &details{}
	workflow.SetCurrentDetails(ctx, startingDetails)
	return workflow.WithValue(ctx, detailsKey{}, d), d
}

// showing has a workflow of calls keep its current details.
func showing(run func(workflow.Context, api.RunInput) (api.RunResult, error)) any {
	return func(ctx workflow.Context, in api.RunInput) (api.RunResult, error) {
		ctx, d := withDetails(ctx)
		result, err := run(ctx, in)
		d.end(ctx, result, err)
		return result, err
	}
}

// showingAgent does so for one that may have a conversation as its second input.
func showingAgent(ctx workflow.Context, in api.RunInput, earlier []byte) (api.RunResult, error) {
	ctx, d := withDetails(ctx)
	result, err := agentWorkflow(ctx, in, earlier)
	d.end(ctx, result, err)
	return result, err
}

// follow keeps the current details up to date with the run's state.
func (p *pipeline) follow(ctx workflow.Context, in api.RunInput) {
	d, ok := ctx.Value(detailsKey{}).(*details)
	if !ok {
		d = &details{}
	}
	d.pipeline, d.agent = p, in.Agent != nil
	p.details = d
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx, cancel := workflow.NewDisconnectedContext(ctx)
		defer cancel()
		for workflow.Await(ctx, func() bool { return !d.over && d.glance() != d.shown }) == nil {
			d.shown = d.glance()
			workflow.SetCurrentDetails(ctx, d.text(workflow.GetInfo(ctx)))
		}
	})
}

// end shows how the run ended.
func (d *details) end(ctx workflow.Context, result api.RunResult, err error) {
	d.over = true
	workflow.SetCurrentDetails(ctx, d.ending(result, err))
}

// glance looks at the run. It costs next to nothing, however many calls run or wait.
func (d *details) glance() glance {
	p := d.pipeline
	g := glance{turn: p.turn, waiting: len(p.runFacts.Open), running: len(p.runFacts.Started),
		approvals: len(p.control.approvals.open), asked: len(p.control.approvals.known),
		questions: len(p.questions.open), usage: p.usage, limits: p.Limits,
		paused: p.control.paused, undoing: p.historyBudget.Undoing}
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

// ending is what is shown of a run that is over.
func (d *details) ending(result api.RunResult, err error) string {
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
