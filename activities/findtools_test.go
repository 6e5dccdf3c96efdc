package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/converter"
)

// manySpecs returns n tools with long descriptions, named tool_0 and so on, with tags and
// categories, and one that sends invoices.
func manySpecs(n int) []toolspecs.Spec {
	specs := []toolspecs.Spec{spec("send_invoice", func(s *toolspecs.Spec) {
		s.Description = "Sends an invoice to a customer by mail."
	})}
	for i := range n - 1 {
		specs = append(specs, spec(fmt.Sprintf("tool_%d", i), func(s *toolspecs.Spec) {
			s.Description = fmt.Sprintf("Changes the record number %d. %s", i,
				strings.Repeat("It has many details. ", 20))
			s.Tags = []string{[]string{"even", "odd"}[i%2]}
			s.Category = "database"
		}))
	}
	return specs
}

// searchBench returns a bench with an agent of that many tools.
func searchBench(t *testing.T, n int, agent api.Agent) (*bench, api.Pinned) {
	t.Helper()
	b := setUp(t, catalogOf(t, manySpecs(n)...), func(c *Config) {
		c.Models["stub"] = modelStub{}
		c.Models[api.ProviderOpenAI] = modelStub{}
	})
	if agent.Model.Provider == "" {
		agent.Model.Provider = "stub"
	}
	return b, b.pin(t, api.PinRequest{Run: "r", Agent: &agent, Tools: agent.Tools})
}

// TestPin_SelectsToolsByPatternTagAndCategory states what the entries of an agent's list select.
func TestPin_SelectsToolsByPatternTagAndCategory(t *testing.T) {
	for _, c := range []struct {
		tools    []string
		want     string
		problems string
	}{
		{[]string{"send_invoice"}, "send_invoice", ""},
		{[]string{"tool_1", "tool_*"}, "tool_1 tool_0 tool_2 tool_3", ""},
		{[]string{"*_invoice", "send_*"}, "send_invoice", ""},
		{[]string{"tag:odd"}, "tool_1 tool_3", ""},
		{[]string{"category:database"}, "tool_0 tool_1 tool_2 tool_3", ""},
		{[]string{"tag:none", "tool_9*", "server:none", "tool_1"}, "tool_1",
			`$.tools[0]: no tool of the workers is selected by "tag:none" ` +
				`$.tools[1]: no tool of the workers is selected by "tool_9*" ` +
				`$.tools[2]: no tool of the workers is selected by "server:none"`},
	} {
		_, pinned := searchBench(t, 5, api.Agent{Tools: c.tools})
		var problems []string
		for _, p := range pinned.Problems {
			problems = append(problems, p.Path+": "+p.Message)
		}
		if got := strings.Join(pinned.Catalog.Names(), " "); got != c.want ||
			strings.Join(problems, " ") != c.problems {
			t.Errorf("%v: %s, problems %v", c.tools, got, problems)
		}
	}
}

// TestPin_SelectsTheToolsOfAnInstance states that one entry selects all methods of a stateful type.
func TestPin_SelectsTheToolsOfAnInstance(t *testing.T) {
	var specs []toolspecs.Spec
	for _, e := range []struct{ name, instance string }{{"shell_run", "shell"},
		{"shell_cd", "shell"}, {"other_run", "other"}, {"browser", ""}} {
		specs = append(specs, spec(e.name, func(s *toolspecs.Spec) {
			s.Entry = toolspecs.Entry{Kind: toolspecs.StatefulEntry{Instance: e.instance}}
		}))
	}
	b := setUp(t, catalogOf(t, specs...), func(c *Config) { c.Models["stub"] = modelStub{} })
	for entry, want := range map[string]string{"instance:shell": "shell_cd shell_run",
		"instance:browser": "browser", "instance:none": ""} {
		agent := api.Agent{Tools: []string{entry}, Model: api.Model{Provider: "stub"}}
		pinned := b.pin(t, api.PinRequest{Run: "r", Agent: &agent, Tools: agent.Tools})
		if got := strings.Join(pinned.Catalog.Names(), " "); got != want ||
			(len(pinned.Problems) > 0) != (want == "") {
			t.Errorf("%s: %s, problems %v", entry, got, pinned.Problems)
		}
	}
}

// TestPin_AddsToolSearchAboveAThreshold states for which agents the model searches for tools, and
// what happens to the others.
func TestPin_AddsToolSearchAboveAThreshold(t *testing.T) {
	for _, c := range []struct {
		n        int
		search   api.ToolSearch
		provider api.Provider
		want     bool
		problem  string
	}{
		{64, "", "", false, ""},
		{65, "", "", true, ""},
		{2, api.ToolSearchAlways, "", true, ""},
		{200, api.ToolSearchNever, "", false, ""},
		{128, api.ToolSearchNever, api.ProviderOpenAI, false, ""},
		{129, api.ToolSearchNever, api.ProviderOpenAI, false,
			"the agent has 129 tools, and models of the provider openai accept 128: set tool_search: auto, or select fewer tools"},
		{1852, api.ToolSearchAuto, api.ProviderOpenAI, true, ""},
	} {
		_, pinned := searchBench(t, c.n, api.Agent{Tools: []string{"*"}, Search: c.search,
			Model: api.Model{Provider: c.provider}})
		problem := ""
		if len(pinned.Problems) > 0 {
			problem = pinned.Problems[0].Message
		}
		if slices.Contains(pinned.Catalog.Names(), api.FindTools) != c.want ||
			problem != c.problem {
			t.Errorf("%d tools, tool_search %q: problem %q, %d pinned", c.n, c.search, problem,
				len(pinned.Catalog.Tools))
		}
	}
}

// TestToolSearch_OffersOnlyWhatWasFound follows an agent with 1,852 tools: its first request is
// small, a search finds the tool, and the next request offers it.
func TestToolSearch_OffersOnlyWhatWasFound(t *testing.T) {
	agent := api.Agent{Name: "a", Tools: []string{"*"}}
	b, pinned := searchBench(t, 1852, agent)
	setup := &api.Setup{Agent: &agent, Pinned: api.Pack(pinned)}
	messages := []api.Message{{Role: api.RoleUser, Text: "Send the invoice."}}
	offered := func() []string {
		p, _, err := b.prompt(setup, messages, api.ModelRequest{Turn: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		server, chat := openAIModel(t, modelserver.Completion(
			`{"role":"assistant","content":"hi"}`, "stop"))
		if _, err := chat.Answer(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if body, err := json.Marshal(server.Body); err != nil || len(body) > 30<<10 {
			t.Errorf("the request has %d bytes, %v", len(body), err)
		}
		return offerNames(p.Tools)
	}
	if got := offered(); fmt.Sprint(got) != "[find_tools]" {
		t.Fatalf("the first request offers %v", got)
	}
	tool, _ := pinned.Find(api.FindTools)
	value, err := within(t, api.FindTools, api.Execution{Digest: tool.Digest,
		Origin:    api.Origin{Run: "r"},
		Arguments: json.RawMessage(`{"query":"mail an invoice","limit":2}`)},
		func(ctx context.Context, in converter.EncodedValues) (any, error) {
			return b.Tool(ctx, in)
		})
	var result api.Result
	if err == nil {
		err = value.Get(&result)
	}
	if err != nil {
		t.Fatal(err)
	}
	messages = append(messages, api.Message{Role: api.RoleAssistant, Calls: []api.Call{{ID: "1.1",
		Tool: api.FindTools}}}, api.CallOutcome{ID: "1.1", Result: &result}.Message())
	got := offered()
	if !slices.Contains(got, "send_invoice") || !slices.Contains(got, api.FindTools) ||
		len(got) > 3 {
		t.Errorf("after the search %s the request offers %v", result.Output, got)
	}
}

func offerNames(offers []models.Offer) []string {
	var names []string
	for _, o := range offers {
		names = append(names, o.Name)
	}
	return names
}
