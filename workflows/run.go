package workflows

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// source is where the calls of a run come from: the turns of an agent, a plan, a direct call, or
// the updates of a session. runFrom calls its methods.
type source interface {
	// open registers queries and gets what the run has to know before its tools are pinned.
	open(ctx workflow.Context) error
	// caller is whom the calls are made for, mode how their arguments are checked.
	caller() api.Caller
	mode() api.Mode
	// pins returns the request that pins the tools of a run with that ID; nil if calls bring their
	// tools with them.
	pins(ctx workflow.Context, run string) *api.PinRequest
	// features are the features that only runs of this source have.
	features() []Follower
	// begin prepares the first call. The state of the execution before has been restored.
	begin(ctx workflow.Context, p *pipeline) error
	// makeCalls makes the calls and returns the result of the run, or why it ends without one.
	makeCalls(ctx workflow.Context) (*api.RunResult, error)
	// finish takes how the run ends, after its calls were undone where that is required.
	finish(ctx workflow.Context, result *api.RunResult, err error) (*api.RunResult, error)
}

// basicSource has what sources other than agents have in common.
type basicSource struct{ in *api.RunInput }

func (basicSource) open(workflow.Context) error { return nil }
func (c basicSource) mode() api.Mode            { return c.in.Mode }
func (basicSource) features() []Follower        { return nil }

func (basicSource) finish(_ workflow.Context, result *api.RunResult, err error) (*api.RunResult,
	error) {
	return result, err
}

// runFrom takes a run from its start to its end, or to continue-as-new. pinned is what the run is
// pinned to, from its start on.
func runFrom(ctx workflow.Context, in *api.RunInput, pinned *api.Pinned,
	s source) (*api.RunResult, error) {
	p, err := startFrom(ctx, in, pinned, s)
	if temporal.IsCanceledError(err) {
		// The server adds details of its own to the error of an activity that it cancels before its
		// start. Readers would take them for the usage of the run.
		err = temporal.NewCanceledError()
	}
	if err != nil {
		return finishRun(ctx, in, p, nil, err)
	}
	result, err := s.makeCalls(ctx)
	if !workflow.IsContinueAsNewError(err) {
		result, err = s.finish(ctx, result, p.end(ctx, err))
		p.instances.close(ctx) // undo calls may need them
	}
	return finishRun(ctx, in, p, result, err)
}

// startFrom pins the tools, or restores the state of the execution before. The pipeline is nil if
// the run does not get that far.
func startFrom(ctx workflow.Context, in *api.RunInput, pinned *api.Pinned,
	s source) (*pipeline, error) {
	control, err := answerSetup(ctx, in, pinned)
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	origin := newOrigin(ctx, in, s.caller())
	if in.State != nil {
		*pinned = in.State.Pinned.Value
	} else if request := s.pins(ctx, origin.Run); request != nil {
		if *pinned, err = pin(ctx, control.sizes, *request); err != nil {
			return nil, err
		}
	}
	p := newPipeline(ctx, in, origin, pinned, s.mode(), control)
	p.addTools(pinned.DescendantTools)
	if in.Parent != nil {
		p.parent = in.Parent
	}
	p.followers = append(p.followers, s.features()...)
	if in.State != nil {
		p.usage = in.State.Usage
		p.followers.Restore(ctx, in.State)
	}
	return p, s.begin(ctx, p)
}

// end returns the error with which the run ends after its loop or calls ended with err. A failed or
// cancelled run first undoes its calls, unless undo is off; the error then has its usage and what
// was undone.
func (p *pipeline) end(ctx workflow.Context, err error) error {
	if err == nil || workflow.IsContinueAsNewError(err) {
		return err
	}
	p.control.close()
	cancelled := ctx.Err() != nil && temporal.IsCanceledError(err)
	var undone []api.Undone
	if p.undo.applies(cancelled) {
		undone = p.undoCalls(ctx)
	}
	switch {
	case cancelled && len(undone) == 0:
		// The error carries the usage to the caller of the run.
		return temporal.NewCanceledError(p.usage)
	case cancelled:
		return temporal.NewCanceledError(p.usage, undone)
	case len(undone) == 0:
		return err
	}
	return p.withUndone(err, undone)
}

// The types of the workflows of runs: those of plans, direct calls and sessions, and that of
// agents, which takes the earlier messages of its conversation as codec.EncodeMessages returns
// them, or what a feature opens the run with.
type (
	RunWorkflow   = func(workflow.Context, *api.RunInput) (*api.RunResult, error)
	AgentWorkflow = func(workflow.Context, *api.RunInput, []byte) (*api.RunResult, error)
)

func newPipeline(ctx workflow.Context, in *api.RunInput, origin api.Origin, pinned *api.Pinned,
	mode api.Mode, c *control) *pipeline {
	catalog := &pinned.Catalog
	p := &pipeline{origin: &origin, mode: mode, override: in.Mode, parent: &noParent,
		hooks:    &noHooks,
		priority: turn.NewPriority(ctx, in, origin), control: c, questions: c.questions,
		sizes: c.sizes, queue: workflow.GetInfo(ctx).TaskQueueName, runFacts: turn.NewFacts(in),
		pinned: pinned, journal: journal{task: &c.sizes.Task}}
	c.questions.origin = p.findOrigin
	p.addTools(catalog.Tools)
	p.inlineOn = slices.ContainsFunc(catalog.Tools, func(t api.Tool) bool {
		return t.Lane == api.LaneInline
	})
	p.policies = in.Policies
	if in.Agent != nil {
		p.policies = slices.Concat(in.Policies, in.Agent.Policies)
	}
	p.Started = workflow.Now(ctx)
	p.runFacts.Log.Keep = func() bool {
		return policyrules.KeepContents(p.policies) ||
			policyrules.KeepContents(p.pinned.Policies.Rules)
	}
	p.statements = turn.NewStatements(in, p.runFacts.Log.Keep)
	p.passed = toActivityOrigin(p.origin)
	p.measure()
	p.instances = &instances{base: p.queue, origin: p.passed, tools: &p.tools, sizes: p.sizes,
		conversation: findConversation(ctx, in)}
	c.instances = p.instances
	c.approvals.edit, c.approvals.notify = p.editCall, p.notify
	c.approvals.caller = func(callID string) api.Caller { return p.findOrigin(callID).Caller }
	p.attributes.known = in.Attributes
	p.undo = undo{run: origin.Run, tools: &p.tools}
	// Features of other packages come after these: they read what the facts have after the end of a
	// call.
	p.followers = followers{sizesFollower{p: p}, c, p.questions, factsFollower{p: p},
		newReservations(ctx, p), p.instances, &p.undo, &p.journal}
	p.follow(ctx, in)
	return p
}
