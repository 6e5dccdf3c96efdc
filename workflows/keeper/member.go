package keeper

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// joinTimeout bounds an attempt to reach the workflow that keeps an instance.
	joinTimeout = 30 * time.Second
	// joinPause bounds the wait between two attempts.
	joinPause = 10 * time.Second
)

// Member is that a run uses an instance of its conversation.
type Member struct {
	// Hosted is ready when the run can no longer use the instance: with its api.InstanceProgress,
	// or with an error that failure.Of reads.
	Hosted workflow.Future

	end workflow.Settable
	// id is that of the workflow Instance.
	id   string
	user instancerules.User
	over bool
	// joined is the future of the activity that takes the run to the workflow; nil if an earlier
	// execution of the run joined it.
	joined workflow.Future
	cancel func()
}

// Join has a run use the instance of tool that r describes. name identifies the activity in the
// run. If the tool has HostWithin, joining fails after that time.
func Join(ctx workflow.Context, tool api.Tool, r instancerules.JoinRequest, name string) *Member {
	info := workflow.GetInfo(ctx)
	// A reset run has the original run ID of the run before, and the instance knows its ticket.
	r.User = instancerules.User{WorkflowID: info.WorkflowExecution.ID,
		Ticket: info.OriginalRunID + "/" + name}
	m := resume(ctx, r.Keeper, r.User)
	ctx, m.cancel = workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             api.JoinActivityID(name),
		ScheduleToCloseTimeout: tool.HostWithin.Std(),
		StartToCloseTimeout:    joinTimeout,
		Summary:                "the conversation's instance of " + r.Name(),
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond,
			BackoffCoefficient: 2, MaximumInterval: joinPause},
	}))
	m.joined = workflow.ExecuteActivity(ctx, api.JoinInstanceActivity, r)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := m.joined.Get(ctx, nil); err != nil && !m.over {
			m.fail(joinError(failure.Of(err), tool, r.Name()), api.InstanceProgress{})
		}
	})
	return m
}

// Resume has the execution that continues a run use the instance that the previous one has joined
// with that ticket. id is that of the workflow that keeps the instance.
func Resume(ctx workflow.Context, id, ticket string) *Member {
	return resume(ctx, id, instancerules.User{
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID, Ticket: ticket})
}

func resume(ctx workflow.Context, id string, user instancerules.User) *Member {
	m := &Member{user: user, cancel: func() {}, id: id}
	m.Hosted, m.end = workflow.NewFuture(ctx)
	return m
}

// Ticket returns the ticket with which the next execution of the run resumes; empty if the run has
// not joined yet.
func (m *Member) Ticket() string {
	if m == nil || m.joined != nil && !m.joined.IsReady() {
		return ""
	}
	return m.user.Ticket
}

// Holds reports whether the run uses the instance with that ticket.
func (m *Member) Holds(ticket string) bool { return m != nil && m.user.Ticket == ticket }

// End handles that the instance ended.
func (m *Member) End(e instancerules.Ended) {
	switch {
	case m.over:
	case e.Error == nil:
		m.over = true
		m.end.SetValue(e.Last)
	default:
		m.fail(e.Error, e.Last)
	}
}

// fail ends the use of the instance with an error.
func (m *Member) fail(e *api.Error, last api.InstanceProgress) {
	m.over = true
	m.end.SetError(temporal.NewApplicationErrorWithOptions(e.Message, string(e.Type),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{*e, last}}))
}

// Leave ends the use of the instance, which goes on without the run. It returns when its workflow
// knows.
func (m *Member) Leave(ctx workflow.Context) {
	m.over = true
	m.cancel()
	_ = workflow.SignalExternalWorkflow(ctx, m.id, "", api.LeaveInstanceSignal,
		m.user).Get(ctx, nil) // a workflow that has ended has no users
}
