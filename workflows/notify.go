package workflows

import (
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// maxNotices bounds the notices of a run that are under way at a time: the server refuses more than 2,000 activities.
	maxNotices = 200
	// noticeTimeout bounds one attempt to tell the webhook, noticePause the time between two. The attempts take an hour in all.
	noticeTimeout  = 15 * time.Second
	noticePause    = time.Minute
	noticeAttempts = 64
)

// tell has the webhook told of an approval whose verdict says so. Nothing waits for it, and nothing comes of its failure.
func (a *approvals) tell(ctx workflow.Context, o *approval, event api.NoticeEvent, decided *api.NoticeDecision) {
	if !o.Notify || a.notify == nil {
		return
	}
	notice := api.Notice{Event: event, At: workflow.Now(ctx), Call: o.Call, Tool: o.Tool, Limit: o.Limit, Text: o.Text, Reason: o.Reason, Rule: o.Rule,
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

// notify has a worker of the general lane tell the webhook. It returns when that is done, or given up.
func (p *pipeline) notify(ctx workflow.Context, id string, n api.Notice) {
	n.WorkflowID, n.Run = workflow.GetInfo(ctx).WorkflowExecution.ID, p.origin.Run
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: p.queue, ActivityID: id, StartToCloseTimeout: noticeTimeout,
		Summary: fmt.Sprintf("approval of %s: %s", n.Call, n.Event), Priority: p.priority.step(api.Route{}),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: noticeAttempts, InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: noticePause},
	})
	if err := workflow.ExecuteActivity(ctx, api.NotifyApprovalActivity, n).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("the webhook was not told of an approval", "call", n.Call, "event", n.Event, "error", err)
	}
}
