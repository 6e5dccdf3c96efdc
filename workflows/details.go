package workflows

import (
	"cmp"
	"slices"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// details are a run's current details: its status as Markdown, which Temporal's Web UI and CLI read
// from the workflow's metadata. They need no command and add nothing to history. pipeline.changed
// rewrites them if the run's glance has changed.
type details struct {
	pipeline *pipeline
	// agent and session are set for runs of these kinds.
	agent, session bool
	// before is the number of turns that earlier runs of the conversation took.
	before int
	shown  glance
	// over is set when the run has ended. The details do not change after that.
	over bool
}

// glance is the summary of a run's state that decides whether the details are rewritten.
type glance struct {
	turn, waiting, running, approvals, asked, questions int
	usage                                               api.Usage
	limits                                              api.Limits
	paused                                              *api.Pause
	approval                                            *approval
	question                                            *question
	undoing                                             bool
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

// given returns the input of a run, an empty one for a run that was started without one.
func given(in *api.RunInput) *api.RunInput { return cmp.Or(in, &api.RunInput{}) }

// follow makes the details of the context those of the run.
func (p *pipeline) follow(ctx workflow.Context, in *api.RunInput) {
	d, ok := ctx.Value(detailsKey{}).(*details)
	if !ok {
		d = &details{}
	}
	d.pipeline, d.agent, d.session = p, in.Agent != nil, in.Session != nil
	p.details = d
	p.control.changed, p.control.approvals.changed, p.questions.changed = p.publishState,
		p.publishState,
		p.publishState
	p.publishState(ctx)
}

// publishState updates what the run shows about its state: the current details and the search
// attributes. It is called before the run waits for calls or its model, and when people or
// questions change what it waits for. A coroutine that waits for changes would cost more: the SDK
// resumes every coroutine at each step.
func (p *pipeline) publishState(ctx workflow.Context) {
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
	workflow.SetCurrentDetails(ctx, d.describeEnd(result, err))
}

// glance reads the run's state. Its cost does not depend on the number of calls.
func (d *details) glance() glance {
	p := d.pipeline
	g := glance{turn: p.turn, waiting: p.runFacts.Open(), running: p.runFacts.Running,
		approvals: len(p.control.approvals.open), asked: p.control.approvals.known.Len(),
		questions: len(p.questions.open), usage: p.usage, limits: p.Limits,
		paused: p.control.paused, undoing: p.sizes.History.Undoing}
	if g.approvals > 0 {
		g.approval = p.control.approvals.open[g.approvals-1]
	}
	if g.questions > 0 {
		g.question = p.questions.open[g.questions-1]
	}
	return g
}

// describeEnd returns the details of a run that has ended.
func (d *details) describeEnd(result *api.RunResult, err error) string {
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
		t.line(d.describeUsage())
	}
	return t.String()
}

// maxToolNames bounds the tool names in a search attribute, in bytes as JSON. Servers reject values
// over 2048 bytes, and the whole workflow task with them.
const maxToolNames = 1800

// attributes are the search attributes that a run sets. Its input lists those that the namespace
// has; it sets no others.
type attributes struct {
	known []string
	// waiting is the value set last.
	waiting bool
	// over is set when the run has ended. The attributes do not change after that.
	over bool
}

// attribute is a new value of a search attribute.
type attribute struct {
	name string
	set  temporal.SearchAttributeUpdate
}

// set sets those of the attributes that the namespace has, with one command.
func (a *attributes) set(ctx workflow.Context, all ...attribute) {
	var updates []temporal.SearchAttributeUpdate
	for _, one := range all {
		if slices.Contains(a.known, one.name) {
			updates = append(updates, one.set)
		}
	}
	if len(updates) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("the run's search attributes are not up to date", "error", err)
	}
}

// updateAttributes updates the attributes if the run has started or stopped waiting for a person.
// The command goes into a workflow task that happens anyway.
func (p *pipeline) updateAttributes(ctx workflow.Context) {
	a := &p.attributes
	if a.over || a.waiting == p.waits() || !slices.Contains(a.known, api.AttributeWaiting) {
		return
	}
	a.waiting = p.waits()
	a.set(ctx, p.figures()...)
}

// waits reports whether the run waits for a person.
func (p *pipeline) waits() bool { return len(p.control.approvals.open)+len(p.questions.open) > 0 }

// figures returns the run's usage and calls so far, and whether it waits.
func (p *pipeline) figures() []attribute {
	u := p.usage
	whole := func(name string, n int) attribute {
		return attribute{name, temporal.NewSearchAttributeKeyInt64(name).ValueSet(int64(n))}
	}
	all := []attribute{
		{api.AttributeWaiting,
			temporal.NewSearchAttributeKeyBool(api.AttributeWaiting).ValueSet(
				p.attributes.waiting)},
		whole(api.AttributeTurns, u.Turns),
		whole(api.AttributeCalls, u.Calls),
		whole(api.AttributeTokens, u.InputTokens+u.OutputTokens),
		{api.AttributeCost, temporal.NewSearchAttributeKeyFloat64(api.AttributeCost).ValueSet(
			u.Cost)},
	}
	if names := p.toolNames(); len(names) > 0 {
		all = append(all, attribute{api.AttributeTools,
			temporal.NewSearchAttributeKeyKeywordList(api.AttributeTools).ValueSet(names)})
	}
	return all
}

// toolNames returns the names of the tools that were called, as many as fit; api.OtherTools
// replaces the rest.
func (p *pipeline) toolNames() (names []string) {
	b := p.callStats()
	if b == nil {
		return nil
	}
	size := 0
	for _, t := range b.Tools {
		if size += len(t.Tool) + len(`"",`); size > maxToolNames {
			break
		}
		names = append(names, t.Tool)
	}
	if _, untold := p.runFacts.DescendantCalls.Find(api.OtherTools); untold || b.Others > 0 ||
		len(names) < len(b.Tools) {
		names = append(names, api.OtherTools)
	}
	return names
}

// finishRun returns how a run ends, after it has set the final attributes. p is nil if the run did
// not
// start.
func finishRun(ctx workflow.Context, in *api.RunInput, p *pipeline, result *api.RunResult,
	failure error) (*api.RunResult, error) {
	goesOn := workflow.IsContinueAsNewError(failure)
	a := &attributes{known: in.Attributes}
	var all []attribute
	if p != nil {
		a = &p.attributes
		a.waiting, a.over = goesOn && p.waits(), true
		all = p.figures()
	}
	if !goesOn {
		outcome := failedAs(ctx, failure)
		if failure == nil {
			outcome = result.Outcome
		}
		all = append(all, attribute{api.AttributeOutcome,
			temporal.NewSearchAttributeKeyKeyword(api.AttributeOutcome).ValueSet(string(outcome))})
	}
	a.set(ctx, all...)
	return result, failure
}

// failedAs is the outcome of a run that ends with an error.
func failedAs(ctx workflow.Context, failure error) api.Outcome {
	if ctx.Err() != nil && temporal.IsCanceledError(failure) {
		return api.OutcomeCancelled
	}
	return api.OutcomeFailed
}

// tally sets the usage and call statistics of the run in its result, which it returns.
func (p *pipeline) tally(r *api.RunResult) *api.RunResult {
	r.Usage, r.CallStats = p.usage, p.callStats()
	return r
}

// callStats returns the statistics of the run's calls. It omits names of unknown tools, which come
// from the model.
func (p *pipeline) callStats() *api.CallStats {
	var tools []api.PastCalls
	for _, t := range p.runFacts.Past("") {
		if p.tools.Get(t.Tool) == nil {
			continue
		}
		tools = append(tools, t.Plus(p.runFacts.DescendantCalls.Get(t.Tool)))
	}
	for _, t := range p.runFacts.ContinueDescendants() {
		if t.Tool != api.OtherTools && !slices.ContainsFunc(tools,
			func(own api.PastCalls) bool { return own.Tool == t.Tool }) {
			tools = append(tools, t)
		}
	}
	return newCallStats(p.usage, tools)
}
