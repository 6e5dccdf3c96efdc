package activities

import (
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// attempt is one attempt at a call.
type attempt struct {
	api.Execution
	info activity.Info
	// id and tool are the call's ID and tool name.
	id, tool string
	// inline is set if the call runs within its run's workflow task. The run then answers no
	// queries until the call has ended.
	inline *api.InlineCall
}

// readAttempt reads the attempt from an activity's input. The activity's type and ID are the call's
// tool and ID, except for inline calls, which the SDK numbers.
func readAttempt(ctx context.Context, input converter.EncodedValues) (attempt, error) {
	info := activity.GetInfo(ctx)
	t := attempt{info: info, id: api.CallOfActivity(info.ActivityID),
		tool: info.ActivityType.Name}
	if call, ok := input.(*api.InlineCall); ok {
		t.Execution, t.id, t.tool, t.inline = call.Execution, call.ID, call.Tool.Name, call
		return t, nil
	}
	err := input.Get(&t.Execution)
	return t, err
}

// spent returns the failure details of an inline call besides its error: the duration of the
// attempt, which history does not record otherwise.
func (t attempt) spent() []any {
	if t.inline == nil {
		return nil
	}
	return []any{api.Result{ExecutionMicros: time.Since(t.info.StartedTime).Microseconds()}}
}

// inlineSpec returns the spec of a tool whose call runs inline, from the call's input. Inline calls
// are recorded together and must be small.
func (a *Activities) inlineSpec(tool api.Tool) (*toolspecs.Compiled, error) {
	c, err := a.specs.Of(tool)
	if err != nil || c.Spec.Execution.MaxResult <= api.MaxInlineResult {
		return c, err
	}
	smaller := *c
	smaller.Spec.Execution.MaxResult = api.MaxInlineResult
	return &smaller, nil
}

// Bounds up to which an inline step admits the calls of an answer, so that answer and decisions fit
// into one marker. A run applies the same bounds when it admits calls in one request.
const (
	maxStepCalls = 200
	maxStepBytes = 256 << 10
)

// admitStep returns the admission decisions on the calls of an answer, as Admit does; nil leaves
// admission to the run.
func (a *Activities) admitStep(ctx context.Context, r *api.AdmissionRequest,
	answer api.ModelResponse) []api.AdmissionDecision {
	m := answer.Message
	if r == nil || len(m.Calls) == 0 || len(m.Calls) > maxStepCalls || m.Size() > maxStepBytes {
		return nil
	}
	request := *r
	request.Calls = m.Calls
	request.Facts.Usage.AddStep(answer.Usage) // policies are to know what this step used too
	decisions, err := a.Admission.Admit(ctx, request)
	if err != nil {
		return nil // the run tries it again by itself, and says what is wrong
	}
	return decisions
}

var (
	errRunCancelled = temporal.NewCanceledError("the run was cancelled")
	errWallTime     = temporal.NewCanceledError("the run's wall time has passed")
)

// clockLag is the maximum by which a run's own clock is behind: it loses a little with every result
// of an inline call. A run that checks its clock after its wall time ended an inline call must find
// that the time has passed.
const clockLag = 250 * time.Millisecond

// inlineContext returns a context for inline execution. It ends when the run's wall time has
// passed, because the run receives no events meanwhile. Its cause distinguishes a cancelled run
// from a stopped worker.
func inlineContext(ctx context.Context, left api.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	follow := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if errors.Is(cause, context.Canceled) {
			cause = errRunCancelled
		}
		cancel(cause)
	})
	release := func() {
		follow()
		cancel(nil)
	}
	if left <= 0 {
		return inner, release
	}
	bounded, end := context.WithTimeoutCause(inner, left.Std()+
		clockLag-time.Since(activity.GetInfo(ctx).ScheduledTime), errWallTime)
	return bounded, func() {
		end()
		release()
	}
}
