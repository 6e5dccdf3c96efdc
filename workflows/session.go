package workflows

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/session"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// manySubmits is the number of submitted calls after which a session continues as new as soon
	// as no call runs. From maxSubmits on it takes no more calls before that.
	manySubmits = 1000
	maxSubmits  = 1800
	// maxWaiting bounds the updates that wait, for the end of calls and for replies to questions. A
	// server allows a run ten in flight by default.
	maxWaiting = 8
	// maxUpdateOutcome bounds the outcomes in the answer of an update, in bytes. History has them
	// twice then. A query answers with larger ones.
	maxUpdateOutcome = 64 << 10
	// maxSessionSpecs bounds the toolspecs that one execution pins, in bytes.
	maxSessionSpecs = 8 << 20
	// maxWaitingBytes bounds the calls that wait for approval while a session continues as new, in
	// bytes. With more it waits until some of them are decided.
	maxWaitingBytes = 512 << 10
)

// sessionWorkflow is the workflow of a session: it makes the calls that arrive as updates, until
// the session is idle, is ended, reaches its wall time or is cancelled. Calls that fail do not make
// it fail.
func sessionWorkflow(ctx workflow.Context, in *api.RunInput) (*api.RunResult, error) {
	if in.Session == nil {
		return nil, Invalid([]api.Problem{{Path: "$.session", Rule: api.RuleRequired,
			Message: "the input has no session"}})
	}
	s := &sessionRun{basicSource: basicSource{in}, session: in.Session,
		running: map[string]*sessionCall{}}
	return runFrom(ctx, in, &s.pinned, s)
}

// sessionRun is the run of a session.
type sessionRun struct {
	basicSource
	session  *api.Session
	pinned   api.Pinned
	pipeline *pipeline
	calls    *session.Calls
	// running are the calls that are admitted and have not ended, by ID.
	running map[string]*sessionCall
	// queue are the submitted calls that are not admitted yet, in order.
	queue []*sessionCall
	// apart are the calls that wait for the ledger of their tool.
	apart []*apartCalls
	// specs is the size of the pinned toolspecs in bytes.
	specs int
	// all is the context of all calls, and cancel cancels them.
	all    workflow.Context
	cancel func()
	// submits counts the submitted calls of this execution, waiting the updates that wait for the
	// end of a call.
	submits, waiting int
	// used is when the last call ended. idle is set when the session has been idle for its timeout,
	// timeOver when its wall time has passed.
	used           time.Time
	idle, timeOver bool
	// ending is the request to end the session; closing is why it takes no more calls. Both are nil
	// while it takes calls.
	ending  *api.EndSession
	closing *api.ControlError
}

func (s *sessionRun) caller() api.Caller {
	return api.Caller{Type: api.CallerSession, ID: s.in.Caller.ID}
}

// pins returns nil: a session pins the tools of its calls as they come.
func (s *sessionRun) pins(workflow.Context, string) *api.PinRequest { return nil }

// begin registers the handlers and restores the calls of the previous execution.
func (s *sessionRun) begin(ctx workflow.Context, p *pipeline) error {
	state, runID := s.in.State, workflow.GetInfo(ctx).WorkflowExecution.RunID
	s.pipeline, s.used = p, workflow.Now(ctx)
	s.all, s.cancel = workflow.WithCancel(ctx)
	p.Run = budget.Run{Limits: s.session.Limits, Started: workflow.Now(ctx)}
	s.specs = specsSize(s.pinned)
	if state == nil {
		s.calls = session.Restore(nil, runID)
		p.asker = s.calls.Asker
		return s.answer(ctx)
	}
	s.calls = session.Restore(state.Session, runID)
	p.asker = s.calls.Asker
	p.Started = state.Started
	s.resume(ctx, state.Session)
	return s.answer(ctx)
}

// answer registers the handlers of a session's updates and its query.
func (s *sessionRun) answer(ctx workflow.Context) error {
	requests := s
	if err := workflow.SetQueryHandler(ctx, api.CallStatusQuery, s.answerStatusQuery); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, api.SubmitCallsUpdate, s.submit,
		workflow.UpdateHandlerOptions{Validator: s.maySubmit,
			Description: "calls of the session's client"}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, api.CancelCallUpdate, requests.cancelCall,
		workflow.UpdateHandlerOptions{Validator: requests.mayCancel,
			Description: "a call of the session is cancelled"}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, api.LeaveCallUpdate, requests.leaveCall,
		workflow.UpdateHandlerOptions{Validator: requests.mayLeave,
			Description: "the client of a call is gone"}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, api.EndSessionUpdate, requests.endSession,
		workflow.UpdateHandlerOptions{Validator: requests.mayEnd, Description: "the session ends"})
}

// makeCalls makes calls until the session ends or continues as new.
func (s *sessionRun) makeCalls(ctx workflow.Context) (*api.RunResult, error) {
	s.watchIdle(ctx)
	s.watchWallTime(ctx)
	for {
		s.pipeline.publishState(ctx)
		switch err := s.await(ctx); {
		case err != nil:
			s.drain(ctx, 0, "is being cancelled")
			return nil, temporal.NewCanceledError(s.pipeline.usage)
		case s.mustStop():
			return s.stop(ctx)
		case s.ready():
			s.takeCalls(ctx)
		case s.idle:
			if s.calls.Open() > 0 { // a call came when the time was over
				s.watchIdle(ctx)
				continue
			}
			s.drain(ctx, 0, "was idle and is ending")
			return s.result(&api.RunResult{Outcome: api.OutcomeCompleted})
		default:
			result, err := s.continueAsNew(ctx)
			if result != nil || err != nil {
				return result, err
			}
		}
	}
}

// await waits until the session has something to do. Its error is that of a cancelled context.
func (s *sessionRun) await(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool {
		return s.ready() || s.stops() || s.continues(ctx)
	})
}

// stop ends the session at its wall time or on request.
func (s *sessionRun) stop(ctx workflow.Context) (*api.RunResult, error) {
	result := &api.RunResult{Outcome: api.OutcomeCompleted}
	if s.timeOver {
		result.Outcome, result.Limit = api.OutcomeLimit, budget.LimitWallTime
		s.drain(ctx, 0, "has reached its limit of wall time")
	} else {
		s.drain(ctx, s.ending.Grace.Std(), "is ending")
	}
	if ctx.Err() != nil {
		return nil, temporal.NewCanceledError(s.pipeline.usage)
	}
	return s.result(result)
}

// ready reports whether calls can be admitted.
func (s *sessionRun) ready() bool { return len(s.queue) > 0 && s.pipeline.control.paused == nil }

func (s *sessionRun) stops() bool { return s.idle || s.mustStop() }

// mustStop reports whether the wall time is over or somebody has asked for the end.
func (s *sessionRun) mustStop() bool { return s.timeOver || s.ending != nil }

// continues reports whether the session continues as new: its history is long, or its deployment
// has another version. It does so only while all its calls can be carried over.
func (s *sessionRun) continues(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return (s.submits >= manySubmits || s.pipeline.sizes.Updates >= manySubmits ||
		info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()) &&
		s.carries()
}

func (s *sessionRun) result(r *api.RunResult) (*api.RunResult, error) {
	r.Labels = s.pipeline.runFacts.Labels
	return s.pipeline.tally(r), nil
}

// watchIdle sets idle when no call has run for the session's idle timeout. It has one timer at a
// time, which calls do not touch.
func (s *sessionRun) watchIdle(ctx workflow.Context) {
	s.idle = false
	timeout := cmp.Or(s.session.IdleTimeout, api.DefaultSessionIdleTimeout).Std()
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			if s.pipeline.control.paused != nil {
				if s.pipeline.control.goOn(ctx) != nil {
					return
				}
				s.used = workflow.Now(ctx)
			}
			if workflow.Await(ctx, func() bool { return s.calls.Open() == 0 }) != nil {
				return
			}
			left := timeout - workflow.Now(ctx).Sub(s.used)
			if left <= 0 {
				s.idle = true
				return
			}
			options := workflow.TimerOptions{Summary: "idle timeout of the session"}
			if workflow.NewTimerWithOptions(ctx, left, options).Get(ctx, nil) != nil {
				return
			}
		}
	})
}

// watchWallTime sets timeOver when the wall time of the session, counted from the start of its
// chain, has passed.
func (s *sessionRun) watchWallTime(ctx workflow.Context) {
	if s.session.Limits.WallTime <= 0 {
		return
	}
	left := s.pipeline.WallTimeLeft(ctx).Std()
	workflow.Go(ctx, func(ctx workflow.Context) {
		options := workflow.TimerOptions{Summary: "wall time of the session"}
		s.timeOver = workflow.NewTimerWithOptions(ctx, left, options).Get(ctx, nil) == nil
	})
}

// drain lets the calls end, cancels those that have not ended after grace, and returns when every
// call and every update has ended. why is the reason with which it rejects further calls.
func (s *sessionRun) drain(ctx workflow.Context, grace time.Duration, why string) {
	s.closing = &api.ControlError{Type: api.RunEnding, Message: "the session takes no more calls: it " +
		why}
	s.pipeline.control.close()
	for len(s.queue) > 0 {
		s.takeCalls(ctx)
	}
	none := func() bool { return s.calls.Open() == 0 }
	if grace > 0 {
		awaitWithin(ctx, grace, "running calls of an ending session", none)
	}
	s.cancel()
	apart, forget := workflow.NewDisconnectedContext(ctx)
	defer forget()
	_ = workflow.Await(apart, none)        // the context is never cancelled
	_ = s.pipeline.followers.Finish(apart) // the same
}

// awaitWithin waits for a condition, at most for d or until the context is cancelled. It cancels
// its timer.
func awaitWithin(ctx workflow.Context, d time.Duration, summary string, condition func() bool) {
	if condition() {
		return
	}
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, d, workflow.TimerOptions{Summary: summary})
	_ = workflow.Await(ctx, func() bool { return condition() || timer.IsReady() }) // see above
}

// continueAsNew continues in a new history. It ends the session if its state does not fit into the
// input of an execution, and returns neither result nor error if the session has to go on because a
// call was decided about meanwhile.
func (s *sessionRun) continueAsNew(ctx workflow.Context) (*api.RunResult, error) {
	s.closing = &api.ControlError{Type: api.SessionBusy,
		Message: "the session continues in a new history; send the call again"}
	if err := s.pipeline.followers.Finish(ctx); err != nil {
		return nil, err
	}
	for _, shrink := range []func(*api.ContinueState){
		func(*api.ContinueState) {},
		func(state *api.ContinueState) { state.Session = s.state(ctx, false) },
		func(state *api.ContinueState) { // the tools of other calls are pinned again
			state.Session, state.Pinned = s.state(ctx, false), api.Pack(s.openPins())
		},
	} {
		if !s.carries() {
			s.closing = nil
			return nil, nil
		}
		next, err := s.nextInput(ctx)
		if err != nil {
			return nil, err
		}
		shrink(next.State)
		if size := measureJSON(next); size <= api.MaxInputs {
			if err := s.pipeline.sizes.Task.Await(ctx, size); err != nil {
				return nil, err
			}
			if !s.carries() {
				s.closing = nil
				return nil, nil
			}
			return nil, workflow.NewContinueAsNewErrorWithOptions(ctx,
				workflow.ContinueAsNewErrorOptions{
					InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
				}, api.SessionWorkflow, next)
		}
	}
	s.drain(ctx, 0, "has a state that is too large for a new history")
	return s.result(&api.RunResult{Outcome: api.OutcomeLimit, Limit: budget.LimitConversation})
}

// nextInput returns the input of the next execution.
func (s *sessionRun) nextInput(ctx workflow.Context) (api.RunInput, error) {
	p, next := s.pipeline, *s.in
	pinned, err := api.Pack(s.pinned).EncodeOnce()
	if err != nil {
		pinned = api.Pack(s.openPins())
	}
	usage := p.usage
	usage.Calls -= s.countOpenCalls()
	next.State = &api.ContinueState{Run: p.origin.Run, Started: p.Started, Usage: usage,
		Pinned: pinned, Session: s.state(ctx, true)}
	p.followers.Save(ctx, next.State)
	return next, nil
}

// openPins returns the rules that the session is pinned to, and of its tools only those
// that its instances and its waiting calls need.
func (s *sessionRun) openPins() api.Pinned {
	pinned := api.Pinned{Policies: s.pinned.Policies, DescendantTools: s.pinned.DescendantTools}
	names := map[string]bool{}
	for _, i := range s.pipeline.instances.list {
		names[i.tool.Name] = true
	}
	for _, c := range s.calls.OpenCalls() {
		names[c.Tool] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		pinned.Catalog.Tools = append(pinned.Catalog.Tools, s.pipeline.tools.Of(name))
	}
	pinned.Catalog.Digest = s.pinned.Catalog.Digest + "/instances"
	return pinned
}
