package activities

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// agentSpec returns an agent tool whose agent may call these tools.
func agentSpec(name, tools string, change func(*toolspecs.Spec)) toolspecs.Spec {
	script := api.Pack(api.Script{Steps: []api.ScriptStep{{Answer: "done"}}})
	return spec(name, func(s *toolspecs.Spec) {
		s.Entry = toolspecs.Entry{Kind: toolspecs.AgentEntry{Agent: &api.Agent{Name: name,
			Tools: strings.Fields(tools),
			Model: api.Model{Provider: api.ProviderScripted, Script: &script}}}}
		if change != nil {
			change(s)
		}
	})
}

func scriptedModels(c *Config) {
	c.Models = map[api.Provider]models.Model{api.ProviderScripted: scripted.Provider{}}
}

// A run pins the tools of all its sub-agents, each once. A sub-agent's run gets the versions of its
// parent, which it queries if necessary; missing ones come from the catalog.
func TestPin_IncludesToolsOfSubAgents(t *testing.T) {
	specs := []toolspecs.Spec{agentSpec("lead", "helper read lead", nil),
		agentSpec("helper", "write lead", nil), spec("read", nil), spec("write", nil)}
	above := setUp(t, catalogOf(t, specs...), scriptedModels)
	p := above.pin(t, api.PinRequest{Run: "top", Tools: []string{"lead", "read"}})
	below := api.Catalog{Tools: p.DescendantTools}
	if fmt.Sprint(p.Catalog.Names(), below.Names()) != "[lead read] [helper write]" ||
		len(p.Problems) > 0 {
		t.Fatalf("pinned %v, below %v, problems %v", p.Catalog.Names(), below.Names(), p.Problems)
	}
	edited := []toolspecs.Spec{agentSpec("lead", "new", nil),
		spec("read", func(s *toolspecs.Spec) { s.Version = "2.0.0" }), spec("new", nil)}
	other := setUp(t, catalogOf(t, edited...), scriptedModels)
	other.run.Setup = api.Setup{Pinned: api.Pack(p)}
	parent := &api.Parent{WorkflowID: "w", Run: "top", Call: "1.1", Catalog: p.Catalog.Digest,
		Depth: 1}
	request := api.PinRequest{Run: "sub", Parent: parent, Tools: []string{"helper", "read", "new"}}
	sub := other.pin(t, request)
	for _, want := range []string{"helper 1.0.0", "read 1.0.0", "new 1.0.0"} {
		name, version, _ := strings.Cut(want, " ")
		if tool, ok := sub.Catalog.Find(name); !ok || tool.Version != version {
			t.Errorf("%s is pinned to %q, want %q", name, tool.Version, version)
		}
	}
	if names := (api.Catalog{Tools: sub.DescendantTools}).Names(); fmt.Sprint(
		names) != "[write lead]" || other.run.Queries.Load() != 1 {
		t.Errorf("below the sub-agent: %v, after %d queries", names, other.run.Queries.Load())
	}
	again := above.pin(t, api.PinRequest{Run: "sub", Parent: parent, Tools: []string{"helper"}})
	if above.run.Queries.Load() != 0 ||
		again.Catalog.Tools[0].Digest != sub.Catalog.Tools[0].Digest {
		t.Error("the process that pinned the run above asked it again")
	}
	other.run.Failure = errors.New("no answer")
	other.forget()
	if _, err := other.Pin(t.Context(), request); err == nil || err.Error() != "query the run w for its tools and policies: no answer" {
		t.Errorf("without the run above: %v", err)
	}
}

// Tools that compress well, but that no reader would decompress, are reported as such.
func TestPin_RefusesToolsAboveTheDecodersLimit(t *testing.T) {
	var names []string
	var specs []toolspecs.Spec
	for i := range 1100 {
		names = append(names, fmt.Sprint("tool", i))
		specs = append(specs, spec(names[i],
			func(s *toolspecs.Spec) { s.Description = strings.Repeat("x", 32<<10) }))
	}
	p := setUp(t, catalogOf(t, specs...), nil).pin(t, api.PinRequest{Run: "r", Tools: names})
	if len(p.Problems) != 1 || p.Problems[0].Rule != "size" || len(p.Catalog.Tools) > 0 {
		t.Errorf("%d tools, problems: %v", len(p.Catalog.Tools), p.Problems)
	}
}

// Tools that do not fit into history are reported before the run starts.
func TestPin_RefusesTooManyTools(t *testing.T) {
	random := rand.New(rand.NewChaCha8([32]byte{}))
	var names []string
	var specs []toolspecs.Spec
	for i := range 80 {
		noise := make([]byte, 30<<10)
		for n := range noise {
			noise[n] = byte('!' + random.IntN(90))
		}
		names = append(names, fmt.Sprint("tool", i))
		specs = append(specs, spec(names[i],
			func(s *toolspecs.Spec) { s.Description = string(noise) }))
	}
	b := setUp(t, catalogOf(t, specs...), nil)
	if p := b.pin(t, api.PinRequest{Run: "r", Tools: names}); len(p.Problems) != 1 ||
		p.Problems[0].Message != "the tools and policies of the run have 2868767 bytes in all, compressed; the limit is 1179648: give it fewer tools" ||
		len(p.Catalog.Tools) > 0 {
		t.Errorf("problems: %v", p.Problems)
	}
	if p := b.pin(t, api.PinRequest{Run: "r", Tools: names[:30]}); len(p.Problems) > 0 ||
		len(p.Catalog.Tools) != 30 {
		t.Errorf("what fits is refused: %v", p.Problems)
	}
}

// An error is kept, as valid text. An answer is counted and marked slow. An unusable spec fails the
// call, not the run.
func TestFinalizeResult_OfCallsWithoutActivity(t *testing.T) {
	b := setUp(t, catalogOf(t), nil)
	tool := catalogOf(t, agentSpec("sub", "", nil)).All()[0].Tool()
	finalizeResult := func(change func(*api.FinalizeResultRequest)) api.FinalizedResult {
		r := api.FinalizeResultRequest{Call: "1.1", Tool: tool, Answer: "an answer",
			Usage: api.Usage{Calls: 2}}
		change(&r)
		s, err := b.FinalizeResult(t.Context(), r)
		if err != nil || s.ID != "1.1" || s.Tool != "sub" || s.Usage.Calls != 2 ||
			(s.Result == nil) == (s.Error == nil) {
			t.Fatalf("finalized as %+v, %v", s, err)
		}
		return s
	}
	if s := finalizeResult(func(r *api.FinalizeResultRequest) {
		r.Took = api.Duration(
			time.Hour)
	}); string(s.Result.Output) != `"an answer"` || !s.Result.Slow || s.Result.Tokens == 0 ||
		s.Result.ExecutionMicros != 3600e6 {
		t.Errorf("an answer: %+v", s.Result)
	}
	if s := finalizeResult(func(r *api.FinalizeResultRequest) {
		r.Error = api.Errorf(api.ErrTimeout,
			"late\xff")
	}); s.Error.Type != api.ErrTimeout || s.Error.Message != "late\uFFFD" {
		t.Errorf("an error: %+v", s.Error)
	}
	if s := finalizeResult(func(
		r *api.FinalizeResultRequest) {
		r.Tool.Digest = "other"
	}); s.Error.Type != api.ErrExecutorNotFound {
		t.Errorf("a spec that was altered: %+v", s.Error)
	}
}
