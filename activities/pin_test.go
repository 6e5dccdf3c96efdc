package activities

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// modelStub is a provider that is ready or not, with a given answer.
type modelStub struct {
	ready  error
	answer func(context.Context, models.Prompt) (api.ModelResponse, error)
}

func (m modelStub) Ready() error { return m.ready }

func (m modelStub) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	return m.answer(ctx, p)
}

func (b *bench) pin(t testing.TB, r api.PinRequest) api.Pinned {
	t.Helper()
	packed, err := b.Pin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return packed.Value
}

// Tools are pinned completely, in the order of their names. Equal tools have equal digests in every
// process, and one changed letter changes the digest.
func TestPin_OrdersToolsAndComputesDigests(t *testing.T) {
	specs := []toolspecs.Spec{spec("alpha", nil), spec("beta", nil), spec("gamma", nil)}
	pin := func(order ...string) api.Catalog {
		return setUp(t, catalogOf(t, specs...), nil).pin(t, api.PinRequest{Run: "r",
			Tools: order}).Catalog
	}
	first := pin("beta", "alpha")
	if fmt.Sprint(first.Names()) != "[beta alpha]" || first.Digest == "" {
		t.Errorf("got %v", first)
	}
	for _, tool := range first.Tools {
		if _, err := toolspecs.FromTool(tool); err != nil {
			t.Error(err)
		}
	}
	if again := pin("beta", "alpha"); again.Digest != first.Digest {
		t.Errorf("the digest changed from %s to %s", first.Digest, again.Digest)
	}
	if other := pin("alpha", "beta"); other.Digest == first.Digest {
		t.Error("another order has the same digest")
	}
	specs[1].Description += "!"
	if changed := pin("beta", "alpha"); changed.Digest == first.Digest {
		t.Error("a changed tool has the same digest")
	}
	if none := pin(); len(none.Tools) != 0 || none.Digest == "" {
		t.Errorf("got %v", none)
	}
}

// An unknown tool prevents the start of an agent and of a plan; the error has the place and
// suggestions. Admission checks the tool of a direct call.
func TestPin_RefusesUnknownTools(t *testing.T) {
	b := setUp(t, catalogOf(t, spec("read_file", nil)), nil)
	agent := &api.Agent{Model: api.Model{Provider: api.ProviderScripted}}
	plan := &api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "read_file"},
		{ID: "b", Tool: "readfile"}, {ID: "c", Tool: "readfile"}}}
	cases := []struct {
		name string
		r    api.PinRequest
		want []string
	}{
		{"agent", api.PinRequest{Agent: agent, Tools: []string{"read_file", "reed_file", "zzz"}},
			[]string{"$.tools[1]", "$.tools[2]"}},
		{"plan", api.PinRequest{Plan: plan, Tools: []string{"read_file", "readfile"}},
			[]string{"$.calls[1].tool", "$.calls[2].tool"}},
		{"direct", api.PinRequest{Tools: []string{"readfile"}}, nil},
	}
	for _, c := range cases {
		pinned := b.pin(t, c.r)
		if len(pinned.Problems) != len(c.want) {
			t.Errorf("%s: got %v", c.name, pinned.Problems)
			continue
		}
		for i, p := range pinned.Problems {
			hint := expect.Contains(p.Message, "did you mean read_file?")
			if p.Path != c.want[i] || p.Rule != api.RuleTool || hint == expect.Contains(p.Message,
				"zzz") {
				t.Errorf("%s: got %v", c.name, p)
			}
		}
	}
}

// The provider is the declared one, or the agent's script if this process has no credentials for
// it. A run without a reachable model does not start.
func TestPin_ChoosesTheProvider(t *testing.T) {
	script := api.Pack(api.Script{})
	missing := errors.New("the worker has no OPENAI_API_KEY")
	cases := []struct {
		name     string
		provider api.Provider
		script   *api.Packed[api.Script]
		ready    error
		want     api.Provider
		problem  string
	}{
		{"ready", api.ProviderOpenAI, nil, nil, api.ProviderOpenAI, ""},
		{"ready, with a script to fall back to", api.ProviderOpenAI, &script, nil,
			api.ProviderOpenAI, ""},
		{"not ready", api.ProviderOpenAI, nil, missing, api.ProviderOpenAI,
			"$.model: the worker has no OPENAI_API_KEY"},
		{"not ready, with a script to fall back to", api.ProviderOpenAI, &script, missing,
			api.ProviderScripted, ""},
		{"scripted", api.ProviderScripted, &script, missing, api.ProviderScripted, ""},
		{"unknown", "opemai", nil, nil, "opemai", `$.model.provider: no worker reaches models of the provider "opemai" (did you mean "openai"?)`},
	}
	for _, c := range cases {
		b := setUp(t, catalogOf(t),
			func(config *Config) { config.Models[api.ProviderOpenAI] = modelStub{ready: c.ready} })
		pinned := b.pin(t, api.PinRequest{Agent: &api.Agent{Model: api.Model{Provider: c.provider,
			Script: c.script}}})
		if pinned.Provider != c.want || (len(pinned.Problems) == 0) != (c.problem == "") {
			t.Errorf("%s: got %s, %v", c.name, pinned.Provider, pinned.Problems)
			continue
		}
		if c.problem != "" && pinned.Problems[0].String() != c.problem {
			t.Errorf("%s: got %v", c.name, pinned.Problems[0])
		}
	}
}

// Model steps follow the rules of their lane at the start of the run. A keyed lane cannot be a
// model's lane.
func TestPin_PinsTheLaneOfTheModel(t *testing.T) {
	set := lanes.NewSet(api.Lane{Name: "ai", Limit: 2, Queue: "models",
		QueueTimeout: api.Duration(time.Minute)},
		api.Lane{Name: "device", Key: "{{args.device}}"})
	for lane, want := range map[string]api.Route{
		"": {},
		"ai": {Queue: "models", QueueTimeout: api.Duration(time.Minute),
			Lease: api.DefaultLease},
		"other": {},
	} {
		b := setUp(t, catalogOf(t), nil)
		b.config.Lanes = func() *lanes.Set { return set }
		agent := api.Agent{Name: "a", Model: api.Model{Provider: api.ProviderScripted, Lane: lane,
			Script: &api.Packed[api.Script]{}}}
		if got := b.pin(t, api.PinRequest{Run: "r", Agent: &agent}); got.Model != want ||
			len(got.Problems) != 0 {
			t.Errorf("lane %q: %+v, problems %v", lane, got.Model, got.Problems)
		}
		agent.Model.Lane = "device"
		got := b.pin(t, api.PinRequest{Run: "r", Agent: &agent})
		if len(got.Problems) != 1 || got.Problems[0].Path != "$.agent.model.lane" {
			t.Errorf("a keyed lane: %v", got.Problems)
		}
	}
}

// A run has the rules of the worker that starts it, and a sub-agent's run those of its parent,
// whatever file its worker has.
func TestPin_PinsPolicies(t *testing.T) {
	own := policies.NewSet(api.PolicyRule{Name: "seal", When: "true", Then: api.PolicyDeny})
	b := setUp(t, catalogOf(t, spec("send", nil)), func(c *Config) {
		c.Policies = func() *policies.Set { return own }
	})
	root, err := b.Pin(t.Context(), api.PinRequest{Run: "root", Tools: []string{"send"}})
	if err != nil || !reflect.DeepEqual(root.Value.Policies, own.PinnedPolicies()) ||
		root.Value.Policies.Digest == "" {
		t.Fatalf("got %+v, %v", root.Value.Policies, err)
	}
	b.config.Policies = func() *policies.Set { return nil }
	parent := api.Parent{Run: "root", WorkflowID: "root", Catalog: root.Value.Catalog.Digest,
		Policies: own.Digest(), Depth: 1}
	below, err := b.Pin(t.Context(), api.PinRequest{Run: "below", Parent: &parent,
		Tools: []string{"send"}})
	if err != nil || !reflect.DeepEqual(below.Value.Policies, own.PinnedPolicies()) {
		t.Errorf("the sub-agent's run got %+v, %v", below.Value.Policies, err)
	}
	none, err := b.Pin(t.Context(), api.PinRequest{Run: "none", Tools: []string{"send"}})
	if err != nil || !reflect.DeepEqual(none.Value.Policies, api.PinnedPolicies{}) {
		t.Errorf("without a file the run got %+v, %v", none.Value.Policies, err)
	}
}
