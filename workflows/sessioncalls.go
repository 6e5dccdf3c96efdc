package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/failure"
	"github.com/switchyard/switchyard/workflows/session"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// sessionCall is a submitted call of a session on its way to its outcome. It implements dispatched,
// so that a dispatcher executes it as it does the calls of a turn.
type sessionCall struct {
	*session.Call
	run *sessionRun
	// ctx is the context of the call, which its client can cancel.
	ctx  workflow.Context
	call *Call
	// need is how many bytes the call can add to the history before it is admitted.
	need int
	// counted is set once the usage of the run has the call, or will not get it.
	counted bool
	out     api.CallOutcome
}

func (c *sessionCall) at([]int) []*Call { return []*Call{c.call} }

func (c *sessionCall) prepare(*flow, []int) ([]*Call, error) {
	c.count()
	return []*Call{c.call}, nil
}

func (c *sessionCall) end(_ int, out api.CallOutcome) { c.out = out }

// count releases the place in the run's budget that the call took when it was admitted: the usage
// has the call as soon as it starts.
func (c *sessionCall) count() {
	if !c.counted {
		c.counted = true
		c.run.pipeline.uncounted--
	}
}

// maySubmit rejects, without an event in history, calls of which the session does not even take the
// first.
func (s *sessionRun) maySubmit(ctx workflow.Context, calls []api.SessionCall) error {
	if len(calls) == 0 {
		return failure.Refusal(&api.ControlError{Type: api.ControlMalformed,
			Message: "the list of calls is empty"})
	}
	return failure.Refusal(s.refusal(ctx, calls[0]))
}

// refusal returns why the session does not take a call; nil if it does.
func (s *sessionRun) refusal(ctx workflow.Context, call api.SessionCall) *api.ControlError {
	e := people.CheckSessionCall(call)
	switch {
	case e != nil:
	case s.ends(ctx) != nil:
		e = s.ends(ctx)
	case s.full(ctx, call):
		e = &api.ControlError{Type: api.SessionBusy, Message: "the history of the session is " +
			"full; it takes more calls when those that run have ended"}
	case s.calls.Knows(call):
		e = s.repetitionFault(call)
	case s.calls.Open() >= api.MaxSessionInFlight:
		e = &api.ControlError{Type: api.SessionFull,
			Message: "the session has as many running calls as it may have"}
	case !s.pipeline.sizes.Task.Accepts(ctx, submittedSize(call)):
		e = &api.ControlError{Type: api.SessionBusy, Message: busy}
	}
	return e
}

// full reports whether the history has no room for a call.
func (s *sessionRun) full(ctx workflow.Context, call api.SessionCall) bool {
	return s.submits >= maxSubmits || s.pipeline.sizes.Updates.Full(ctx) || !s.fits(ctx, call)
}

// repetitionFault returns why a call with an ID or a key that the session knows does not repeat
// that call; nil if it does. A call with the ID of another caller's must not get its result.
func (s *sessionRun) repetitionFault(call api.SessionCall) *api.ControlError {
	known := s.calls.Find(call.ID)
	if known == nil {
		return &api.ControlError{Type: api.ControlMalformed, Message: fmt.Sprintf("the key %s is "+
			"that of a call with another tool or other arguments; use another one",
			display.Shorten(call.Key, 100))}
	}
	if known.Caller.Is(call.Caller) {
		return nil
	}
	return &api.ControlError{Type: api.ControlMalformed, Message: fmt.Sprintf("the call id %s is "+
		"that of a call of another caller; use another one", call.ID)}
}

// ends returns why the session takes no more calls; nil while it does.
func (s *sessionRun) ends(ctx workflow.Context) *api.ControlError {
	if s.closing == nil && (s.ending != nil || ctx.Err() != nil) {
		return &api.ControlError{Type: api.RunEnding, Message: "the session is ending"}
	}
	return s.closing
}

// fits reports whether the history has room for another call, whose tool may not be known yet.
func (s *sessionRun) fits(ctx workflow.Context, call api.SessionCall) bool {
	events, bytes := s.pipeline.written(ctx)
	needs := []int{submittedNeed(call)}
	for _, c := range s.queue {
		needs = append(needs, c.need)
	}
	for _, a := range s.apart {
		for _, c := range a.calls {
			needs = append(needs, c.need)
		}
	}
	return s.pipeline.sizes.History.Fit(events, bytes, len(needs), func(i int) int {
		return needs[i]
	}) == len(needs)
}

// submittedNeed returns how many bytes a submitted call can add to the history until it is
// admitted.
func submittedNeed(call api.SessionCall) int {
	return submittedSize(call) + jsonvalue.PayloadSize([]byte(call.Arguments)) + maxUpdateOutcome
}

// submittedSize returns how many bytes a submitted call adds to a payload.
func submittedSize(call api.SessionCall) int {
	size := jsonvalue.PayloadSize([]byte(call.Arguments))
	if len(call.Caller.Claims) > 0 {
		size += encodedSize(call.Caller.Claims)
	}
	return size
}

// submit takes calls, from the first one on, as many as it can, and answers when they are
// admitted. It waits until a single call has ended or awaits a person, at most as long as the
// client asks for.
func (s *sessionRun) submit(ctx workflow.Context, in []api.SessionCall) ([]api.SessionCallStatus,
	error) {
	s.pipeline.sizes.Updates++
	var calls []*session.Call
	for i, call := range in {
		if i > 0 && s.refusal(ctx, call) != nil {
			break
		}
		calls = append(calls, s.take(ctx, call))
	}
	control := s.pipeline.control
	// A cancelled session ends the calls, and their statuses say so.
	_ = workflow.Await(ctx, func() bool {
		return control.paused != nil || !slices.ContainsFunc(calls,
			func(c *session.Call) bool { return !c.Placed })
	})
	if len(in) == 1 {
		s.awaitOutcome(ctx, calls[0], in[0].Wait)
	}
	statuses := s.statuses(calls, maxUpdateOutcome)
	for i, status := range statuses {
		if status.Outcome != nil {
			s.pipeline.sizes.Task.Add(ctx, calls[i].Target().Size)
		}
	}
	return statuses, nil
}

// take puts a call into the queue, unless it repeats one that the session knows.
func (s *sessionRun) take(ctx workflow.Context, in api.SessionCall) *session.Call {
	s.pipeline.sizes.Task.Add(ctx, submittedSize(in))
	s.submits++
	c, fresh := s.calls.Submit(in, workflow.GetInfo(ctx).WorkflowExecution.RunID)
	if fresh {
		queued := &sessionCall{Call: c, run: s, need: submittedNeed(in)}
		queued.ctx, c.Cancel = workflow.WithCancel(s.all)
		s.queue = append(s.queue, queued)
	}
	return c
}

// awaitOutcome waits until a call has ended or awaits a person, whom its client may have to ask,
// while the server can take the updates of others.
func (s *sessionRun) awaitOutcome(ctx workflow.Context, c *session.Call, wait api.Duration) {
	target := c.Target()
	answers := func() bool {
		return target.Ended || s.pipeline.control.approvals.of(target.ID) != nil ||
			s.pipeline.questions.of(target.ID) != nil
	}
	if wait <= 0 || answers() {
		return
	}
	s.waiting++
	defer func() { s.waiting-- }()
	awaitWithin(ctx, wait.Std(), "wait for call "+target.ID, func() bool {
		return answers() || s.waiting+s.pipeline.questions.openQuestions > maxWaiting
	})
}

// answerStatusQuery answers the query for calls.
func (s *sessionRun) answerStatusQuery(ids []string) ([]api.SessionCallStatus, error) {
	calls := make([]*session.Call, len(ids))
	for i, id := range ids {
		calls[i] = s.calls.Find(id)
	}
	statuses := s.statuses(calls, api.MaxPayload)
	for i, id := range ids {
		statuses[i].ID = cmp.Or(statuses[i].ID, id)
		if calls[i] != nil {
			statuses[i].Caller = new(calls[i].Caller.Bare())
		}
	}
	return statuses, nil
}

// statuses returns the statuses of calls, with outcomes that have at most limit bytes together. A
// call that is nil is unknown.
func (s *sessionRun) statuses(calls []*session.Call, limit int) []api.SessionCallStatus {
	all := make([]api.SessionCallStatus, len(calls))
	for i, c := range calls {
		if c == nil {
			all[i].State = api.SessionCallUnknown
			continue
		}
		if all[i] = s.status(c, limit); all[i].Outcome != nil {
			limit -= c.Target().Size
		}
	}
	return all
}

// status returns the status of a call, with its outcome if that has at most limit bytes.
func (s *sessionRun) status(c *session.Call, limit int) api.SessionCallStatus {
	target := c.Target()
	status := api.SessionCallStatus{ID: target.ID, Attached: target != c, RunID: target.RunID,
		State: api.SessionCallRunning}
	if target.Ended {
		status.State = api.SessionCallEnded
		if target.Size <= limit {
			status.Outcome = target.Outcome
		}
		return status
	}
	if status.Approval = s.pipeline.control.approvals.of(target.ID); status.Approval != nil {
		status.State = api.SessionCallAwaitsApproval
	} else if status.Question = s.pipeline.questions.of(target.ID); status.Question != nil {
		status.State = api.SessionCallAwaitsAnswer
	}
	return status
}

// takeCalls pins the tools of the queued calls, admits the calls in one recorded step, and starts
// them. Calls of a once tool that repeat one that is open are attached to it instead. Calls of a
// tool whose ledger does not answer wait apart from the others.
func (s *sessionRun) takeCalls(ctx workflow.Context) {
	ready := s.takeQueue(ctx)
	if len(ready) == 0 {
		return
	}
	decisions, err := s.pipeline.admitReady(s.pipeline.newFlow(ctx), requests(ready), 0,
		false)
	if err != nil {
		s.endUnadmitted(ctx, ready, err)
		return
	}
	s.beginAll(ready, decisions)
	if rest := ready[len(decisions):]; len(rest) > 0 {
		s.admitApart(rest)
	}
}

// takeQueue empties the queue and returns the calls that can be admitted.
func (s *sessionRun) takeQueue(ctx workflow.Context) (ready []*sessionCall) {
	queue := s.queue
	s.queue = nil
	faults := make([]string, len(queue))
	for i, c := range queue {
		faults[i] = s.pinTool(ctx, c.Tool)
	}
	// A workflow task takes its updates before the ends of activities that history has from before.
	// A client that knows of such an end, by a query, does not repeat the call that has ended: it
	// makes another one.
	if slices.ContainsFunc(queue, func(c *sessionCall) bool {
		repeated := s.findRepeated(ctx, c.Call)
		return repeated != nil && !repeated.Ended
	}) {
		letOthersRun(ctx)
	}
	for i, c := range queue {
		if repeated := s.findRepeated(ctx, c.Call); repeated != nil {
			s.calls.Attach(c.Call, repeated)
			continue
		}
		if faults[i] != "" && ctx.Err() == nil {
			c.refuse(ctx, faults[i])
			continue
		}
		if a := s.findApart(c.Tool); a != nil {
			a.add(c)
			continue
		}
		ready = append(ready, c)
	}
	return ready
}

// findRepeated returns the call that a queued one repeats; nil for none.
func (s *sessionRun) findRepeated(ctx workflow.Context, c *session.Call) *session.Call {
	if s.pipeline.tools.Of(c.Tool).Effect != api.EffectOnce {
		return nil
	}
	return s.calls.FindRepeated(c, workflow.Now(ctx))
}

// deepest is how many coroutines an end passes through until its call has ended: that of an
// instance's call, that of the session's call, and one more to be safe.
const deepest = 3

// letOthersRun returns when the other coroutines have taken what the workflow task brought. They
// run in turn, new ones last.
func letOthersRun(ctx workflow.Context) {
	for range deepest {
		ran := false
		workflow.Go(ctx, func(workflow.Context) { ran = true })
		_ = workflow.Await(ctx, func() bool { return ran }) // a cancelled run makes no call
	}
}

// apartCalls are the calls of a tool whose ledger does not answer.
type apartCalls struct {
	tool  string
	calls []*sessionCall
}

// add adds a call. Its client has its status while it waits.
func (a *apartCalls) add(c *sessionCall) {
	c.Placed = true
	a.calls = append(a.calls, c)
}

// findApart returns where the calls of a tool wait for their ledger; nil if they do not.
func (s *sessionRun) findApart(tool string) *apartCalls {
	i := slices.IndexFunc(s.apart, func(a *apartCalls) bool { return a.tool == tool })
	if i < 0 {
		return nil
	}
	return s.apart[i]
}

// admitApart lets the first call, and those of its tool, wait for their ledger until they are
// admitted, and with them those that come meanwhile. The others are admitted next.
func (s *sessionRun) admitApart(calls []*sessionCall) {
	a := &apartCalls{tool: calls[0].Tool}
	for _, c := range calls {
		if c.Tool == a.tool {
			a.add(c)
		} else {
			s.queue = append(s.queue, c)
		}
	}
	s.apart = append(s.apart, a)
	workflow.Go(s.all, func(ctx workflow.Context) {
		for done := 0; done < len(a.calls); {
			waiting := a.calls[done:]
			decisions, err := s.pipeline.admit(s.pipeline.newFlow(ctx),
				requests(waiting))
			if done += len(waiting); err != nil {
				s.endUnadmitted(ctx, waiting, err)
			} else {
				s.beginAll(waiting, decisions)
			}
		}
		s.apart = slices.DeleteFunc(s.apart, func(other *apartCalls) bool { return other == a })
	})
}

// requests returns the calls as the run makes them.
func requests(calls []*sessionCall) []api.Call {
	list := make([]api.Call, len(calls))
	for i, c := range calls {
		list[i] = c.Request()
	}
	return list
}

// beginAll starts the calls with decisions.
func (s *sessionRun) beginAll(calls []*sessionCall, decisions []api.AdmissionDecision) {
	p := s.pipeline
	share := p.Divide(p.usage, decisions)
	for i, v := range decisions {
		c := calls[i]
		c.call = p.newCall(c.Request(), v)
		c.call.share, c.call.session = share, s.all
		c.begin()
	}
}

// resume goes on with the calls that waited for approval in the execution before. They were
// admitted there.
func (s *sessionRun) resume(ctx workflow.Context, state *api.SessionState) {
	p := s.pipeline
	for _, r := range state.Calls {
		w := r.Waiting
		if w == nil {
			continue
		}
		c := &sessionCall{Call: s.calls.Find(r.ID), run: s}
		c.ctx, c.Cancel = workflow.WithCancel(s.all)
		decisions := []api.AdmissionDecision{w.Decision}
		p.followers.Admit([]api.Call{c.Request()}, decisions, w.Asked)
		c.call = p.newCall(c.Request(), w.Decision)
		c.call.share = p.Divide(p.usage, decisions)
		p.control.approvals.resume(c.ctx, c.Request(), *w)
		c.begin()
	}
}

// carries reports whether the session can continue as new with the calls that have not ended: they
// only wait for approval, and none of them was just decided about.
func (s *sessionRun) carries() bool {
	size := 0
	for _, c := range s.calls.OpenCalls() {
		running := s.running[c.ID]
		if running == nil || !s.pipeline.control.approvals.waits(c.ID) {
			return false
		}
		size += len(c.Arguments) + submittedSize(c.SessionCall) +
			budget.DecisionsSize([]api.AdmissionDecision{running.call.decision})
	}
	return size <= maxWaitingBytes && (size == 0 || s.pipeline.control.approvals.notifying == 0)
}

// state returns what the next execution knows of the calls.
func (s *sessionRun) state(ctx workflow.Context, outcomes bool) *api.SessionState {
	waiting := map[string]*api.WaitingCall{}
	for _, c := range s.calls.OpenCalls() {
		o := s.pipeline.control.approvals.of(c.ID)
		waiting[c.ID] = &api.WaitingCall{Call: c.SessionCall, Asked: o.Asked, Until: o.Until,
			Decision: s.running[c.ID].call.decision}
	}
	return s.calls.State(outcomes, workflow.Now(ctx), waiting)
}

// countOpenCalls returns how many of the calls that have not ended the usage of the run has.
func (s *sessionRun) countOpenCalls() (n int) {
	for _, c := range s.calls.OpenCalls() {
		if s.running[c.ID].counted {
			n++
		}
	}
	return n
}

// endUnadmitted ends calls that could not be admitted because of err. That is rare: admission is
// repeated.
func (s *sessionRun) endUnadmitted(ctx workflow.Context, calls []*sessionCall, err error) {
	for _, c := range calls {
		fault := failures.CancelledBeforeStart()
		if ctx.Err() == nil {
			fault = api.Errorf(api.ErrExecution, "the call could not be admitted: %s",
				cutText(err.Error()))
			fault.Phase = api.PhasePreExecution
		}
		c.recordOutcome(ctx, s.pipeline.refuse(ctx, c.Request(), fault))
	}
}

// begin starts a call that is admitted, as soon as those have ended that conflict with it.
func (c *sessionCall) begin() {
	s := c.run
	if out, decided := c.call.endUnexecuted(c.ctx); decided {
		c.recordOutcome(c.ctx, out)
		return
	}
	p := s.pipeline
	s.running[c.ID] = c
	p.control.approvals.ask(c.ctx, c.call.call, c.call.decision)
	before := s.calls.Start(c.Call, turn.NewSlot(*c.call.tool, c.call.decision.Route.Key))
	p.uncounted++
	workflow.Go(c.ctx, func(ctx workflow.Context) {
		// A cancelled call goes on, too: the dispatcher records that it did not start.
		_ = workflow.Await(ctx, func() bool {
			return !slices.ContainsFunc(before, func(b *session.Call) bool { return !b.Ended })
		})
		d := &dispatcher{pipeline: p, waits: [][]int{nil}, calls: c}
		err := d.run(ctx)
		c.count()
		if c.out.ID == "" {
			s.endUnadmitted(ctx, []*sessionCall{c}, err)
			return
		}
		c.recordOutcome(ctx, c.out)
	})
}

// recordOutcome takes the outcome of a call.
func (c *sessionCall) recordOutcome(ctx workflow.Context, out api.CallOutcome) {
	s := c.run
	size := 0
	if out.Result != nil {
		size = jsonvalue.PayloadSize(out.Result.Output)
	}
	delete(s.running, c.ID)
	s.calls.End(c.Call, out, size, workflow.Now(ctx))
	s.used = workflow.Now(ctx)
	c.Cancel() // releases the context
	s.pipeline.publishState(ctx)
}

// mayCancel rejects requests to cancel a call that the session does not know.
func (s *sessionRun) mayCancel(_ workflow.Context, r api.CancelCall) error {
	return failure.Refusal(cmp.Or(people.CheckCancel(r), s.concerns(r.ID,
		s.pipeline.sizes.Updates.Spent())))
}

// concerns returns why no request about a call is taken; nil if one is. full says that the history
// has no update left for it.
func (s *sessionRun) concerns(id string, full bool) *api.ControlError {
	switch {
	case s.calls.Find(id) == nil:
		return &api.ControlError{Type: api.NoCall, Message: "the session has no call " +
			display.Shorten(id, 100)}
	case full:
		return updatesFull()
	}
	return nil
}

// mayLeave rejects requests about a call that the session does not know.
func (s *sessionRun) mayLeave(ctx workflow.Context, r api.LeaveCall) error {
	return failure.Refusal(s.concerns(r.ID, s.pipeline.sizes.Updates.Full(ctx)))
}

// leaveCall notes that the client of a submitted call is gone without its outcome.
func (s *sessionRun) leaveCall(ctx workflow.Context, r api.LeaveCall) error {
	s.pipeline.sizes.Updates++
	s.calls.Find(r.ID).Left = workflow.Now(ctx)
	return nil
}

// cancelCall cancels a call, or the call that it repeats.
func (s *sessionRun) cancelCall(ctx workflow.Context, r api.CancelCall) error {
	s.pipeline.sizes.Updates++
	c := s.calls.Find(r.ID).Target()
	if c.Ended {
		return nil
	}
	s.pipeline.control.approvals.withdraw(ctx, c.ID, "the call was "+people.CancelNote(r))
	c.Cancel()
	return nil
}

func (s *sessionRun) mayEnd(ctx workflow.Context, r api.EndSession) error {
	e := people.CheckEnd(r)
	if e == nil {
		e = s.ends(ctx)
	}
	return failure.Refusal(e)
}

func (s *sessionRun) endSession(_ workflow.Context, r api.EndSession) error {
	s.pipeline.sizes.Updates++
	s.ending = &r
	return nil
}

// pinTool pins a tool at its first call, in one recorded step. It returns why that fails; empty if
// it does not, and for tools that no worker has, which admission reports in more detail.
func (s *sessionRun) pinTool(ctx workflow.Context, name string) (fault string) {
	p := s.pipeline
	if _, known := p.pinned.Catalog.Find(name); known {
		return ""
	}
	if s.specs > maxSessionSpecs {
		return "the session has pinned too many tools; end it and begin another one"
	}
	pinned, err := pinStep(ctx, p.sizes, api.PinRequest{Run: p.origin.Run, Tools: []string{name}})
	switch {
	case err != nil:
		return "the tool could not be pinned: " + cutText(err.Error())
	case len(pinned.Problems) > 0:
		return cutText(pinned.Problems[0].Message)
	}
	s.grow(pinned)
	return ""
}

// grow adds a pinned tool, with those that its calls may need, to what the session is pinned to.
func (s *sessionRun) grow(pinned api.Pinned) {
	p, all := s.pipeline, &s.pinned
	if len(pinned.Catalog.Tools) == 0 {
		return
	}
	all.Catalog.Digest = api.NextChain(all.Catalog.Digest, pinned.Catalog.Digest)
	for _, t := range pinned.Catalog.Tools {
		p.tools.Delete(t.Name) // a tool that verifies others has no companions itself
		p.inlineOn = p.inlineOn || t.Lane == api.LaneInline
	}
	p.addTools(pinned.Catalog.Tools)
	all.Catalog.Tools = append(all.Catalog.Tools, pinned.Catalog.Tools...)
	for _, t := range pinned.DescendantTools {
		if _, known := all.Find(t.Name); !known {
			all.DescendantTools = append(all.DescendantTools, t)
			p.addTools([]api.Tool{t})
		}
	}
	if all.Policies.Digest == "" {
		all.Policies = pinned.Policies
	}
	s.specs += specsSize(pinned)
}

func specsSize(pinned api.Pinned) (size int) {
	for _, t := range slices.Concat(pinned.Catalog.Tools, pinned.DescendantTools) {
		size += len(t.Spec)
	}
	return size
}

// refuse ends a call whose tool cannot be pinned, in one recorded step.
func (c *sessionCall) refuse(ctx workflow.Context, why string) {
	s := c.run
	p, call := s.pipeline, c.Request()
	request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue, Calls: []api.Call{call},
		Refuse: api.Errorf(api.ErrPreconditionFailed, "%s", why)}
	var decisions []api.AdmissionDecision
	var err error
	cancelled := p.sizes.Task.Record(ctx, rejectionSize+len(why), func() int {
		err = workflow.ExecuteLocalActivity(withSummary(withAdmitOptions(ctx, nil),
			"check of call "+call.ID), api.AdmitActivity, request).Get(ctx, &decisions)
		return budget.DecisionsSize(decisions)
	})
	if err = cmp.Or(cancelled, err); err != nil {
		s.endUnadmitted(ctx, []*sessionCall{c}, err)
		return
	}
	c.recordOutcome(ctx, p.refuse(ctx, call, decisions[0].Error))
}
