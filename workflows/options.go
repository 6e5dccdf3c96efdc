package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// graceAfterTimeout is added to the timeout of a model step or hook for that of its activity.
const graceAfterTimeout = time.Duration(api.AttemptGrace)

// reportGrace returns for how long beyond the longest attempt the end of a call can be reported.
// The server may be away for as long as the heartbeat timeout of the call allows.
func reportGrace(t api.Tool) time.Duration {
	return max(0, min(t.Heartbeat.Std(), maxReportGrace)-graceAfterTimeout)
}

// maxReportGrace bounds the grace of tools with a long heartbeat timeout.
const maxReportGrace = time.Minute

// Defaults of a model step.
const (
	modelHeartbeat   = 3 * time.Second
	modelMaxAttempts = 5
)

// localTimeout bounds an attempt of a local activity, which only computes.
const localTimeout = 30 * time.Second

// longestWait bounds the time of a call in its lane's wait queue where nothing else does.
const longestWait = 365 * 24 * time.Hour

// callOptions returns the options of a call's activity, without its priority.
func callOptions(base, id string, t api.Tool, r api.Route,
	summary string) workflow.ActivityOptions {
	t = failures.ApplyRoute(t, r)
	o := workflow.ActivityOptions{
		TaskQueue:              cmp.Or(r.Queue, queues.Lane(base, t.Lane)),
		ActivityID:             id,
		StartToCloseTimeout:    t.LongestAttempt().Std() + reportGrace(t),
		ScheduleToStartTimeout: t.QueueTimeout.Std(),
		HeartbeatTimeout:       t.Heartbeat.Std(),
		WaitForCancellation:    true,
		Summary:                summary,
		RetryPolicy:            retryPolicy(t),
		// Eager execution would bypass the task queue, and so the rules of the lane.
		DisableEagerExecution: r != api.Route{},
	}
	if r.Holds {
		o.StartToCloseTimeout += cmp.Or(t.QueueTimeout.Std(), longestWait)
	}
	if t.Dispatch == api.DispatchQuestion {
		// No worker holds the call while a person answers, so nothing could heartbeat or confirm a
		// cancellation.
		o.ScheduleToCloseTimeout, o.HeartbeatTimeout, o.WaitForCancellation = t.AnswerWithin.Std(),
			0, false
	}
	return o
}

func retryPolicy(t api.Tool) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		MaximumAttempts:    int32(min(t.Attempts(), 1<<20)),
		InitialInterval:    t.Retry.InitialInterval.Std(),
		BackoffCoefficient: max(t.Retry.Backoff, 1),
		MaximumInterval:    t.Retry.MaxInterval.Std(),
	}
}

// modelOptions returns the options of a model step's activity, without its priority.
func modelOptions(base, id string, m api.Model, r api.Route,
	summary string) workflow.ActivityOptions {
	timeout, attempts := cmp.Or(m.Timeout, api.DefaultModelTimeout).Std(), m.MaxAttempts
	if attempts <= 0 {
		attempts = modelMaxAttempts
	}
	o := workflow.ActivityOptions{
		TaskQueue:              cmp.Or(r.Queue, queues.Lane(base, m.Lane)),
		ActivityID:             id,
		StartToCloseTimeout:    timeout + graceAfterTimeout,
		ScheduleToStartTimeout: r.QueueTimeout.Std(),
		HeartbeatTimeout:       max(modelHeartbeat, r.Lease.Std()),
		WaitForCancellation:    true,
		Summary:                summary,
		DisableEagerExecution:  r != api.Route{},
		RetryPolicy: &temporal.RetryPolicy{
			MaximumAttempts: int32(min(attempts, 1<<20)), InitialInterval: time.Second,
			BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
	}
	if r.Holds {
		o.StartToCloseTimeout += longestWait
	}
	return o
}

// withAdmitOptions sets the options of admission, which is retried for a minute or two. The hooks
// of several calls run concurrently.
func withAdmitOptions(ctx workflow.Context, hooks []api.Hook) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx,
		localOptions(localTimeout+hookrules.TotalTimeout(hooks),
			&temporal.RetryPolicy{MaximumAttempts: 20, InitialInterval: 100 * time.Millisecond,
				BackoffCoefficient: 2, MaximumInterval: 5 * time.Second}, ""))
}

// withLocalOptions sets the options of steps that only compute, plus the time of hooks that run
// within them.
func withLocalOptions(ctx workflow.Context, hooks ...api.Hook) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: localTimeout + hookrules.TotalTimeout(hooks),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3,
			InitialInterval: 100 * time.Millisecond},
	})
}

// maxSaid bounds the summary of a local activity, in characters.
const maxSaid = 100

// withSummary sets the summary that a local activity shows in the history.
func withSummary(ctx workflow.Context, summary string) workflow.Context {
	o := workflow.GetLocalActivityOptions(ctx)
	o.Summary = display.Shorten(summary, maxSaid)
	return workflow.WithLocalActivityOptions(ctx, o)
}

// nameCalls returns a text such as "calls 3.1 to 3.4".
func nameCalls(calls []api.Call) string {
	if len(calls) == 1 {
		return "call " + calls[0].ID
	}
	return "calls " + calls[0].ID + " to " + calls[len(calls)-1].ID
}

// callError maps Temporal's error of a failed activity to the closed set of error types; an error
// of that set is returned as it is. executor.Failure converts in the opposite direction.
func callError(err error, tool api.Tool, route api.Route) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	return failures.CallError(failure.Of(err), tool, route)
}

// runError returns the failure of a whole run.
func runError(kind api.RunErrorType, message string, cause error, details ...any) error {
	return temporal.NewApplicationErrorWithOptions(message, string(kind),
		temporal.ApplicationErrorOptions{
			NonRetryable: true, Cause: cause, Details: details,
		})
}

// measureJSON returns the size of a value as JSON.
func measureJSON(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return api.MaxPayload
	}
	return len(data)
}

// localOptions bounds each attempt of a local activity by timeout, and all attempts by their
// possible total. Without a total the SDK uses the timeout of one attempt for it.
func localOptions(timeout time.Duration, retry *temporal.RetryPolicy,
	summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout: timeout,
		ScheduleToCloseTimeout: time.Duration(min(cmp.Or(retry.MaximumAttempts, maxBounded),
			maxBounded)) * (timeout + retry.MaximumInterval),
		RetryPolicy: retry,
		Summary:     summary,
	}
}

// unshown is the function that updates what a run shows before it has pinned its tools.
func unshown(workflow.Context) {}

// maxBounded is the number of attempts up to which their total time is computed; unlimited attempts
// count as this number.
const maxBounded = 1000
