package workflows

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxRefusedDecisions is how many refused decisions the history of a run keeps; further ones leave
// no trace there.
const maxRefusedDecisions = 50

// approvals are the calls of the run that wait until a person has approved them. Nothing of them is
// scheduled meanwhile. They live in the run's memory; that they wait stands in their verdicts, and
// what was decided in history.
type approvals struct {
	// open are in the order in which they were asked for, known are those that are over too, by
	// their calls' ids.
	open  []*approval
	known map[string]*approval
	// refused counts decisions that were refused and stand in history.
	refused int
	// edit admits a call anew with the arguments that a decision gives it.
	edit func(workflow.Context, *approval, api.Decision) (api.AdmissionDecision, error)
	// notify tells the webhook of an approval. notifying counts the notices under way, notices all
	// that there were.
	notify             func(workflow.Context, string, api.Notice)
	notifying, notices int
}

// approval is one call that waits, or waited.
type approval struct {
	api.Approval
	call api.Call
	// verdict is the call's, as it runs once it is approved.
	decision api.AdmissionDecision
	// checking is whose edit is being checked.
	checking string
	// over is set when there is nothing more to decide; how says why, and fault is the error of a
	// call that must not run.
	over  bool
	how   string
	fault *api.Error
	// grant is what a run at a limit was granted.
	grant *api.Grant
	// closed is ready when the approval is over.
	closed workflow.Future
	close  workflow.Settable
}

// newApprovals makes the run answer the query and take decisions. It comes before anything that
// waits.
func newApprovals(ctx workflow.Context) (*approvals, error) {
	a := &approvals{known: map[string]*approval{}}
	if err := workflow.SetQueryHandler(ctx, api.ApprovalsQuery, a.list); err != nil {
		return nil, err
	}
	return a, workflow.SetUpdateHandlerWithOptions(ctx, api.DecideApprovalUpdate, a.decide,
		workflow.UpdateHandlerOptions{Validator: a.mayDecide,
			Description: "a person decides about a call that waits for approval"})
}

// list answers the query with what waits, as much as fits.
func (a *approvals) list() ([]api.Approval, error) {
	return answering(a.open, func(o *approval) (api.Approval, int) {
		return o.Approval,
			len(o.Text) + len(o.Reason)
	}), nil
}

// ask asks for the approval of an admitted call, if its verdict says so and that has not been done.
func (a *approvals) ask(ctx workflow.Context, c api.Call, v api.AdmissionDecision) *approval {
	if v.Approval == nil || a.known[c.ID] != nil {
		return a.known[c.ID]
	}
	now := workflow.Now(ctx)
	o := &approval{call: c, decision: v, Approval: api.Approval{ApprovalNeed: *v.Approval,
		Call: c.ID, Tool: c.Tool,
		Asked: now, Until: now.Add(v.Approval.Within.Std())}}
	o.closed, o.close = workflow.NewFuture(ctx)
	a.known[c.ID] = o
	a.open = append(a.open, o)
	if len(a.open) == 1 {
		mark(ctx, now)
	}
	a.tell(ctx, o, api.NoticeWaiting, nil)
	workflow.Go(ctx, func(ctx workflow.Context) { a.watch(ctx, o) })
	return o
}

// mark tells by a memo, where runs are listed, since when calls wait for approval; nil says that
// none does.
func mark(ctx workflow.Context, since any) {
	if err := workflow.UpsertMemo(ctx, map[string]any{api.ApprovalsMemo: since}); err != nil {
		workflow.GetLogger(ctx).Warn("the run's list entry does not tell of approvals", "error",
			err)
	}
}

// watch closes an approval when its time is over, or the context is cancelled.
func (a *approvals) watch(ctx workflow.Context, o *approval) {
	for !o.over {
		options := workflow.AwaitOptions{Timeout: max(o.Until.Sub(workflow.Now(ctx)),
			time.Millisecond),
			TimerOptions: workflow.TimerOptions{Summary: api.ApprovalTimer(o.Call)}}
		decided, err := workflow.AwaitWithOptions(ctx, options, func() bool { return o.over })
		if err == nil && !decided {
			// An edit that came in time counts, however long its check takes.
			err = workflow.Await(ctx, func() bool { return o.over || o.checking == "" })
		}
		switch {
		case o.over:
		case err != nil:
			a.withdraw(ctx, o.Call, "the run was cancelled")
		case o.OnTimeout == api.ApprovalEscalates && !o.Escalated:
			o.Escalated, o.Until = true, workflow.Now(ctx).Add(o.Within.Std())
			a.tell(ctx, o, api.NoticeEscalated, nil)
		default:
			o.fault = api.NotApproved(o.Tool, o.Waited())
			a.close(ctx, o, undecided, api.NoticeDecision{Decision: api.DecisionTimeout})
		}
	}
}

// withdraw closes the approval of a call that is not made any more, if there is one.
func (a *approvals) withdraw(ctx workflow.Context, callID, why string) {
	if o := a.known[callID]; o != nil && !o.over {
		o.fault = api.NotStartedError()
		a.close(ctx, o, why, api.NoticeDecision{Decision: api.DecisionWithdrawn, Reason: why})
	}
}

// close ends an approval; how says why in words, for decisions that come later.
func (a *approvals) close(ctx workflow.Context, o *approval, how string,
	decided api.NoticeDecision) {
	o.over, o.how = true, how
	a.tell(ctx, o, api.NoticeDecided, &decided)
	a.open = slices.DeleteFunc(a.open, func(other *approval) bool { return other == o })
	if len(a.open) == 0 {
		mark(ctx, nil)
	}
	o.close.SetValue(nil)
}

// mayDecide refuses, without a trace in history, what no decision is, and what is about no call
// that waits or waited. What matters to who reads the records later, another call's digest, a
// second decision, one of nobody, is refused by decide.
func (a *approvals) mayDecide(_ workflow.Context, d api.Decision) error {
	if e := d.Check(); e != nil {
		return refuse(*e)
	}
	o := a.known[d.Call]
	if o == nil {
		return refuse(a.unknown(d.Call))
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

// unknown says that there is nothing to decide about a call, and about which there is.
func (a *approvals) unknown(callID string) api.ReplyError {
	e := api.ReplyError{Type: api.DecisionUnknown,
		Message: fmt.Sprintf("no call %q of the run waits for approval", callID)}
	for _, o := range a.open {
		e.Open = append(e.Open, o.Call)
	}
	e.Message += meant(e.Open, "none does", "waiting")
	return e
}

// fault returns why a decision does not count.
func (a *approvals) fault(o *approval, d api.Decision) *api.ReplyError {
	switch {
	case o.over:
		return o.refusal(o.how)
	case !d.Named():
		return &api.ReplyError{Type: api.DecisionUnnamed,
			Message: "the decision does not say whose it is"}
	case d.Digest != o.Digest:
		return &api.ReplyError{Type: api.DecisionMismatch,
			Message: fmt.Sprintf(
				"the decision is about another call: its digest is not that of call %q; look at what waits, and decide about that",
				d.Call)}
	}
	return o.unfit(d)
}

// refusal refuses a decision on an approval that is over; how says why.
func (o *approval) refusal(how string) *api.ReplyError {
	return &api.ReplyError{Type: api.DecisionClosed,
		Message: fmt.Sprintf("nothing is left to decide about call %q: %s", o.Call, how)}
}

// late reports whether the approval's time is over, though the run has not taken note of it: where
// no worker was there for a while, a decision can come together with the timer, and the SDK hands
// it over first. An approval that is still to be escalated stays open.
func (o *approval) late(ctx workflow.Context) bool {
	escalates := o.OnTimeout == api.ApprovalEscalates && !o.Escalated
	return !escalates && !workflow.Now(ctx).Before(o.Until)
}

// undecided says why an approval is over of which the time has passed.
const undecided = "nobody decided in time"

// decide takes a decision. One that does not count is refused after it was accepted, so that
// history keeps who tried what.
func (a *approvals) decide(ctx workflow.Context, d api.Decision) error {
	o := a.known[d.Call]
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
		o.fault = d.Denied()
	}
	o.grant = d.Grant
	a.close(ctx, o, d.Note(), api.NoticeDecision{Decision: d.Kind, By: d.By, Reason: d.Reason})
	return nil
}

// change admits the call anew with the arguments of an edit; what is refused leaves the approval
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

// editCall admits a call anew with the arguments that a decision gives it, in one recorded step.
func (p admitter) editCall(ctx workflow.Context, o *approval,
	d api.Decision) (v api.AdmissionDecision, err error) {
	c := o.call
	c.Arguments, c.Plan = string(validated(o.call, o.decision)), o.decision.Plan
	request := api.EditRequest{Admit: p.admission(0), Decision: d}
	// It was counted when it was admitted first.
	request.Admit.Allow, request.Admit.Facts.Calls = nil, p.runFacts.Past(c.ID)
	request.Admit.Calls = []api.Call{c}
	request.Admit.Tools = p.toolsOf(request.Admit.Calls)
	began := workflow.Now(ctx)
	err = workflow.ExecuteLocalActivity(saying(withAdmitOptions(ctx, p.hooks.BeforeCall),
		"check of call "+c.ID+" as "+d.By+" changed it"), api.AdmitEditActivity, request).Get(ctx,
		&v)
	if err == nil {
		p.admittedAt(v, began)
	}
	if p.inline.On {
		p.inline.Add(ctx, budget.DecisionsSize([]api.AdmissionDecision{v}))
	}
	return v, err
}

const (
	// maxNotices bounds the notices of a run that are under way at a time: the server refuses more
	// than 2,000 activities.
	maxNotices = 200
	// noticeTimeout bounds one attempt to tell the webhook, noticePause the time between two. The
	// attempts take an hour in all.
	noticeTimeout  = 15 * time.Second
	noticePause    = time.Minute
	noticeAttempts = 64
)

// tell has the webhook told of an approval whose verdict says so. Nothing waits for it, and nothing
// comes of its failure.
func (a *approvals) tell(ctx workflow.Context, o *approval, event api.NoticeEvent,
	decided *api.NoticeDecision) {
	if !o.Notify || a.notify == nil {
		return
	}
	notice := api.Notice{Event: event, At: workflow.Now(ctx), Call: o.Call, Tool: o.Tool,
		Limit: o.Limit, Text: o.Text, Reason: o.Reason, Rule: o.Rule,
		Digest: o.Digest, Until: o.Until, Decided: decided}
	// It is told in a cancelled run too.
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

// notify has a worker of the general lane tell the webhook. It returns when that is done, or given
// up.
func (p *pipeline) notify(ctx workflow.Context, id string, n api.Notice) {
	n.WorkflowID, n.Run = workflow.GetInfo(ctx).WorkflowExecution.ID, p.origin.Run
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: p.queue, ActivityID: id, StartToCloseTimeout: noticeTimeout,
		Summary:  fmt.Sprintf("approval of %s: %s", n.Call, n.Event),
		Priority: p.priority.Step(api.Route{}),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: noticeAttempts,
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: noticePause},
	})
	if err := workflow.ExecuteActivity(ctx, api.NotifyApprovalActivity, n).Get(ctx,
		nil); err != nil {
		workflow.GetLogger(ctx).Warn("the webhook was not told of an approval", "call", n.Call,
			"event", n.Event, "error", err)
	}
}
