package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// inlineOf returns the input of an inline call of a tool, as a run passes it.
func inlineOf(c *toolspecs.Compiled) *api.InlineCall {
	tool := c.Tool()
	tool.Lane = api.LaneInline
	return &api.InlineCall{ID: "7.3", Tool: tool, Execution: executionOf(c), Apart: true}
}

// inline executes f as the SDK executes a local activity: its input is not encoded.
func inline[In, Out any](t testing.TB, f func(context.Context, In) (Out, error), in In) (out Out,
	err error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	value, err := suite.NewTestActivityEnvironment().ExecuteLocalActivity(f, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// inline runs one attempt of an inline call, which cancel may end.
func (b *bench) inline(t testing.TB, call *api.InlineCall,
	cancel func(context.CancelCauseFunc)) (api.Result, error) {
	t.Helper()
	return inline(t, func(ctx context.Context, in converter.EncodedValues) (api.Result, error) {
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		if cancel != nil {
			cancel(end)
		}
		return b.Tool(ctx, in)
	}, converter.EncodedValues(call))
}

// A process that has neither the spec nor the conversation of the run executes an inline call from
// its input, without a query. It caches the message only if a model step elsewhere follows.
func TestInline_NeedsNothingOfTheRun(t *testing.T) {
	_, compiled := toolBench(t, func(s *toolspecs.Spec) { s.Version = "9.9.9" }, nil)
	b, _ := toolBench(t, nil, answers(`"x"`))
	b.run.Failure = errors.New("the run was asked")
	for _, apart := range []bool{true, false} {
		call := inlineOf(compiled)
		call.Apart = apart
		r, err := b.inline(t, call, nil)
		if err != nil || string(r.Output) != `"x"` {
			t.Fatalf("got %+v, %v", r, err)
		}
		queries := b.run.Queries.Load()
		cached := b.remembers(t, "run-1", api.CallOutcome{ID: call.ID, Result: &r}.Message())
		if queries > 0 || cached != apart {
			t.Errorf("%d queries, message cached: %v, model steps elsewhere: %v", queries, cached,
				apart)
		}
		b.forget()
	}
}

// An inline call cannot query its run, because the run waits for it: neither a setup, nor a
// conversation, nor a person's answer, whatever the toolspec says. The error is immediate.
func TestInline_AsksNothing(t *testing.T) {
	b := setUp(t, catalogOf(t, spec("probe", nil)), nil)
	_, err := inline(t, b.ModelStep, api.ModelRequest{Run: "run-1", Turn: 1, Catalog: "other",
		New: []string{"unknown"}})
	if err == nil || err.Error() != "activity error (type: ModelStep, scheduledEventID: 0, startedEventID: 0, identity: ): an inline execution cannot query its own run, which waits for it (type: model_unavailable, retryable: true): an inline execution cannot query its own run, which waits for it" || b.run.Queries.Load() > 0 {
		t.Errorf("a step without its run's setup: %v, %d queries", err, b.run.Queries.Load())
	}
	_, err = inline(t, func(ctx context.Context, r api.ModelRequest) (int, error) {
		_, err := b.Conversations.Messages(ctx, r)
		return 0, err
	}, api.ModelRequest{Run: "run-1", New: []string{"unknown"}})
	if err == nil || err.Error() != "activity error (type: func1, scheduledEventID: 0, startedEventID: 0, identity: ): an inline execution cannot query its own run, which waits for it" || b.run.Queries.Load() > 0 {
		t.Errorf("a step without its conversation: %v, %d queries", err, b.run.Queries.Load())
	}
	b, compiled := toolBench(t,
		func(s *toolspecs.Spec) {
			s.Entry.Kind = toolspecs.FunctionEntry{AnswerWithin: api.Duration(time.Hour)}
		},
		func(ctx context.Context, _ *toolspecs.Spec, _ json.RawMessage) (executor.Answer, error) {
			_, err := tool.Ask(ctx, "May I?", nil)
			return executor.Answer{}, err
		})
	_, err = b.inline(t, inlineOf(compiled), nil)
	if e, _ := callError(t, err); e.Type != api.ErrPreconditionFailed {
		t.Errorf("a tool that asks a person: %v", e)
	}
}

// A model step that runs inline leaves nothing in the cache.
func TestInlineStep_UsesItsInputOnly(t *testing.T) {
	b := setUp(t, catalogOf(t, spec("probe", nil)), nil)
	script := api.Pack(api.Script{Steps: []api.ScriptStep{{Answer: "x"},
		{Calls: []api.ScriptCall{{Tool: "probe"}, {Tool: "probe"}}}}})
	agent := &api.Agent{Name: "a", Model: api.Model{Provider: api.ProviderScripted,
		Script: &script}}
	step := &api.InlineStep{ID: "turn-2", Setup: &api.Setup{Agent: agent,
		Pinned: api.Pack(api.Pinned{Provider: api.ProviderScripted})},
		Messages: []api.Message{{Role: api.RoleUser, Text: strings.Repeat("x", 400)}}}
	r, err := inline(t, b.ModelStep, api.ModelRequest{Run: "run-1", Turn: 2, Inline: step})
	if err != nil || r.Usage.InputTokens != 100 || len(r.Message.Calls) != 2 ||
		r.Message.Calls[1].ID != "2.2" ||
		b.remembers(t, "run-1", r.Message) {
		t.Errorf("got %+v, %v, or the answer is remembered", r, err)
	}
}

// The calls of an inline model step are admitted with the usage of the step.
func TestInlineStep_CountsItsUsageForPolicies(t *testing.T) {
	catalog := catalogOf(t, spec("send", nil))
	set := policies.NewSet(api.PolicyRule{Name: "dear", When: "budget.tokens.used >= 150",
		Then: api.PolicyDeny})
	b := setUp(t, catalog, func(c *Config) { c.Policies = func() *policies.Set { return set } })
	r := api.AdmissionRequest{Tools: toolsOf(catalog), Known: []string{"send"},
		Caller: api.Caller{Type: api.CallerAgent, ID: "clerk"}, Facts: api.RunFacts{Turn: 2}}
	script := api.Pack(api.Script{Steps: []api.ScriptStep{{Calls: []api.ScriptCall{{Tool: "send",
		ArgumentsText: `{"text":"a"}`}}}}})
	agent := &api.Agent{Name: "a", Model: api.Model{Provider: api.ProviderScripted,
		Script: &script}}
	for used, denied := range map[int]bool{0: false, 60: true} {
		request := r
		request.Facts.Usage.InputTokens = used
		response, err := inline(t, b.ModelStep, api.ModelRequest{Run: "run-1", Turn: 1,
			Inline: &api.InlineStep{ID: "turn-1", Admit: &request,
				Setup: &api.Setup{Agent: agent,
					Pinned: api.Pack(api.Pinned{Provider: api.ProviderScripted})},
				Messages: []api.Message{{Role: api.RoleUser, Text: strings.Repeat("x", 400)}}}})
		if err != nil || len(response.Decisions) != 1 ||
			(response.Decisions[0].Error != nil) != denied {
			t.Errorf("with %d used: %+v, %v", used, response, err)
		}
	}
}

// The result of an inline call is truncated to the limit for such calls, by its text and by its
// size in history.
func TestInlineResult_IsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		whole    bool
		longest  int
		maxBytes int
	}{
		"plain, as long as it may be": {strings.Repeat("x", api.MaxInlineResult-2), true,
			api.MaxInlineResult, 1 << 20},
		"plain, too long": {strings.Repeat("x", 2*api.MaxInlineResult), false,
			api.MaxInlineResult + 2, 1 << 20},
		"its tool's own bound": {strings.Repeat("x", 2000), false, 1002, 1000},
		"written with six bytes each": {strings.Repeat("<", api.MaxInlineResult-2), false,
			api.MaxInlineRecord, 1 << 20},
		"real text": {expect.GoSource(t), true, api.MaxInlineResult, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := json.Marshal(test.text)
			if err != nil {
				t.Fatal(err)
			}
			b, compiled := toolBench(t,
				func(s *toolspecs.Spec) { s.Execution.MaxResult = test.maxBytes },
				answers(string(output)))
			r, err := b.inline(t, inlineOf(compiled), nil)
			if err != nil {
				t.Fatal(err)
			}
			written, err := json.Marshal(r.Output)
			if err != nil || len(written) > test.longest || test.whole != (r.Cut == 0) ||
				test.whole != (len(r.Notes) == 0) {
				t.Errorf("%d bytes, cut by %d, notes %q, %v", len(written), r.Cut, r.Notes, err)
			}
			if r.Cut > 0 && r.Cut != len(test.text)-len(jsonvalue.Plain(r.Output)) {
				t.Errorf("%d of %d bytes are there, and %d are counted as cut",
					len(jsonvalue.Plain(r.Output)), len(test.text), r.Cut)
			}
		})
	}
}

// The reason is its run, the run's wall time, or its worker. A failed call has its duration,
// because history does not show it.
func TestInline_NamesWhatStoppedIt(t *testing.T) {
	for name, test := range map[string]struct {
		left api.Duration
		stop error
		want api.ErrorType
	}{
		"cancelled":   {0, context.Canceled, api.ErrCancelled},
		"wall time":   {api.Duration(20 * time.Millisecond), nil, api.ErrCancelled},
		"worker lost": {0, worker.ErrWorkerShutdown, api.ErrWorkerLost},
	} {
		t.Run(name, func(t *testing.T) {
			running := make(chan struct{})
			b, compiled := toolBench(t, nil, untilStopped(running))
			call := inlineOf(compiled)
			call.Left = test.left
			_, err := b.inline(t, call, func(end context.CancelCauseFunc) {
				go func() {
					<-running
					if test.stop != nil {
						end(test.stop)
					}
				}()
			})
			if test.want == api.ErrCancelled {
				if _, ok := errors.AsType[*temporal.CanceledError](err); !ok {
					t.Errorf("got %v", err)
				}
				return
			}
			e, app := callError(t, err)
			var took api.Result
			if err := app.Details(e, &took); err != nil || e.Type != test.want ||
				took.ExecutionMicros <= 0 {
				t.Errorf("got %v after %dµs, %v", e, took.ExecutionMicros, err)
			}
		})
	}
}

// An inline tool that cannot be compiled is refused, and admission refuses calls that must not run
// inline.
func TestInline_IsRefusedIfItCannotRun(t *testing.T) {
	b, compiled := toolBench(t, nil, answers("1"))
	call := inlineOf(compiled)
	call.Tool.Spec, call.Tool.Digest = []byte(`{"name":1}`), "none"
	_, err := b.inline(t, call, nil)
	if e, _ := callError(t, err); e.Type != api.ErrExecutorNotFound || e.Message != `the worker cannot get the pinned toolspec of probe: the pinned spec of tool "probe": json: cannot unmarshal number into Go struct field Spec.name of type string` {
		t.Errorf("got %v", e)
	}
	tool := compiled.Tool()
	tool.Lane, tool.Effect, tool.Timeout = api.LaneInline, api.EffectOnce, api.MaxInlineTimeout
	request := api.AdmissionRequest{Tools: []api.Tool{tool},
		Calls: []api.Call{{ID: "1.1", Tool: "probe", Arguments: `{"text":"a"}`}}}
	decisions, err := b.Admission.Admit(t.Context(), request)
	if err != nil || decisions[0].Error == nil ||
		decisions[0].Error.Type != api.ErrPreconditionFailed {
		t.Errorf("got %+v, %v", decisions, err)
	}
	// The decision records the arguments of a plan's call, because the input of an inline call is
	// not in history.
	request.Tools[0].Effect, request.Caller.Type = api.EffectRead, api.CallerPlan
	decisions, err = b.Admission.Admit(t.Context(), request)
	if err != nil || string(decisions[0].Arguments) != `{"text":"a"}` {
		t.Errorf("got %+v, %v", decisions, err)
	}
}
