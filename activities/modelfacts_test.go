package activities

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
	modeltable "github.com/switchyard/switchyard/toolspecs/models"
	"go.temporal.io/sdk/temporal"
)

// knownBench returns a process with a table of models, and one run of the agent.
func knownBench(t *testing.T, agent api.Agent, answer func(context.Context,
	models.Prompt) (api.ModelResponse, error)) *bench {
	t.Helper()
	table, err := modeltable.Decode("m.yaml",
		[]byte("as_of: 2026-06-21\nmodels:\n  listed: {input: 2, cached_input: 1, output: 8, window: 1000}\n  unbounded: {input: 1, output: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := modelBench(t, agent, answer)
	b.config.ModelTable = table
	return b
}

// The price is that of the agent, else that of the table for the name by agent or provider, else
// none.
func TestCost_OfAStep(t *testing.T) {
	cases := []struct {
		name, model, served string
		price               api.Price
		want                float64
	}{
		{"listed", "listed", "", api.Price{}, 0.0036},
		{"an edition", "listed-2026-01-01", "", api.Price{}, 0.0036},
		{"as served", "alias", "listed", api.Price{}, 0.0036},
		{"the agent's own price", "listed", "listed", api.Price{Input: 1}, 0.001},
		{"unknown", "other", "other", api.Price{}, 0},
	}
	for _, c := range cases {
		b := knownBench(t, api.Agent{Model: api.Model{Name: c.model, Price: c.price}},
			func(context.Context, models.Prompt) (api.ModelResponse, error) {
				return api.ModelResponse{Message: api.Message{Text: "hi"}, Model: c.served,
					Usage: api.Usage{InputTokens: 1000, CachedTokens: 400, OutputTokens: 250}}, nil
			})
		if r, err := b.step(t, api.ModelRequest{Turn: 1}, nil); err != nil ||
			math.Abs(r.Usage.Cost-c.want) > 1e-12 {
			t.Errorf("%s: %v, %v, want %v", c.name, r.Usage.Cost, err, c.want)
		}
	}
	// A script in place of a listed model is free.
	b := knownBench(t, api.Agent{}, nil)
	setup := &api.Setup{Agent: &api.Agent{Model: api.Model{Name: "listed"}},
		Pinned: api.Pack(api.Pinned{Provider: api.ProviderScripted})}
	if known := b.known(setup, "listed"); known != (modeltable.Model{}) {
		t.Errorf("a script is known as %+v", known)
	}
}

// A refused request without a code counts as too long if it is about as long as the model's window,
// and as invalid if it is shorter or the window is unknown.
func TestOverflow_IsRecognizedByTheTokenCount(t *testing.T) {
	long := strings.Repeat("word ", 900)
	refuse := modelserver.Status(400,
		`{"error":{"message":"prompt is too long","type":"invalid_request_error"}}`)
	cases := []struct {
		name, model, text string
		kind              string
	}{
		{"long", "listed", long, api.ModelOverflow},
		{"short", "listed", "word", modelFailed},
		{"no window known", "unbounded", long, modelFailed},
		{"not known", "other", long, modelFailed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, chat := openAIModel(t, refuse)
			_, messages := anthropicModel(t, refuse)
			for _, model := range []models.Model{chat, messages} {
				b := knownBench(t, api.Agent{Model: api.Model{Name: c.model}}, model.Answer)
				first := api.Message{Role: api.RoleUser, Text: c.text}
				b.run.Messages = []api.Message{first}
				_, err := b.step(t, api.ModelRequest{Turn: 1, New: []string{first.Digest()}}, nil)
				if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok ||
					app.Type() != c.kind || !app.NonRetryable() {
					t.Errorf("%T: %v", model, err)
				}
			}
		})
	}
}
