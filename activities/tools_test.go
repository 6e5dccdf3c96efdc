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

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// toolBench is a process with the one tool "probe", which f executes.
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

// remembersCall reports whether the process has the message of a call, whose ID is one that the
// SDK's test environment gives to activities.
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

// untilStopped is a tool that runs until it is stopped, and says what stopped it. It tells when it
// runs.
func untilStopped(running chan<- struct{}) answerFunc {
	return func(ctx context.Context, _ *toolspecs.Spec, _ json.RawMessage) (executor.Answer,
		error) {
		close(running)
		<-ctx.Done()
		return executor.Answer{}, fmt.Errorf("the tool was stopped: %w", context.Cause(ctx))
	}
}

// A call that succeeds comes back with its output, notes in order, times and tokens, and its
// message is remembered under the run exactly as the workflow will make it.
func TestToolSucceeds(t *testing.T) {
	b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.SlowAfter = 1 },
		answers(`{"n": 1, "url": "a<b&c"}`, "own note"))
	x := executionOf(compiled)
	x.Notes = []string{"of admission"}
	result, err := b.execute(t, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(result.Notes, "|"); got != "of admission|own note" || !result.Slow ||
		result.Cut != 0 || result.Tokens == 0 {
		t.Errorf("got %+v", result)
	}
	if result.ForModel() != "{\"n\":1,\"url\":\"a<b&c\"}\n[note: of admission; own note]" {
		t.Errorf("the model sees %q", result.ForModel())
	}
	if !b.remembersCall(t, api.CallOutcome{Result: &result}) {
		t.Error("the message is not remembered")
	}
}

// A tool reads from its context whose call it executes, with which key, and for how long.
func TestToolSeesItsCall(t *testing.T) {
	var seen api.CallContext
	var args string
	b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Timeout = 3 * second },
		func(ctx context.Context, s *toolspecs.Spec, a json.RawMessage) (executor.Answer, error) {
			seen, _ = api.ContextOf(ctx)
			args = string(a)
			info := activity.GetInfo(ctx)
			if seen.CallID != info.ActivityID || seen.WorkflowID != info.WorkflowExecution.ID ||
				seen.RunID != info.WorkflowExecution.RunID || s.Name != "probe" {
				t.Errorf("got %+v in %+v", seen, info)
			}
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 3*time.Second {
				t.Errorf("the deadline is %v, %v", deadline, ok)
			}
			return executor.Answer{Output: json.RawMessage("1")}, nil
		})
	x := executionOf(compiled)
	x.Parent = "1.1"
	x.Origin = api.Origin{Run: "run-7", Caller: api.Caller{Type: api.CallerAgent, ID: "me"},
		Conversation: "talk", Trace: "t",
		Variables: map[string]any{"project": "p"}}
	if _, err := b.execute(t, x, nil); err != nil {
		t.Fatal(err)
	}
	if seen.Run != "run-7" || seen.Caller.ID != "me" || seen.Conversation != "talk" ||
		seen.Trace != "t" || seen.Variables["project"] != "p" ||
		seen.Tool != "probe" || seen.ParentCall != "1.1" || seen.Attempt != 1 ||
		seen.Timeout != 3*second || args != `{"text":"a"}` {
		t.Errorf("got %+v, %s", seen, args)
	}
	if want := "run-7/" + seen.CallID; seen.Key != want {
		t.Errorf("the key is %q; want %q", seen.Key, want)
	}
}

// What a tool answers as an error is told at once; what may pass is retryable, and not before the
// time that it names.
func TestToolErrors(t *testing.T) {
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
			"é… (cut to 32768 of 204800 bytes)", false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, compiled := toolBench(t, nil, fails(c.err))
			_, err := b.execute(t, executionOf(compiled), nil)
			e, app := callError(t, err)
			if e.Type != c.want || !strings.Contains(e.Message, c.message) ||
				e.Retryable != c.retryable || e.Phase != api.PhaseExecution {
				t.Errorf("got %.200v, phase %s", e, e.Phase)
			}
			if app.NextRetryDelay() != c.after || !utf8.ValidString(e.Message) ||
				len(e.Message) > 40<<10 {
				t.Errorf("next attempt after %v; message of %d bytes", app.NextRetryDelay(),
					len(e.Message))
			}
			kept := b.remembersCall(t, api.CallOutcome{Error: e})
			if kept == c.retryable {
				t.Errorf("remembered: %v; only what no other attempt can change is the call's message",
					kept)
			}
		})
	}
	if own.Phase != "" {
		t.Error("the tool's own error value was changed")
	}
}

// What ends a call in the middle decides its error: its timeout, a cancelled run, a worker that
// stops; and by the tool's effect whether another attempt is allowed.
func TestToolStopped(t *testing.T) {
	stopping := errors.New("worker shutdown")
	cases := []struct {
		name      string
		effect    api.Effect
		timeout   api.Duration
		cause     error
		want      api.ErrorType
		retryable bool
	}{
		{"timeout of a read", api.EffectRead, api.Duration(20 * time.Millisecond), nil,
			api.ErrTimeout, true},
		{"timeout of an idempotent one", api.EffectIdempotent, api.Duration(20 * time.Millisecond),
			nil, api.ErrTimeout, true},
		{"timeout of a once", api.EffectOnce, api.Duration(20 * time.Millisecond), nil,
			api.ErrOutcomeUnknown, false},
		{"the attempt's own deadline", api.EffectRead, 0, context.DeadlineExceeded, api.ErrTimeout,
			true},
		{"worker stops a read", api.EffectRead, 0, stopping, api.ErrWorkerLost, true},
		{"worker stops a once", api.EffectOnce, 0, stopping, api.ErrOutcomeUnknown, false},
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
				!strings.Contains(e.Message, "worker shutdown") == (c.cause == stopping) {
				t.Errorf("got %v, retryable %v; want %s, %v", e, e.Retryable, c.want, c.retryable)
			}
		})
	}
}

// A call that its run cancels ends as cancelled in Temporal's own terms.
func TestToolCancelled(t *testing.T) {
	for _, effect := range []api.Effect{api.EffectRead, api.EffectOnce} {
		running := make(chan struct{})
		b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = effect },
			untilStopped(running))
		_, err := b.execute(t, executionOf(compiled), func(end context.CancelCauseFunc) {
			go func() { <-running; end(temporal.NewCanceledError()) }()
		})
		if !temporal.IsCanceledError(err) {
			t.Errorf("%s: got %v; want Temporal's cancelled error", effect, err)
		}
	}
}

// A function that panics is an error of its call, without its stack.
func TestToolPanics(t *testing.T) {
	functions, err := function.New(switchyard.NewFunction("probe", func(context.Context, struct {
		Text string `json:"text"`
	}) (string, error) {
		panic("kaboom")
	}))
	if err != nil {
		t.Fatal(err)
	}
	for effect, want := range map[api.Effect]api.ErrorType{api.EffectRead: api.ErrExecution,
		api.EffectOnce: api.ErrOutcomeUnknown} {
		b, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = effect },
			functions.Execute)
		_, err = b.execute(t, executionOf(compiled), nil)
		if e, _ := callError(t, err); e.Type != want || !strings.Contains(e.Message, "kaboom") ||
			strings.Contains(e.Message, ".go:") {
			t.Errorf("%s: got %v", effect, e)
		}
	}
}

// A tool cannot say of its own call that it had not begun: the run would make it again, whatever
// its effect.
func TestToolCannotHandBack(t *testing.T) {
	functions, err := function.New(switchyard.NewFunction("probe", func(context.Context, struct {
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

// An answer that is not what the spec declares fails the call after it ran, or goes through with a
// note.
func TestToolInvalidOutput(t *testing.T) {
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

// The exact spec that the run pinned is executed, wherever it comes from; another one never is.
func TestToolFindsPinnedSpec(t *testing.T) {
	reply := func(_ context.Context, s *toolspecs.Spec, _ json.RawMessage) (executor.Answer,
		error) {
		return executor.Answer{Output: json.RawMessage(`"` + s.Version + `"`)}, nil
	}
	old := catalogOf(t, spec("probe", func(s *toolspecs.Spec) { s.Version = "0.9.0" }))
	pinned, _ := old.Get("probe")
	b, current := toolBench(t, nil, reply)
	version := func(c *toolspecs.Compiled) (string, error) {
		result, err := b.execute(t, executionOf(c), nil)
		return api.PlainText(result.Output), err
	}
	if got, err := version(current); got != "1.0.0" || err != nil || b.run.Queries.Load() != 0 {
		t.Errorf("of the catalog: %s, %v, %d queries", got, err, b.run.Queries.Load())
	}
	// The run is pinned to what this process's catalog does not hold any more: it asks the run,
	// once.
	b.run.Setup.Pinned = api.Pack(api.Pinned{Catalog: api.Catalog{Tools: toolsOf(old)}})
	for range 2 {
		if got, err := version(pinned); got != "0.9.0" || err != nil || b.run.Queries.Load() != 1 {
			t.Errorf("by query: %s, %v, %d queries", got, err, b.run.Queries.Load())
		}
	}
	// A digest that nobody has is refused, and so is a spec that was altered.
	forged := api.Execution{Digest: "nobody-has-this", Origin: api.Origin{Run: "run-1"}}
	_, err := b.execute(t, forged, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || !e.Retryable ||
		!expect.Contains(e.Message, "probe", "nobody-has-this") {
		t.Errorf("got %v", e)
	}
	altered := pinned.Tool()
	altered.Digest = "nobody-has-this"
	b.Conversations.Begin("run-1", &api.Setup{Pinned: api.Pack(
		api.Pinned{Catalog: api.Catalog{Tools: []api.Tool{altered}}})}, nil)
	_, err = b.execute(t, forged, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || !expect.Contains(e.Message,
		"digest") {
		t.Errorf("got %v", e)
	}
	b.run.Failure = errors.New("gone")
	_, err = b.execute(t, api.Execution{Digest: "other", Origin: api.Origin{Run: "run-2"}}, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || !e.Retryable ||
		!expect.Contains(e.Message, "gone") {
		t.Errorf("got %v", e)
	}
}

// A kind of tool that this worker does not execute, what the tool needs and is not up, and an input
// that is none, are errors of the call.
func TestToolCannotRun(t *testing.T) {
	b, compiled := toolBench(t, nil, answers("1"))
	delete(b.config.Executors, toolspecs.KindFunction)
	_, err := b.execute(t, executionOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || e.Retryable ||
		!expect.Contains(e.Message, `"function"`) {
		t.Errorf("got %v", e)
	}
	b, compiled = toolBench(t, func(s *toolspecs.Spec) {
		s.Requires.Dependencies = []toolspecs.Dependency{{Name: "db",
			Check: []string{"no-such-program-here"}}}
	}, answers("1"))
	_, err = b.execute(t, executionOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrPreconditionFailed || !expect.Contains(e.Message,
		"db") {
		t.Errorf("got %v", e)
	}
	_, err = within(t, "probe", "no execution", func(ctx context.Context,
		in converter.EncodedValues) (any, error) {
		return b.Tool(ctx, in)
	})
	if e, _ := callError(t, err); e.Type != api.ErrExecution || !expect.Contains(e.Message,
		"input") {
		t.Errorf("got %v", e)
	}
}

// BenchmarkTool is one call's own cost: context, execution, checks, count of 1 KB of result, memory
// of its message.
func BenchmarkTool(b *testing.B) {
	output, _ := json.Marshal(expect.GoSource(b)[:1024])
	bench, compiled := toolBench(b, nil, answers(string(output)))
	x := executionOf(compiled)
	_, err := within(b, "probe", x, func(ctx context.Context, in converter.EncodedValues) (any,
		error) {
		call, err := attemptOf(ctx, in)
		if err != nil {
			return nil, err
		}
		for b.Loop() {
			result, failure := bench.call(ctx, call)
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

// TestUnreadableInput proves that a call whose input a worker cannot read is handed back as not
// begun, so that the run makes it again: also one that must not run twice.
func TestUnreadableInput(t *testing.T) {
	b, _ := toolBench(t, func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectOnce },
		answers(`"never"`))
	_, err := within(t, "probe", "no execution", func(ctx context.Context,
		in converter.EncodedValues) (any, error) {
		return b.Tool(ctx, in)
	})
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	var e api.Error
	if !ok || !app.NonRetryable() || app.Details(&e) != nil || !e.NotStarted ||
		e.Type != api.ErrExecution || !expect.Contains(e.Message,
		"this worker cannot read the call's input") {
		t.Errorf("got %v, %+v", err, e)
	}
}

// TestBoundedByPlan proves that the tool's timeout is the shorter one of its own and the plan's.
func TestBoundedByPlan(t *testing.T) {
	s := &toolspecs.Spec{Execution: toolspecs.ExecutionSpec{Timeout: api.Duration(time.Minute)}}
	for plan, want := range map[time.Duration]time.Duration{0: time.Minute,
		time.Second: time.Second, time.Hour: time.Minute} {
		a := attempt{Execution: api.Execution{Timeout: api.Duration(plan)}}
		if got := a.bounded(s).Execution.Timeout.Std(); got != want {
			t.Errorf("%s: %s", plan, got)
		}
	}
	if s.Execution.Timeout.Std() != time.Minute {
		t.Error("the spec was changed")
	}
}
