package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/specs"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// step makes one model step of run "r"; answer is the model.
func (b *bench) step(t testing.TB, r api.ModelRequest, cause error) (response api.ModelResponse,
	err error) {
	t.Helper()
	r.Run, r.Catalog = "r", b.run.Setup.Pinned.Value.Catalog.Digest
	if known := b.Conversations.CachedSetup("r"); known != nil && r.Catalog == "" {
		r.Catalog = known.Pinned.Value.Catalog.Digest
	}
	value, err := within(t, api.ModelActivity, r, func(ctx context.Context,
		_ converter.EncodedValues) (any, error) {
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		if cause != nil {
			end(cause)
		}
		return b.ModelStep(ctx, r)
	})
	if err == nil {
		err = value.Get(&response)
	}
	return response, err
}

func modelBench(t testing.TB, agent api.Agent, answer func(context.Context,
	models.Prompt) (api.ModelResponse, error)) *bench {
	t.Helper()
	catalog := catalogOf(t, spec("probe", nil),
		spec("off", func(s *toolspecs.Spec) { s.Status = api.StatusDisabled }))
	b := setUp(t, catalog, func(c *Config) { c.Models["stub"] = modelStub{answer: answer} })
	agent.Model.Provider = "stub"
	b.pin(t, api.PinRequest{Run: "r", Agent: &agent, Tools: []string{"probe", "off"}})
	return b
}

// A step that a budget forbids does not ask the model. The last answer of a run and summaries are
// made all the same, and are counted.
func TestModelStep_KeepsToBudgetsOfThePrincipal(t *testing.T) {
	asked := 0
	rules, err := policies.Decode("rules.yaml",
		[]byte("budgets: [{name: monthly, period: month, tokens: 20}]"))
	if err != nil {
		t.Fatal(err)
	}
	agent := api.Agent{Name: "a", Model: api.Model{Provider: "stub"}}
	b := modelBench(t, agent, func(context.Context,
		models.Prompt) (api.ModelResponse, error) {
		asked++
		return api.ModelResponse{Message: api.Message{Text: "hello"},
			Usage: api.Usage{InputTokens: 10, OutputTokens: 2}}, nil
	})
	b.config.Policies = func() *policies.Set { return rules }
	b.pin(t, api.PinRequest{Run: "r", Agent: &agent, Caller: api.Caller{ID: "ada"}, Queue: "q"})
	ledger := &principalLedger{}
	b.Ledgers = ledgers.New(ledger)
	step := func(limit string) string {
		response, err := b.step(t, api.ModelRequest{Turn: 1, Limit: limit}, nil)
		if err != nil {
			return err.Error()
		}
		return response.Message.Text + response.Exhausted
	}
	const exhausted = "The budget monthly of ada is used up: 24 of 20 tokens in this month."
	for i, test := range []struct {
		limit, want string
		asked       int
	}{
		{"", "hello", 1}, {"", "hello", 2}, {"", exhausted, 2}, {"turns", "hello", 3},
	} {
		if got := step(test.limit); !strings.HasPrefix(got, test.want) || asked != test.asked {
			t.Errorf("step %d: %q after %d answers, want %q", i+1, got, asked, test.want)
		}
	}
	if ledger.tokens != 36 {
		t.Errorf("%d tokens are counted", ledger.tokens)
	}
	ledger.failure = serviceerror.NewUnavailable("the server restarts")
	if got := step(""); !strings.Contains(got, "does not answer") || asked != 3 {
		t.Errorf("without its ledger: %q after %d answers", got, asked)
	}
}

// principalLedger is the ledger of a principal.
type principalLedger struct {
	client.Client
	tokens  int
	failure error
}

func (p *principalLedger) SignalWithStartWorkflow(_ context.Context, _, _ string, used any,
	_ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	news, _ := used.(ledgerrules.News)
	for _, step := range news.Used {
		p.tokens += step.Tokens
	}
	return nil, nil
}

func (p *principalLedger) QueryWorkflow(context.Context, string, string, string,
	...any) (converter.EncodedValue, error) {
	start, _ := ledgerrules.PeriodBounds(ledgerrules.Month, time.Now())
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(ledgerrules.PrincipalUsage{
		Periods: []ledgerrules.PeriodUsage{{Period: ledgerrules.Month, Start: start,
			Tokens: p.tokens}}})
	return client.NewValue(payloads), cmp.Or(p.failure, err)
}

// Calls get the ids of their turn, tokens have their price, and the message is cached as the
// workflow will have it.
func TestModelStep_ShowsConversationAndTools(t *testing.T) {
	var prompt models.Prompt
	agent := api.Agent{Name: "a", Model: api.Model{Price: api.Price{Input: 2, Output: 8}}}
	b := modelBench(t, agent, func(_ context.Context, p models.Prompt) (api.ModelResponse, error) {
		prompt = p
		return api.ModelResponse{Message: api.Message{Calls: []api.Call{{ID: "call_x",
			Tool: "probe"}, {Tool: "probe"}}},
			Usage: api.Usage{InputTokens: 1000, OutputTokens: 250}}, nil
	})
	response, err := b.step(t, api.ModelRequest{Turn: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := response.Message
	if m.Role != api.RoleAssistant || m.Calls[0].ID != "3.1" || m.Calls[1].ID != "3.2" ||
		math.Abs(response.Usage.Cost-0.004) > 1e-12 {
		t.Errorf("got %+v", response)
	}
	if len(prompt.Tools) != 1 || prompt.Tools[0].Name != "probe" ||
		!json.Valid(prompt.Tools[0].Schema) || prompt.Turn != 3 || prompt.Agent.Name != "a" {
		t.Errorf("the model was asked %+v", prompt)
	}
	if !b.remembers(t, "r", m) {
		t.Error("the answer is not remembered")
	}
	if _, err := b.step(t, api.ModelRequest{Turn: 4, Limit: "turns"}, nil); err != nil ||
		len(prompt.Tools) != 1 || prompt.Limit != "turns" {
		t.Errorf("at a limit the model was asked %+v, %v", prompt, err)
	}
	if b.run.Queries.Load() != 0 {
		t.Errorf("the run was asked %d times for what this process pinned", b.run.Queries.Load())
	}
}

// An answer that does not fit into history is truncated, and the model learns it: admission refuses
// its arguments.
func TestModelStep_CutsLongAnswers(t *testing.T) {
	b := modelBench(t, api.Agent{}, func(context.Context, models.Prompt) (api.ModelResponse,
		error) {
		return api.ModelResponse{Message: api.Message{Text: strings.Repeat("é", 1<<20) + "\xff",
			Calls: []api.Call{{Tool: "probe", Arguments: `{"text":"a"}`},
				{Tool: "probe", Arguments: strings.Repeat("<", 500<<10)}}}}, nil
	})
	response, err := b.step(t, api.ModelRequest{Turn: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(response); err != nil || len(data) > api.MaxPayload {
		t.Errorf("the answer has %d bytes, %v", len(data), err)
	}
	if calls := response.Message.Calls; calls[0].Arguments != `{"text":"a"}` ||
		json.Valid([]byte(calls[1].Arguments)) {
		t.Errorf("calls: %.100v", calls)
	}
}

// The answer is used whatever calls the model requests.
func TestModelStep_AtTheLimitHasNoCalls(t *testing.T) {
	b := modelBench(t, api.Agent{}, func(context.Context, models.Prompt) (api.ModelResponse,
		error) {
		return api.ModelResponse{Message: api.Message{Calls: []api.Call{{Tool: "probe"}}}}, nil
	})
	response, err := b.step(t, api.ModelRequest{Turn: 1, Limit: "turns"}, nil)
	if err != nil || len(response.Message.Calls) > 0 || response.Message.Text == "" {
		t.Errorf("got %+v, %v", response.Message, err)
	}
}

// The timeout of the agent ends the attempt.
func TestModelStep_TimesOut(t *testing.T) {
	agent := api.Agent{Model: api.Model{Timeout: api.Duration(20 * time.Millisecond)}}
	b := modelBench(t, agent, func(ctx context.Context, _ models.Prompt) (api.ModelResponse,
		error) {
		<-ctx.Done()
		return api.ModelResponse{}, ctx.Err()
	})
	_, err := b.step(t, api.ModelRequest{Turn: 1}, nil)
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || app.NonRetryable() || app.Message() != "context deadline exceeded" {
		t.Errorf("got %v", err)
	}
}

// A step that its run cancels ends as cancelled. One whose worker stops is retried.
func TestModelStep_CanBeCancelled(t *testing.T) {
	b := modelBench(t, api.Agent{}, func(ctx context.Context, _ models.Prompt) (api.ModelResponse,
		error) {
		return api.ModelResponse{}, &models.Error{Message: "stopped: " + ctx.Err().Error(),
			Permanent: false}
	})
	if _, err := b.step(t, api.ModelRequest{Turn: 1},
		temporal.NewCanceledError()); !temporal.IsCanceledError(err) {
		t.Errorf("got %v", err)
	}
	_, err := b.step(t, api.ModelRequest{Turn: 1}, errors.New("worker shutdown"))
	if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || app.NonRetryable() {
		t.Errorf("got %v", err)
	}
}

// Another worker may have the provider. An unreadable pinned tool is a permanent failure.
func TestModelStep_OfUnknownProviderIsRetried(t *testing.T) {
	b := modelBench(t, api.Agent{}, nil)
	setup := *b.Conversations.CachedSetup("r")
	delete(b.config.Models, "stub")
	_, err := b.step(t, api.ModelRequest{Turn: 1}, nil)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || app.NonRetryable() ||
		app.Message() != "this worker has no models of the provider stub" {
		t.Errorf("got %v", err)
	}
	b = modelBench(t, api.Agent{}, nil)
	setup.Pinned.Value.Catalog = api.Catalog{Digest: "other",
		Tools: []api.Tool{{Name: "broken", Digest: "d", Spec: json.RawMessage(`{}`)}}}
	b.Conversations.Begin("r", &setup, nil)
	_, err = b.step(t, api.ModelRequest{Turn: 1}, nil)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || !app.NonRetryable() ||
		app.Message() != "the pinned spec of tool \"broken\": toolspec \"\": $.description: description is missing\ntoolspec \"\": $.entry: entry is missing\ntoolspec \"\": $.name: name is missing\ntoolspec \"\": $.version: version is missing" {
		t.Errorf("got %v", err)
	}
	_, err = b.step(t, api.ModelRequest{Turn: 1, Seen: 1, Chain: "x"}, nil)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || app.NonRetryable() {
		t.Errorf("got %v", err)
	}
}

// The offered tools of a catalog are rendered once, in a bounded cache.
func TestOffers_AreBounded(t *testing.T) {
	o, s := newOffers(), specs.New()
	for i := range maxOffers + 5 {
		if _, err := o.of(s, api.Catalog{Digest: strings.Repeat("d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.byCatalog) > maxOffers {
		t.Errorf("%d catalogs are remembered", len(o.byCatalog))
	}
}
