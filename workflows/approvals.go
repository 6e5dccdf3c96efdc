package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/budget"
	"github.com/switchyard/switchyard/workflows/smallmap"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxRefusedDecisions bounds the refused decisions that a run's history records. Further ones are
// rejected by the validator and leave no event.
const maxRefusedDecisions = 50

// approvals are the calls of the run that wait for a person's approval. Nothing is scheduled for
// them while they wait. They live in the run's memory; history holds their admission decisions and
// the people's decisions.
type approvals struct {
	// open is in the order of the requests. known maps call IDs to approvals, including closed
	// ones. watching is set while a coroutine watches the open ones.
	open     []*approval
	known    smallmap.Map[*approval]
	watching bool
	// refused counts the refused decisions that history records.
	refused int
	// edit admits a call again with the arguments of a decision.
	edit func(workflow.Context, *approval, api.Decision) (api.AdmissionDecision, error)
	// notify sends a notice of an approval to the webhook. notifying counts the notices in flight,
	// notices all notices of the run.
	notify             func(workflow.Context, string, api.Notice)
	notifying, notices int
	sizes              *budget.Sizes
	// caller returns the caller of a call.
	caller func(callID string) api.Caller
	// changed updates what the run shows about its state.
	changed func(workflow.Context)
}

// approval is one call that waits or waited for a decision.
type approval struct {
	api.Approval
	call api.Call
	// decision is the admission decision with which the call runs once it is approved.
	decision api.AdmissionDecision
	// checking is the person whose edit is being checked.
	checking string
	// over is set when the approval is closed. how says why, and fault is the error of a call that
	// must not run.
	over  bool
	how   string
	fault *api.Error
	// grant is what a person granted to a run at a limit.
	grant *api.Grant
	// closed is ready when the approval is closed.
	closed workflow.Future
	close  workflow.Settable
	// ctx is that of the call. timer is ready at the timeout, and stop cancels it.
	ctx   workflow.Context
	timer workflow.Future
	stop  func()
}

// newApprovals registers the query and the update handlers of approvals. Call it before anything
// that blocks.
func newApprovals(ctx workflow.Context, sizes *budget.Sizes) (*approvals, error) {
	a := &approvals{sizes: sizes, changed: unshown}
	if err := workflow.SetQueryHandler(ctx, api.ApprovalsQuery, a.list); err != nil {
		return nil, err
	}
	return a, workflow.SetUpdateHandlerWithOptions(ctx, api.DecideApprovalUpdate, a.decide,
		workflow.UpdateHandlerOptions{Validator: a.mayDecide,
			Description: "a person decides about a call that waits for approval"})
}

// list answers the query with the open approvals, as many as fit.
func (a *approvals) list() ([]api.Approval, error) {
	return collectFitting(a.open, func(o *approval) (api.Approval, int) {
		return o.Approval, len(o.Text) + len(o.Reason) + encodedSize(o.Approvers)
	}), nil
}

// decisionSize returns at most how many bytes a decision adds to a payload.
func decisionSize(d api.Decision) int {
	return jsonvalue.PayloadSize(d.Arguments) + encodedSize(d.Claims) + encodedSize(d.Roles)
}

// encodedSize returns the size of a value as JSON. All values here come from JSON.
func encodedSize(value any) int {
	data, _ := jsonvalue.Encode(value)
	return jsonvalue.PayloadSize(data)
}

// of returns the open approval of a call; nil if there is none.
func (a *approvals) of(callID string) *api.Approval {
	if o := a.known.Get(callID); o != nil && !o.over {
		return &o.Approval
	}
	return nil
}

// ask opens the approval of an admitted call if its decision requires one and none exists. The
// caller calls pipeline.changed before it waits.
func (a *approvals) ask(ctx workflow.Context, c api.Call, v api.AdmissionDecision) *approval {
	if v.Approval == nil || a.known.Get(c.ID) != nil {
		return a.known.Get(c.ID)
	}
	now := workflow.Now(ctx)
	o := a.add(ctx, c, v, now)
	a.open = append(a.open, o)
	if len(a.open) == 1 {
		mark(ctx, now)
	}
	a.tell(ctx, o, api.NoticeWaiting, nil)
	a.watch(ctx, o)
	return o
}

// resume opens the approval of a call that waited for it in the execution before.
func (a *approvals) resume(ctx workflow.Context, c api.Call, w api.WaitingCall) {
	a.open = append(a.open, a.add(ctx, c, w.Decision, w.Asked))
	o := a.known.Get(c.ID)
	o.Until = w.Until
	if len(a.open) == 1 {
		mark(ctx, o.Asked)
	}
	a.watch(ctx, o)
}

// add returns the approval of a call that waits for it since a time.
func (a *approvals) add(ctx workflow.Context, c api.Call, v api.AdmissionDecision,
	since time.Time) *approval {
	o := &approval{call: c, decision: v, Approval: api.Approval{ApprovalNeed: *v.Approval,
		Call: c.ID, Tool: c.Tool, Asked: since, Until: since.Add(v.Approval.Within.Std())}}
	o.closed, o.close = workflow.NewFuture(ctx)
	a.known.Set(c.ID, o)
	return o
}

// waits reports whether a call waits for a decision, and nothing else happens to its approval.
func (a *approvals) waits(callID string) bool {
	o := a.known.Get(callID)
	return o != nil && !o.over && o.checking == ""
}

// mark sets the memo that shows in run lists since when calls wait for approval; nil clears it.
func mark(ctx workflow.Context, since any) {
	if err := workflow.UpsertMemo(ctx, map[string]any{api.ApprovalsMemo: since}); err != nil {
		workflow.GetLogger(ctx).Warn("the run's list entry does not tell of approvals", "error",
			err)
	}
}

// watch starts the timer that closes an approval. One coroutine watches all of them: it costs less
// than one for each, which every event of the run would resume.
func (a *approvals) watch(ctx workflow.Context, o *approval) {
	timed, stop := workflow.WithCancel(ctx)
	o.ctx, o.stop = ctx, stop
	o.timer = workflow.NewTimerWithOptions(timed, max(o.Until.Sub(workflow.Now(ctx)),
		time.Millisecond), workflow.TimerOptions{Summary: "approval of " + o.Call})
	if !a.watching {
		a.watching = true
		apart, _ := workflow.NewDisconnectedContext(ctx)
		workflow.Go(apart, a.closeOverdue)
	}
}

// closeOverdue closes approvals at their timeouts or when their calls are cancelled, until none is
// open.
func (a *approvals) closeOverdue(ctx workflow.Context) {
	for len(a.open) > 0 {
		var overdue *approval
		err := workflow.Await(ctx, func() bool {
			overdue = a.overdue()
			return overdue != nil || len(a.open) == 0
		})
		if err != nil || overdue == nil {
			continue // the context is never cancelled
		}
		if overdue.ctx.Err() != nil {
			a.drop(ctx, overdue, "the run was cancelled")
			continue
		}
		overdue.fault = people.NotApproved(overdue.Tool, overdue.Within)
		a.close(ctx, overdue, undecided, api.NoticeDecision{Decision: api.DecisionTimeout})
	}
	a.watching = false
}

// overdue returns the first open approval whose call was cancelled or whose time is over. An edit
// received in time counts, however long its check takes.
func (a *approvals) overdue() *approval {
	for _, o := range a.open {
		if o.ctx.Err() != nil || o.timer.IsReady() && o.checking == "" {
			return o
		}
	}
	return nil
}

// withdraw closes the approval, if any, of a call that is no longer made.
func (a *approvals) withdraw(ctx workflow.Context, callID, why string) {
	if o := a.known.Get(callID); o != nil && !o.over {
		a.drop(ctx, o, why)
	}
}

// drop closes the open approval of a call that is no longer made.
func (a *approvals) drop(ctx workflow.Context, o *approval, why string) {
	o.fault = failures.CancelledBeforeStart()
	a.close(ctx, o, why, api.NoticeDecision{Decision: api.DecisionWithdrawn, Reason: why})
}

// close ends an approval. how is the reason given to later decisions.
func (a *approvals) close(ctx workflow.Context, o *approval, how string,
	decided api.NoticeDecision) {
	o.over, o.how = true, how
	o.stop()
	a.tell(ctx, o, api.NoticeDecided, &decided)
	a.open = slices.DeleteFunc(a.open, func(other *approval) bool { return other == o })
	if len(a.open) == 0 {
		mark(ctx, nil)
	}
	a.changed(ctx)
	o.close.SetValue(nil)
}

// mayDecide is the update validator: it rejects, without an event in history, malformed decisions
// and those for calls that never waited. Rejections that matter to the audit trail (wrong digest,
// second decision, no identity) are left to decide.
func (a *approvals) mayDecide(ctx workflow.Context, d api.Decision) error {
	if e := people.CheckDecision(d); e != nil {
		return refuse(*e)
	}
	o := a.known.Get(d.Call)
	if o == nil {
		return refuse(a.unknown(d.Call))
	}
	if !a.sizes.Task.Accepts(ctx, decisionSize(d)) {
		return refuse(api.ReplyError{Type: api.DecisionBusy, Message: busy})
	}
	if o.checking != "" {
		return refuse(api.ReplyError{Type: api.DecisionBusy,
			Message: fmt.Sprintf("changed arguments of %s for call %q are being checked",
				o.checking, d.Call)})
	}
	if e := a.fault(o, d); e != nil && a.refused >= maxRefusedDecisions {
		return refuse(*e)
	}
	return nil
}

// unknown returns the error for a call without an open approval and lists the open ones.
func (a *approvals) unknown(callID string) api.ReplyError {
	e := api.ReplyError{Type: api.DecisionUnknown,
		Message: fmt.Sprintf("no call %q of the run waits for approval", callID)}
	for _, o := range a.open {
		e.Open = append(e.Open, o.Call)
	}
	e.Message += meant(e.Open, "none does", "waiting")
	return e
}

// fault returns why a decision does not count, or nil.
func (a *approvals) fault(o *approval, d api.Decision) *api.ReplyError {
	switch {
	case o.over:
		return o.refusal(o.how)
	case !people.IsNamed(d):
		return &api.ReplyError{Type: api.DecisionUnnamed,
			Message: "the decision does not say whose it is"}
	case d.Digest != o.Digest:
		return &api.ReplyError{Type: api.DecisionMismatch,
			Message: fmt.Sprintf(
				"the decision is about another call: its digest is not that of call %q; look at what waits, and decide about that",
				d.Call)}
	}
	if e := people.RefuseDecision(o.Approval.ApprovalNeed, d, a.caller(o.Call)); e != nil {
		return e
	}
	return o.unfit(d)
}

// refusal returns the error for a decision on a closed approval; how says why it closed.
func (o *approval) refusal(how string) *api.ReplyError {
	return &api.ReplyError{Type: api.DecisionClosed,
		Message: fmt.Sprintf("nothing is left to decide about call %q: %s", o.Call, how)}
}

// late reports whether the approval's timeout has passed although the run has not processed the
// timer yet. After worker downtime, a decision and the timer can arrive in one task, and the SDK
// delivers the decision first.
func (o *approval) late(ctx workflow.Context) bool { return !workflow.Now(ctx).Before(o.Until) }

// undecided is the reason of an approval that timed out.
const undecided = "no decision came in time"

// decide takes a decision. It rejects invalid ones after the update was accepted, so that history
// records who tried what.
func (a *approvals) decide(ctx workflow.Context, d api.Decision) error {
	a.sizes.Updates++
	a.sizes.Task.Add(ctx, decisionSize(d))
	o := a.known.Get(d.Call)
	e := a.fault(o, d)
	if e == nil && o.late(ctx) {
		e = o.refusal(undecided)
	}
	if e == nil && d.Kind == api.DecisionEdit {
		var err error
		if e, err = a.change(ctx, o, d); err != nil {
			return err
		}
	}
	if e != nil {
		a.refused++
		return refuse(*e)
	}
	if d.Kind == api.DecisionDeny {
		o.fault = people.DenialError(d)
	}
	o.grant = d.Grant
	a.close(ctx, o, people.DecisionNote(d), api.NoticeDecision{Decision: d.Kind, By: d.By,
		Auth:   d.Auth,
		Reason: d.Reason})
	return nil
}

// change admits the call again with the arguments of an edit. A rejected edit leaves the approval
// open.
func (a *approvals) change(ctx workflow.Context, o *approval, d api.Decision) (*api.ReplyError,
	error) {
	o.checking = d.By
	v, err := a.edit(ctx, o, d)
	o.checking = ""
	switch {
	case err != nil:
		return nil, err
	case v.Error != nil:
		return &api.ReplyError{Type: api.DecisionUnfit, Problems: v.Error.Problems,
			Message: fmt.Sprintf("call %q with the changed arguments is refused (%s): %s", d.Call,
				v.Error.Type, v.Error.Message)}, nil
	case o.over:
		return a.fault(o, d), nil
	}
	o.decision = v
	return nil, nil
}

// editCall admits a call again with the arguments of a decision, in one recorded step.
func (p *pipeline) editCall(ctx workflow.Context, o *approval,
	d api.Decision) (v api.AdmissionDecision, err error) {
	c := o.call
	c.Arguments, c.Plan = string(selectArguments(o.call, o.decision)), o.decision.Plan
	request := api.EditRequest{Admit: p.admission(c, 0), Decision: d}
	// The first admission has counted the call.
	request.Admit.Allow, request.Admit.Facts.Calls = nil, p.runFacts.Past(c.ID)
	request.Admit.Facts.Earlier = p.runFacts.Log.Calls(c.ID)
	request.Admit.Calls = []api.Call{c}
	request.Admit.Tools = p.listTools(request.Admit.Calls)
	need := admissionSize(request.Admit) + decisionSize(d)
	cancelled := p.sizes.Task.Record(ctx, need, func() int {
		err = workflow.ExecuteLocalActivity(withSummary(withAdmitOptions(ctx, p.hooks.BeforeCall),
			"check of call "+c.ID+" as "+d.By+" changed it"), api.AdmitEditActivity,
			request).Get(ctx, &v)
		if err == nil {
			p.pinRules(v)
			p.followers.Readmit(v)
		}
		return budget.DecisionsSize([]api.AdmissionDecision{v})
	})
	return v, cmp.Or(cancelled, err)
}

const (
	// maxNotices bounds the notices of a run in flight: the server rejects more than 2,000 pending
	// activities.
	maxNotices = 200
	// noticeTimeout bounds one attempt to send a notice, noticePause is the time between two
	// attempts. All attempts together take about an hour.
	noticeTimeout  = 15 * time.Second
	noticePause    = time.Minute
	noticeAttempts = 64
)

// tell sends a notice of an approval to the webhook if its decision requires one. It does not
// block, and a failure has no effect on the run.
func (a *approvals) tell(ctx workflow.Context, o *approval, event api.NoticeEvent,
	decided *api.NoticeDecision) {
	if !o.Notify || a.notify == nil {
		return
	}
	notice := api.Notice{Event: event, At: workflow.Now(ctx), Call: o.Call, Tool: o.Tool,
		Limit: o.Limit, Text: o.Text, Reason: o.Reason, Rule: o.Rule,
		Digest: o.Digest, Approvers: o.Approvers, Until: o.Until, Decided: decided}
	// The notice is sent in a cancelled run as well.
	apart, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(apart, func(ctx workflow.Context) {
		if err := workflow.Await(ctx, func() bool { return a.notifying < maxNotices }); err != nil {
			return
		}
		a.notifying++
		a.notices++
		a.notify(ctx, fmt.Sprintf("notify/%d", a.notices), notice)
		a.notifying--
	})
}

// notify has a worker of the general lane send the notice to the webhook. It returns when that has
// succeeded or all attempts have failed.
func (p *pipeline) notify(ctx workflow.Context, id string, n api.Notice) {
	n.WorkflowID, n.Run = workflow.GetInfo(ctx).WorkflowExecution.ID, p.origin.Run
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: p.queue, ActivityID: id, StartToCloseTimeout: noticeTimeout,
		Summary:  fmt.Sprintf("approval of %s: %s", n.Call, n.Event),
		Priority: p.priority.Step(api.Route{}),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: noticeAttempts,
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: noticePause},
	})
	size := jsonvalue.TextSize(n.Text) + jsonvalue.TextSize(n.Reason)
	if p.sizes.Task.Await(ctx, size) != nil {
		return
	}
	p.sizes.Task.Add(ctx, size)
	if err := workflow.ExecuteActivity(ctx, api.NotifyApprovalActivity, n).Get(ctx,
		nil); err != nil {
		workflow.GetLogger(ctx).Warn("the webhook was not told of an approval", "call", n.Call,
			"event", n.Event, "error", err)
	}
}

// unfit returns why a decision does not match what waits: a call takes no grant, and a run at a
// limit needs a grant of that limit.
func (o *approval) unfit(d api.Decision) *api.ReplyError {
	message := ""
	switch {
	case o.Limit == "" && d.Grant != nil:
		message = fmt.Sprintf(
			"call %q waits for approval; only a run at a limit is granted something", d.Call)
	case o.Limit != "" && d.Kind == api.DecisionEdit:
		message = "a run at a limit has no arguments to change; grant it more, or deny it"
	case o.Limit != "" && d.Kind == api.DecisionApprove && d.Grant.Of(o.Limit) <= 0:
		message = fmt.Sprintf(
			"the run has reached its limit of %s; say how much more of it the run may use. What can be granted: %s",
			o.Limit, strings.Join(grantable, ", "))
	default:
		return nil
	}
	return &api.ReplyError{Type: api.DecisionUnfit, Message: message}
}

// askLimit opens an approval for more of a limit. The digest tells it apart from earlier, closed
// ones.
func (a *approvals) askLimit(ctx workflow.Context, need api.ApprovalNeed) *approval {
	a.known.Delete(api.LimitCall)
	a.ask(ctx, api.Call{ID: api.LimitCall}, api.AdmissionDecision{ID: api.LimitCall,
		Approval: &need})
	return a.known.Get(api.LimitCall)
}
