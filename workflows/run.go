package workflows

import (
	"github.com/switchyard/switchyard/api"
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
	features() []follower
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
func (basicSource) features() []follower        { return nil }

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
		return ended(ctx, in, p, nil, err)
	}
	result, err := s.makeCalls(ctx)
	if !workflow.IsContinueAsNewError(err) {
		result, err = s.finish(ctx, result, p.end(ctx, err))
		p.instances.close(ctx) // undo calls may need them
	}
	return ended(ctx, in, p, result, err)
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
	origin := originOf(ctx, in, s.caller())
	if in.State != nil {
		*pinned = in.State.Pinned.Value
	} else if request := s.pins(ctx, origin.Run); request != nil {
		if *pinned, err = pin(ctx, control.sizes, *request); err != nil {
			return nil, err
		}
	}
	p := newPipeline(ctx, in, origin, pinned, s.mode(), control)
	p.need(pinned.DescendantTools)
	if in.Parent != nil {
		p.parent = in.Parent
	}
	p.followers = append(p.followers, s.features()...)
	if in.State != nil {
		p.usage = in.State.Usage
		p.followers.restore(ctx, in.State)
	}
	return p, s.begin(ctx, p)
}
