package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// attempt is one attempt at a call: what is to be executed, and who asks for it.
type attempt struct {
	api.Execution
	info activity.Info
	// id and tool are the call's.
	id, tool string
	// inline is set where the call runs within its run's workflow task. Then the run can be asked
	// for nothing: it answers when the call is over.
	inline *api.InlineCall
}

// attemptOf reads the attempt that an activity is to make. An activity's type and id are the call's
// tool and id, but for an inline call, which the SDK numbers.
func attemptOf(ctx context.Context, input converter.EncodedValues) (attempt, error) {
	info := activity.GetInfo(ctx)
	t := attempt{info: info, id: info.ActivityID, tool: info.ActivityType.Name}
	if call, ok := input.(*api.InlineCall); ok {
		t.Execution, t.id, t.tool, t.inline = call.Execution, call.ID, call.Tool.Name, call
		return t, nil
	}
	err := input.Get(&t.Execution)
	return t, err
}

// spent is what the failure of an inline call says besides its error: how long the attempt took, of
// which history has no other sign.
func (t attempt) spent() []any {
	if t.inline == nil {
		return nil
	}
	return []any{api.Result{ExecutionMicros: time.Since(t.info.StartedTime).Microseconds()}}
}

// inlineSpec returns the spec of a tool whose call runs inline, from what the call brought along.
// What runs inline is recorded together and has to be small.
func (a *Activities) inlineSpec(tool api.Tool) (*toolspecs.Compiled, error) {
	c, err := a.specs.of(tool)
	if err != nil || c.Spec.Execution.MaxResult <= api.MaxInlineResult {
		return c, err
	}
	smaller := *c
	smaller.Spec.Execution.MaxResult = api.MaxInlineResult
	return &smaller, nil
}

// fitInline cuts a result that takes too much room in history although its text does not: JSON
// writes some characters with six bytes.
func fitInline(r api.Result) api.Result {
	const longest = (api.MaxInlineRecord - 2) / 6 // without the quotes
	if len(r.Output) <= longest {
		return r
	}
	if data, err := json.Marshal(r.Output); err == nil && len(data) <= api.MaxInlineRecord {
		return r
	}
	output, cut := executor.Truncate(r.Output, longest)
	r.Output, r.Cut = output, r.Cut+cut
	r.Notes = append(r.Notes, fmt.Sprintf(
		"cut by %d bytes: what runs inline may take %d bytes in history", cut, api.MaxInlineRecord))
	r.Tokens = tokens.Count(r.ForModel())
	return r
}

// An inline step admits the calls of an answer up to these bounds, so that answer and verdicts fit
// into one marker. They are those up to which a run has calls admitted together.
const (
	maxStepCalls = 200
	maxStepBytes = 256 << 10
)

// admitStep returns the verdicts on the calls of an answer, as Admit does; none where it is left to
// the run.
func (a *Activities) admitStep(ctx context.Context, r *api.AdmissionRequest,
	answer api.ModelResponse) []api.AdmissionDecision {
	m := answer.Message
	if r == nil || len(m.Calls) == 0 || len(m.Calls) > maxStepCalls || m.Size() > maxStepBytes {
		return nil
	}
	request := *r
	request.Calls = m.Calls
	request.Facts.Usage.AddStep(answer.Usage) // policies are to know what this step used too
	decisions, err := a.Admit(ctx, request)
	if err != nil {
		return nil // the run tries it again by itself, and says what is wrong
	}
	return decisions
}

var (
	errRunCancelled = temporal.NewCanceledError("the run was cancelled")
	errWallTime     = temporal.NewCanceledError("the run's wall time has passed")
)

// clockLag is by how much a run's own clock may be behind: it loses a little with every result of
// what runs inline. A run that looks at it after an inline call that its wall time has ended must
// see that the time has passed.
const clockLag = 250 * time.Millisecond

// inlineContext returns a context for what runs inline. It ends when the run's wall time has
// passed, because no event of that reaches the run meanwhile, and its cause tells a cancelled run
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

// errInline is why nothing that runs inline asks its own run: it would wait for itself.
var errInline = errors.New("what runs inline cannot ask its own run, which waits for it")
