package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// toolBench returns a process with the one tool "probe", which f executes.
func toolBench(t testing.TB, change func(*toolspecs.Spec), f answerFunc) (*bench,
	*toolspecs.Compiled) {
	t.Helper()
	catalog := catalogOf(t, spec("probe", change))
	b := setUp(t, catalog, func(
		c *Config) {
		c.Executors = map[string]executor.Executor{toolspecs.KindFunction: f}
	})
	compiled, _ := catalog.Get("probe")
	return b, compiled
}

func executionOf(c *toolspecs.Compiled) api.Execution {
	return api.Execution{Digest: c.Digest, Arguments: json.RawMessage(`{"text":"a"}`),
		Origin: api.Origin{Run: "run-1",
			Caller: api.Caller{Type: api.CallerAgent, ID: "tester"}}}
}

// execute runs one attempt of the tool "probe" in an activity's context, which cancel may end.
func (b *bench) execute(t testing.TB, x api.Execution,
	cancel func(context.CancelCauseFunc)) (result api.Result, err error) {
	t.Helper()
	value, err := within(t, "probe", x, func(ctx context.Context, in converter.EncodedValues) (any,
		error) {
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		if cancel != nil {
			cancel(end)
		}
		return b.Tool(ctx, in)
	})
	if err == nil {
		err = value.Get(&result)
	}
	return result, err
}

func answers(output string, notes ...string) answerFunc {
	return func(context.Context, *toolspecs.Spec, json.RawMessage) (executor.Answer, error) {
		return executor.Answer{Output: json.RawMessage(output), Notes: notes}, nil
	}
}

func fails(err error) answerFunc {
	return func(context.Context, *toolspecs.Spec, json.RawMessage) (executor.Answer, error) {
		return executor.Answer{}, err
	}
}

// remembersCall reports whether the process has cached the message of a call, whose id is that of
// activities in the SDK's test environment.
func (b *bench) remembersCall(t testing.TB, outcome api.CallOutcome) bool {
	t.Helper()
	for id := range 10 {
		outcome.ID = fmt.Sprint(id)
		if b.remembers(t, "run-1", outcome.Message()) {
			return true
		}
	}
	return false
}

// untilStopped is a tool that runs until it is stopped, and returns the cause. It signals its
// start.
func untilStopped(running chan<- struct{}) answerFunc {
	return func(ctx context.Context, _ *toolspecs.Spec, _ json.RawMessage) (executor.Answer,
		error) {
		close(running)
		<-ctx.Done()
		return executor.Answer{}, fmt.Errorf("the tool was stopped: %w", context.Cause(ctx))
	}
}

// The context has the call, its key and its timeout.
func TestTool_ReadsItsCallFromTheContext(t *testing.T) {
	var call api.CallContext
	var args string
	b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Timeout = 3 * second },
		func(ctx context.Context, s *toolspecs.Spec, a json.RawMessage) (executor.Answer, error) {
			call, _ = callcontext.From(ctx)
			args = string(a)
			info := activity.GetInfo(ctx)
			if call.CallID != info.ActivityID || call.WorkflowID != info.WorkflowExecution.ID ||
				call.RunID != info.WorkflowExecution.RunID || s.Name != "probe" {
				t.Errorf("got %+v in %+v", call, info)
			}
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 3*time.Second {
				t.Errorf("the deadline is %v, %v", deadline, ok)
			}
			return executor.Answer{Output: json.RawMessage("1")}, nil
		})
	x := executionOf(compiled)
	x.Parent, x.HasErrors = "1.1", true
	x.Origin = api.Origin{Run: "run-7", Caller: api.Caller{Type: api.CallerAgent, ID: "me"},
		Conversation: "talk", Trace: "t",
		Variables: map[string]any{"project": "p"}}
	if _, err := b.execute(t, x, nil); err != nil {
		t.Fatal(err)
	}
	if call.Run != "run-7" || call.Caller.ID != "me" || call.Conversation != "talk" ||
		call.Trace != "t" || call.Variables["project"] != "p" ||
		call.Tool != "probe" || call.ParentCall != "1.1" || call.Attempt != 1 || !call.HasErrors ||
		call.Timeout != 3*second || args != `{"text":"a"}` {
		t.Errorf("got %+v, %s", call, args)
	}
	if want := "run-7/" + call.CallID; call.Key != want {
		t.Errorf("the key is %q; want %q", call.Key, want)
	}
}

// An error of a tool is final. A transient one is retried, after the delay that it names.
func TestToolErrors_AreFinalOrTransient(t *testing.T) {
	own := api.Errorf(api.ErrPolicyViolation, "not here")
	unfinished := &api.Error{Type: api.ErrCancelled, Message: "by the tool itself"}
	cases := []struct {
		name      string
		err       error
		want      api.ErrorType
		message   string
		retryable bool
		after     time.Duration
	}{
		{"plain", errors.New("no such row"), api.ErrExecution, "no such row", false, 0},
		{"own type", own, api.ErrPolicyViolation, "not here", false, 0},
		{"own type in another", fmt.Errorf("in short: %w", own), api.ErrPolicyViolation, "not here",
			false, 0},
		{"transient", api.Transient(errors.New("busy"), 0), api.ErrExecution, "busy", true, 0},
		{"transient with a time", api.Transient(errors.New("busy"), 2*second), api.ErrExecution,
			"busy", true, 2 * time.Second},
		{"a time of its own", context.DeadlineExceeded, api.ErrExecution,
			"context deadline exceeded", false, 0},
		{"cancelled by the tool", unfinished, api.ErrCancelled, "by the tool itself", false, 0},
		{"long", errors.New(strings.Repeat("é", 100<<10)), api.ErrExecution,
			strings.Repeat("é", 16<<10) + "… (cut to 32768 of 204800 bytes)", false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, compiled := toolBench(t, nil, fails(c.err))
			_, err := b.execute(t, executionOf(compiled), nil)
			e, app := callError(t, err)
			if e.Type != c.want || e.Message != c.message ||
				e.Retryable != c.retryable || e.Phase != api.PhaseExecution {
				t.Errorf("got %.200v, phase %s", e, e.Phase)
			}
			if app.NextRetryDelay() != c.after || !utf8.ValidString(e.Message) ||
				len(e.Message) > 40<<10 {
				t.Errorf("next attempt after %v; message of %d bytes", app.NextRetryDelay(),
					len(e.Message))
			}
			cached := b.remembersCall(t, api.CallOutcome{Error: e})
			if cached == c.retryable {
				t.Errorf("remembered: %v; only what no other attempt can change is the call's message",
					cached)
			}
		})
	}
	if own.Phase != "" {
		t.Error("the tool's own error value was changed")
	}
}

// The error depends on the cause: its timeout, a cancelled run, or a stopping worker. The effect of
// the tool decides about another attempt.
func TestTool_StoppedDuringACall(t *testing.T) {
	stopping := errors.New("worker shutdown")
	const stopped = "the call was interrupted while the tool ran: worker shutdown"
	cases := []struct {
		name      string
		effect    api.Effect
		timeout   api.Duration
		cause     error
		want      api.ErrorType
		message   string
		retryable bool
	}{
		{"timeout of a read", api.EffectRead, api.Duration(20 * time.Millisecond), nil,
			api.ErrTimeout, "probe did not answer within 20ms", true},
		{"timeout of an idempotent one", api.EffectIdempotent, api.Duration(20 * time.Millisecond),
			nil, api.ErrTimeout, "probe did not answer within 20ms", true},
		{"timeout of a once", api.EffectOnce, api.Duration(20 * time.Millisecond), nil,
			api.ErrOutcomeUnknown, "probe did not answer within 20ms", false},
		{"the attempt's own deadline", api.EffectRead, 0, context.DeadlineExceeded, api.ErrTimeout,
			"probe did not answer within 30s", true},
		{"worker stops a read", api.EffectRead, 0, stopping, api.ErrWorkerLost,
			stopped, true},
		{"worker stops a once", api.EffectOnce, 0, stopping, api.ErrOutcomeUnknown,
			stopped, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			running := make(chan struct{})
			b, compiled := toolBench(t, func(s *toolspecs.Spec) {
				s.Execution.Effect,
					s.Execution.Timeout = c.effect, c.timeout
			}, untilStopped(running))
			_, err := b.execute(t, executionOf(compiled), func(end context.CancelCauseFunc) {
				if c.cause != nil {
					go func() { <-running; end(c.cause) }()
				}
			})
			if e, _ := callError(t, err); e.Type != c.want || e.Retryable != c.retryable ||
				e.Message != c.message {
				t.Errorf("got %v, retryable %v; want %s, %v", e, e.Retryable, c.want, c.retryable)
			}
		})
	}
}

// The call ends with Temporal's own cancellation error, which tells how far it was. The outcome of
// a call that must not run twice is unknown.
func TestTool_CanBeCancelled(t *testing.T) {
	for effect, unclear := range map[api.Effect]bool{api.EffectRead: false,
		api.EffectIdempotent: true, api.EffectOnce: true} {
		running := make(chan struct{})
		b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = effect },
			untilStopped(running))
		_, err := b.execute(t, executionOf(compiled), func(end context.CancelCauseFunc) {
			go func() { <-running; end(temporal.NewCanceledError()) }()
		})
		var e api.Error
		if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok {
			if err := cancelled.Details(&e); err != nil {
				t.Fatal(err)
			}
		} else {
			fault, _ := callError(t, err)
			e = *fault
		}
		want := api.ErrCancelled
		if effect == api.EffectOnce {
			want = api.ErrOutcomeUnknown
		}
		if temporal.IsCanceledError(err) != (effect != api.EffectOnce) || e.Type != want ||
			e.MayHaveActed() != unclear {
			t.Errorf("%s: got %v with %+v", effect, err, e)
		}
	}
}

// Otherwise the run would repeat the call, whatever its effect.
func TestTool_CannotReturnItsCallUnstarted(t *testing.T) {
	functions, err := function.New(tool.NewFunction("probe", func(context.Context, struct {
		Text string `json:"text"`
	}) (string, error) {
		return "", &api.Error{Type: api.ErrWorkerLost, Message: "m", NotStarted: true,
			Requeue: true}
	}))
	if err != nil {
		t.Fatal(err)
	}
	b, compiled := toolBench(t, nil, functions.Execute)
	_, err = b.execute(t, executionOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrWorkerLost || e.NotStarted ||
		e.Requeue {
		t.Errorf("got %+v", e)
	}
}

// The spec decides.
func TestToolInvalidOutput_FailsOrIsNoted(t *testing.T) {
	declare := func(mode string) func(*toolspecs.Spec) {
		return func(s *toolspecs.Spec) {
			s.Output = &toolspecs.Parameter{Type: "object",
				Validation: &toolspecs.Validation{Properties: []toolspecs.Parameter{{Name: "n",
					Type: "integer", Required: true}}}}
			s.Execution.OnInvalidOutput = mode
		}
	}
	b, compiled := toolBench(t, declare(""), answers(`{"n":"x"}`))
	_, err := b.execute(t, executionOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrInvalidOutput || len(e.Problems) != 1 ||
		e.Problems[0].Path != "$.n" || e.Phase != api.PhasePostExecution || e.Retryable {
		t.Errorf("got %+v", e)
	}
	b, compiled = toolBench(t, declare("warn"), answers(`{"n":"x"}`))
	result, err := b.execute(t, executionOf(compiled), nil)
	if err != nil || string(result.Output) != `{"n":"x"}` || len(result.Notes) != 1 ||
		!expect.Contains(result.Notes[0], "invalid output", "$.n") {
		t.Errorf("got %+v, %v", result, err)
	}
	b, compiled = toolBench(t, declare(""), answers(`{"n":5}`))
	if result, err := b.execute(t, executionOf(compiled), nil); err != nil ||
		len(result.Notes) != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// The spec may come from anywhere. Another version is never executed.
func TestTool_ExecutesThePinnedSpec(t *testing.T) {
	reply := func(_ context.Context, s *toolspecs.Spec, _ json.RawMessage) (executor.Answer,
		error) {
		return executor.Answer{Output: json.RawMessage(`"` + s.Version + `"`)}, nil
	}
	old := catalogOf(t, spec("probe", func(s *toolspecs.Spec) { s.Version = "0.9.0" }))
	pinned, _ := old.Get("probe")
	b, current := toolBench(t, nil, reply)
	version := func(c *toolspecs.Compiled) (string, error) {
		result, err := b.execute(t, executionOf(c), nil)
		return jsonvalue.Plain(result.Output), err
	}
	if got, err := version(current); got != "1.0.0" || err != nil || b.run.Queries.Load() != 0 {
		t.Errorf("of the catalog: %s, %v, %d queries", got, err, b.run.Queries.Load())
	}
	// The run has pinned what this process's catalog no longer has: the process queries it once.
	b.run.Setup.Pinned = api.Pack(api.Pinned{Catalog: api.Catalog{Tools: toolsOf(old)}})
	for range 2 {
		if got, err := version(pinned); got != "0.9.0" || err != nil || b.run.Queries.Load() != 1 {
			t.Errorf("by query: %s, %v, %d queries", got, err, b.run.Queries.Load())
		}
	}
	// An unknown digest is refused, and so is an altered spec.
	forged := api.Execution{Digest: "unknown-digest", Origin: api.Origin{Run: "run-1"}}
	_, err := b.execute(t, forged, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || !e.Retryable ||
		e.Message != "the worker cannot get the pinned toolspec of probe: the run is not pinned to version unknown-digest of it" {
		t.Errorf("got %v", e)
	}
	altered := pinned.Tool()
	altered.Digest = "unknown-digest"
	b.Conversations.Begin("run-1", &api.Setup{Pinned: api.Pack(
		api.Pinned{Catalog: api.Catalog{Tools: []api.Tool{altered}}})}, nil)
	_, err = b.execute(t, forged, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || e.Message != `the worker cannot get the pinned toolspec of probe: the pinned spec of tool "probe" has the digest oOxKlQ0zJ1ulO91h, not unknown-digest; was it written by another version of Switchyard?` {
		t.Errorf("got %v", e)
	}
	b.run.Failure = errors.New("gone")
	_, err = b.execute(t, api.Execution{Digest: "other", Origin: api.Origin{Run: "run-2"}}, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || !e.Retryable ||
		e.Message != "the worker cannot get the pinned toolspec of probe: ask the run for switchyard/setup: gone" {
		t.Errorf("got %v", e)
	}
}

// This worker lacks the kind of tool, a dependency is down, or the input is invalid.
func TestTool_ThatCannotRunFailsItsCall(t *testing.T) {
	b, compiled := toolBench(t, nil, answers("1"))
	delete(b.config.Executors, toolspecs.KindFunction)
	_, err := b.execute(t, executionOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || e.Retryable ||
		e.Message != `this worker does not execute tools of the kind "function"` {
		t.Errorf("got %v", e)
	}
	b, compiled = toolBench(t, func(s *toolspecs.Spec) {
		s.Requires.Dependencies = []toolspecs.Dependency{{Name: "db",
			Check: []string{"no-such-program-here"}}}
	}, answers("1"))
	_, err = b.execute(t, executionOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrPreconditionFailed || e.Message != `probe needs db, which is not up: its check "no-such-program-here" failed: executor_not_found: the program no-such-program-here is not on this worker; install it, or correct entry.argv or the worker's PATH (exec: "no-such-program-here": executable file not found in $PATH); start it and call again, or give the dependency a start command` {
		t.Errorf("got %v", e)
	}
	_, err = within(t, "probe", "no execution", func(ctx context.Context,
		in converter.EncodedValues) (any, error) {
		return b.Tool(ctx, in)
	})
	if e, _ := callError(t, err); e.Type != api.ErrExecution || e.Message != "this worker cannot read the call's input: payload item 0: unable to decode: json: cannot unmarshal string into Go value of type api.Execution" {
		t.Errorf("got %v", e)
	}
}

// BenchmarkTool measures the overhead of one call: context, execution, checks, token count of 1 KB
// of result, caching its message.
func BenchmarkTool(b *testing.B) {
	output, _ := json.Marshal(expect.GoSource(b)[:1024])
	bench, compiled := toolBench(b, nil, answers(string(output)))
	x := executionOf(compiled)
	_, err := within(b, "probe", x, func(ctx context.Context, in converter.EncodedValues) (any,
		error) {
		call, err := readAttempt(ctx, in)
		if err != nil {
			return nil, err
		}
		for b.Loop() {
			result, failure := bench.recoverCall(ctx, call, &stage{})
			if failure != nil {
				return nil, failure
			}
			outcome := api.CallOutcome{ID: call.id, Result: &result}
			bench.Conversations.Keep(x.Origin.Run, outcome.Message())
		}
		return nil, nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// The run schedules the call again, whatever its effect.
func TestUnreadableInput_IsNotStarted(t *testing.T) {
	b, _ := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectOnce },
		answers(`"never"`))
	_, err := within(t, "probe", "no execution", func(ctx context.Context,
		in converter.EncodedValues) (any, error) {
		return b.Tool(ctx, in)
	})
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	var e api.Error
	if !ok || !app.NonRetryable() || app.Details(&e) != nil || !e.NotStarted ||
		e.Type != api.ErrExecution || e.Message != "this worker cannot read the call's input: payload item 0: unable to decode: json: cannot unmarshal string into Go value of type api.Execution" {
		t.Errorf("got %v, %+v", err, e)
	}
}

func TestTimeout_IsBoundedByThePlan(t *testing.T) {
	s := &toolspecs.Spec{Execution: toolspecs.ExecutionSpec{Timeout: api.Duration(time.Minute)}}
	for plan, want := range map[time.Duration]time.Duration{0: time.Minute,
		time.Second: time.Second, time.Hour: time.Minute} {
		a := attempt{Execution: api.Execution{Timeout: api.Duration(plan)}}
		if got := a.boundSpec(s).Execution.Timeout.Std(); got != want {
			t.Errorf("%s: %s", plan, got)
		}
	}
	if s.Execution.Timeout.Std() != time.Minute {
		t.Error("the spec was changed")
	}
}

// A panic of an executor ends its call only. Once the executor has the call, a call that must not
// be repeated may have acted.
func TestTool_PanicEndsTheCallAlone(t *testing.T) {
	var broken map[string]int
	for effect, want := range map[api.Effect]api.ErrorType{api.EffectOnce: api.ErrOutcomeUnknown,
		api.EffectRead: api.ErrExecution, api.EffectIdempotent: api.ErrExecution} {
		b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = effect },
			func(context.Context, *toolspecs.Spec, json.RawMessage) (executor.Answer, error) {
				broken["x"] = 1
				return executor.Answer{}, nil
			})
		before := panics.Counts()[panics.Tool]
		_, err := b.execute(t, executionOf(compiled), nil)
		e, _ := callError(t, err)
		if e.Type != want || e.NotStarted || e.Retryable || strings.Contains(e.Message, "goroutine") {
			t.Errorf("%s: got %+v", effect, e)
		}
		if got := panics.Counts()[panics.Tool]; got != before+1 {
			t.Errorf("%s: %d panics are counted", effect, got-before)
		}
	}
}
