package hooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"go.temporal.io/sdk/temporal"
)

// maxMemory bounds what one hook stores for a run, in bytes.
const maxMemory = 64 << 10

// hookFailed is the error type of a failed run hook in history.
const hookFailed = "hook_failed"

// Run runs one hook of a run. conversation returns the run's messages if the hook asks for them. It
// returns the hook's failure, which is retried if it was marked with tool.Transient.
func (r *Registry) Run(ctx context.Context, request api.HookRequest,
	conversation func(context.Context) ([]api.Message, error)) (api.HookAnswer, error) {
	registered, err := r.Find(request.Point, request.Hook.Name)
	if err != nil {
		return api.HookAnswer{}, runFailure(err)
	}
	run := tool.HookRun{Agent: request.Agent, Prompt: request.Prompt,
		Conversation: conversation}
	inner := WithContext(ctx, request.Origin, request.Parent, "", api.Tool{})
	answer, err := Call(inner, request.Hook, func(ctx context.Context) (api.HookAnswer, error) {
		if request.End != nil {
			return api.HookAnswer{}, registered.Funcs().EndRun(ctx, tool.HookEnd{HookRun: run,
				RunEnd: *request.End})
		}
		return registered.Funcs().BeginRun(ctx, run)
	})
	switch {
	case err != nil && temporal.IsCanceledError(context.Cause(ctx)):
		return api.HookAnswer{}, temporal.NewCanceledError()
	case err != nil:
		LogFailure(inner, request.Hook, request.Point, err)
		return api.HookAnswer{}, runFailure(err)
	}
	answer.Refused, answer.Text = Text(answer.Refused), executor.ValidText(answer.Text)
	if n := len(answer.Text); n > maxMemory {
		answer.Text = fmt.Sprintf("%s… [cut to %d of %d bytes]",
			answer.Text[:executor.FittingPrefix(answer.Text, maxMemory)], maxMemory, n)
	}
	return answer, nil
}

func runFailure(err error) error {
	transient, _ := errors.AsType[*api.Error](api.AsError(err))
	return temporal.NewApplicationErrorWithOptions(Text(err.Error()), hookFailed,
		temporal.ApplicationErrorOptions{NonRetryable: !transient.Retryable,
			NextRetryDelay: transient.RetryAfter.Std()})
}
