package workflows

import (
	"cmp"
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// graceAfterTimeout is how much later than a tool's own timeout the server gives up on an attempt.
// The executor keeps the tool's timeout itself, so that it can stop the tool and say what happened;
// the server's is for executors that hang.
const graceAfterTimeout = 5 * time.Second

// Defaults of a model step.
const (
	modelHeartbeat   = 3 * time.Second
	modelMaxAttempts = 5
)

// localTimeout bounds an attempt of a local activity: they only compute, or send a signal.
const localTimeout = 30 * time.Second

// longestWait bounds the wait of a call with its lane's holder where nothing else does.
const longestWait = 365 * 24 * time.Hour

// callOptions are the options of a call's activity, but for its priority.
func callOptions(base, id string, t api.Tool, r api.Route,
	summary string) workflow.ActivityOptions {
	t = t.On(r)
	o := workflow.ActivityOptions{
		TaskQueue:              cmp.Or(r.Queue, api.Queue(base, t.Lane)),
		ActivityID:             id,
		StartToCloseTimeout:    t.Timeout.Std() + t.AnswerWithin.Std() + graceAfterTimeout,
		ScheduleToStartTimeout: t.QueueTimeout.Std(),
		HeartbeatTimeout:       t.Heartbeat.Std(),
		WaitForCancellation:    true,
		Summary:                summary,
		RetryPolicy:            retryPolicy(t),
		// A call that goes past its queue goes past the lane's rules.
		DisableEagerExecution: r != api.Route{},
	}
	if r.Holds {
		o.StartToCloseTimeout += cmp.Or(t.QueueTimeout.Std(), longestWait)
	}
	if t.Kind == api.KindHuman {
		// No worker holds the call while a person takes their time: nobody could heartbeat, or tell
		// that it has stopped.
		o.ScheduleToCloseTimeout, o.HeartbeatTimeout, o.WaitForCancellation = t.AnswerWithin.Std(),
			0, false
	}
	return o
}

func retryPolicy(t api.Tool) *temporal.RetryPolicy {
	attempts := t.Retry.MaxAttempts
	if t.Effect == api.EffectOnce || attempts < 1 {
		attempts = 1
	}
	return &temporal.RetryPolicy{
		MaximumAttempts:    int32(min(attempts, 1<<20)),
		InitialInterval:    t.Retry.InitialInterval.Std(),
		BackoffCoefficient: max(t.Retry.Backoff, 1),
		MaximumInterval:    t.Retry.MaxInterval.Std(),
	}
}

// modelOptions are the options of a model step's activity, but for its priority.
func modelOptions(base, id string, m api.Model, r api.Route,
	summary string) workflow.ActivityOptions {
	timeout, attempts := cmp.Or(m.Timeout, api.DefaultModelTimeout).Std(), m.MaxAttempts
	if attempts <= 0 {
		attempts = modelMaxAttempts
	}
	o := workflow.ActivityOptions{
		TaskQueue:              cmp.Or(r.Queue, api.Queue(base, m.Lane)),
		ActivityID:             id,
		StartToCloseTimeout:    timeout + graceAfterTimeout,
		ScheduleToStartTimeout: r.QueueTimeout.Std(),
		HeartbeatTimeout:       modelHeartbeat,
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

// withAdmitOptions are those of admission, which may have to tell the server of a key: a run must
// not fail for what passes in a minute or two. The hooks of several calls run at once.
func withAdmitOptions(ctx workflow.Context, hooks []api.Hook) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, localOptions(localTimeout+api.HooksWithin(hooks),
		signalRetry(20), ""))
}

// signalRetry is the retry policy of what tells the server something; zero attempts are any number.
func signalRetry(attempts int32) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{MaximumAttempts: attempts, InitialInterval: 100 * time.Millisecond,
		BackoffCoefficient: 2, MaximumInterval: 5 * time.Second}
}

// withLocalOptions are those of what only computes, but for the hooks that run within it.
func withLocalOptions(ctx workflow.Context, hooks ...api.Hook) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: localTimeout + api.HooksWithin(hooks),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3,
			InitialInterval: 100 * time.Millisecond},
	})
}

// maxSaid bounds what a local activity says of itself, in characters.
const maxSaid = 100

// saying has a local activity say in the history, in a few words, what it is for.
func saying(ctx workflow.Context, summary string) workflow.Context {
	o := workflow.GetLocalActivityOptions(ctx)
	o.Summary = api.Shorten(summary, maxSaid)
	return workflow.WithLocalActivityOptions(ctx, o)
}

// named names calls by the first and the last.
func named(calls []api.Call) string {
	if len(calls) == 1 {
		return "call " + calls[0].ID
	}
	return "calls " + calls[0].ID + " to " + calls[len(calls)-1].ID
}

// callError maps what Temporal says of a failed activity to the closed set; an error of that set is
// what it is. The other direction is activities.Failure.
func callError(err error, tool api.Tool, route api.Route) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	return activityFailure(err).CallError(tool, route)
}

func activityFailure(err error) api.ActivityFailure {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		f := api.ActivityFailure{Timeout: api.TimeoutKind(timeout.TimeoutType().String())}
		if timeout.HasLastHeartbeatDetails() {
			f.LastHeartbeat = func(v any) error { return timeout.LastHeartbeatDetails(v) }
		}
		return f
	}
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if temporal.IsCanceledError(err) || !ok {
		return api.ActivityFailure{Cancelled: temporal.IsCanceledError(err), Message: err.Error()}
	}
	return api.ActivityFailure{Type: app.Type(), Message: app.Message(),
		Details: func(v any) error { return app.Details(v) }}
}

// runError is the failure of a whole run.
func runError(kind api.RunErrorType, message string, cause error, details ...any) error {
	return temporal.NewApplicationErrorWithOptions(message, string(kind),
		temporal.ApplicationErrorOptions{
			NonRetryable: true, Cause: cause, Details: details,
		})
}
