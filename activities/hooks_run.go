package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
)

// maxMemory bounds what one hook stores for a run, in bytes.
const maxMemory = 64 << 10

// hookFailed is the error type of a failed run hook in history.
const hookFailed = "hook_failed"

// RunHook runs one hook of a run. It returns the hook's failure, which is retried if it was marked
// with switchyard.Transient.
func (a *Activities) RunHook(ctx context.Context, r api.HookRequest) (api.HookAnswer, error) {
	ctx, rest := keepAlive(ctx)
	defer rest()
	registered, err := a.config.Hooks.find(r.Point, r.Hook.Name)
	if err != nil {
		return api.HookAnswer{}, hookFailure(err)
	}
	run := switchyard.HookRun{Agent: r.Agent, Prompt: r.Prompt,
		Conversation: func(context.Context) ([]api.Message, error) {
			return a.conversation(ctx, r.Conversation)
		}}
	inner := withHookContext(ctx, r.Origin, r.Parent, "", api.Tool{})
	answer, err := inTime(inner, r.Hook, func(ctx context.Context) (api.HookAnswer, error) {
		if r.End != nil {
			return api.HookAnswer{}, registered.Funcs().EndRun(ctx, switchyard.HookEnd{HookRun: run,
				RunEnd: *r.End})
		}
		return registered.Funcs().BeginRun(ctx, run)
	})
	switch {
	case err != nil && temporal.IsCanceledError(context.Cause(ctx)):
		return api.HookAnswer{}, temporal.NewCanceledError()
	case err != nil:
		logHook(inner, r.Hook, r.Point, err)
		return api.HookAnswer{}, hookFailure(err)
	}
	answer.Refused, answer.Text = hookText(answer.Refused), executor.ValidText(answer.Text)
	if n := len(answer.Text); n > maxMemory {
		answer.Text = fmt.Sprintf("%s… [cut to %d of %d bytes]",
			answer.Text[:executor.FittingPrefix(answer.Text, maxMemory)], maxMemory, n)
	}
	return answer, nil
}

func hookFailure(err error) error {
	transient, _ := errors.AsType[*api.Error](api.AsError(err))
	return temporal.NewApplicationErrorWithOptions(hookText(err.Error()), hookFailed,
		temporal.ApplicationErrorOptions{NonRetryable: !transient.Retryable,
			NextRetryDelay: transient.RetryAfter.Std()})
}
