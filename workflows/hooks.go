package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/checkers"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// hookHeartbeat is the time after which a lost worker that runs a hook is detected;
	// hookAttempts bounds the attempts of such a hook.
	hookHeartbeat = 5 * time.Second
	hookAttempts  = 3
)

// useHooks sets the hooks of the run's agent on its pipeline.
func (r *agentRun) useHooks() {
	p := r.pipeline
	p.hooks = &r.agent.Hooks
	p.measure()
	p.questions.hooks, p.questions.parent = p.hooks.AfterCall, p.parent.Call
}

// beginHooks runs the hooks before the run, then the memory hooks that load notes. It returns an
// error if the run must not start.
func (r *agentRun) beginHooks(ctx workflow.Context) error {
	for i, h := range r.agent.Hooks.BeforeRun {
		answer, err := r.runHook(ctx, api.HookBeforeRun, i, h, nil)
		if err == nil && answer.Refused != "" {
			err = r.blockedBy(fmt.Sprintf("the hook %q refused the run: %s", h.Name,
				answer.Refused), &api.RunResult{})
		}
		if err != nil {
			return err
		}
	}
	var notes []api.Message
	for i, h := range r.agent.Hooks.MemoryRetrieve {
		answer, err := r.runHook(ctx, api.HookMemoryRetrieve, i, h, nil)
		if err != nil {
			return err
		}
		if answer.Text != "" {
			notes = append(notes, api.Message{Role: api.RoleSystem, Text: answer.Text})
		}
	}
	r.remember(notes)
	return nil
}

// remember adds notes to the conversation, after the instructions and before everything else.
func (r *agentRun) remember(notes []api.Message) {
	if len(notes) == 0 {
		return
	}
	old := r.conversation.Messages
	at := 0
	for at < len(old) && old[at].Role == api.RoleSystem {
		at++
	}
	r.conversation.Replace(slices.Concat(old[:at], notes, old[at:]))
	if r.window.Task > 0 {
		r.window.Task += len(notes)
	}
}

// endHooks runs, after the run, the memory hooks that save and then the hooks after the run, also
// in a cancelled run. If a blocking hook fails, a run that had succeeded fails and is undone as
// usual.
func (r *agentRun) endHooks(ctx workflow.Context, result *api.RunResult,
	failure error) (*api.RunResult, error) {
	hooks := r.agent.Hooks
	if len(hooks.MemoryWrite)+len(hooks.AfterRun) == 0 {
		return result, failure
	}
	end := r.newRunEnd(ctx, result, failure)
	apart, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	for _, p := range hookrules.Points(hooks) {
		if p.Point != api.HookMemoryWrite && p.Point != api.HookAfterRun {
			continue
		}
		for i, h := range p.Hooks {
			if _, err := r.runHook(apart, p.Point, i, h, end); err != nil && failure == nil {
				failure = r.pipeline.end(ctx, err)
			}
		}
	}
	if failure != nil {
		return nil, failure
	}
	return result, nil
}

// newRunEnd returns what hooks are told about the end of the run.
func (r *agentRun) newRunEnd(ctx workflow.Context, result *api.RunResult,
	failure error) *api.RunEnd {
	end := &api.RunEnd{}
	if result != nil {
		end.RunResult = *result
	}
	r.pipeline.tally(&end.RunResult)
	if failure == nil {
		return end
	}
	end.Outcome, end.Failure = api.OutcomeFailed, failure.Error()
	if app, ok := errors.AsType[*temporal.ApplicationError](failure); ok {
		end.Failure, end.FailureType = app.Message(), api.RunErrorType(app.Type())
	}
	if ctx.Err() != nil && temporal.IsCanceledError(failure) {
		end.Outcome, end.Failure = api.OutcomeCancelled, ""
	}
	end.Failure = cutText(end.Failure)
	return end
}

// runHook runs one hook of the run as an activity of the general lane. It returns a failure only if
// the hook blocks or the run was cancelled meanwhile.
func (r *agentRun) runHook(ctx workflow.Context, point api.HookPoint, n int, h api.Hook,
	end *api.RunEnd) (answer api.HookAnswer, err error) {
	p, c := r.pipeline, &r.conversation
	request := api.HookRequest{Point: point, Hook: h, Agent: r.agent.Name, Prompt: r.hookPrompt(),
		Origin: *p.passed, Parent: p.parent.Call, End: end,
		Conversation: api.ModelRequest{Run: p.origin.Run, Turn: r.turn, Chain: c.SeenChain,
			Seen: c.Seen, New: c.Fresh}}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: p.queue, ActivityID: fmt.Sprintf("%s-%d", point, n+1),
		StartToCloseTimeout: hookrules.Timeout(h) + graceAfterTimeout,
		HeartbeatTimeout:    hookHeartbeat, WaitForCancellation: true, Summary: "hook " + h.Name,
		Priority: p.priority.Step(api.Route{}),
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: hookAttempts,
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2},
	})
	size := p.passedSize + jsonvalue.TextSize(request.Prompt)
	if end != nil {
		size += jsonvalue.TextSize(end.Answer) + jsonvalue.PayloadSize(end.Output)
	}
	if err := p.sizes.Task.Await(ctx, size); err != nil {
		return answer, err
	}
	p.sizes.Task.Add(ctx, size)
	err = workflow.ExecuteActivity(ctx, api.HookActivity, request).Get(ctx, &answer)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case !hookrules.Blocks(h, point):
		return api.HookAnswer{}, nil
	}
	result := &api.RunResult{}
	if end != nil {
		result = &end.RunResult
	}
	return answer, r.blockedBy(fmt.Sprintf("the hook %q for %s failed: %s", h.Name, point,
		hookFailure(err, h)), result)
}

// hookFailure describes how a run's hook failed.
func hookFailure(err error, h api.Hook) string {
	f := failure.Of(err)
	if f.Timeout != "" {
		return fmt.Sprintf("its worker was lost, or it did not end within %s, at every attempt",
			hookrules.Timeout(h))
	}
	return cutText(f.Message)
}

// maxHookPrompt bounds the prompt that hooks get, in bytes. Hooks can query the conversation for
// the full prompt.
const maxHookPrompt = 64 << 10

// blockedBy returns the failure of a run that a hook blocked or failed. Its details have the run's
// result so far.
func (r *agentRun) blockedBy(message string, result *api.RunResult) error {
	return runError(api.RunBlocked, message, nil, *r.pipeline.tally(result))
}

// check asks the agent's checker, if any, whether a run that gives a result has solved its task.
// The answer or the checker's failure goes into the result; neither fails the run.
func (r *agentRun) check(ctx workflow.Context, result *api.RunResult) *api.RunResult {
	checker := r.agent.Checker
	if checker == nil {
		return result
	}
	checked := checkers.Evaluate(*checker, r.askChecker(ctx, *checker, result.Answer))
	result.Checked = &checked
	return r.pipeline.tally(result)
}

// askChecker makes the call that checks the run.
func (r *agentRun) askChecker(ctx workflow.Context, checker api.Checker,
	answer string) api.CallOutcome {
	p := r.pipeline
	c, err := checkers.Call(checker, checkers.Run{Prompt: r.hookPrompt(), Answer: answer})
	if err == nil {
		var out api.CallOutcome
		if out, err = p.makeOne(ctx, c); err == nil {
			return out
		}
	}
	return api.CallOutcome{Tool: checker.Tool, Error: api.Errorf(api.ErrExecution, "%s",
		cutText(err.Error()))}
}
