package activities

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
)

// Both providers request the calls that the agent file demands, and no more after they were made.
func TestToolChoice_IsRequestedUntilMet(t *testing.T) {
	for _, c := range choicePrompts {
		t.Run(c.name, func(t *testing.T) {
			earlier := []api.Message{{Role: api.RoleUser, Text: "x"}, {Role: api.RoleAssistant,
				Calls: []api.Call{{ID: "1.1", Tool: "count"}}},
				{Role: api.RoleTool, CallID: "1.1", Text: "5"}}
			if !c.made {
				earlier = append(earlier, api.Message{Role: api.RoleUser, Text: "again"})
			}
			p := modelserver.NewPrompt(earlier...)
			p.Tools = []models.Offer{{Name: "count", Schema: json.RawMessage(`{"type":"object"}`)},
				{Name: "other", Schema: json.RawMessage(`{"type":"object"}`)}}
			parallel := !c.single
			p.Agent.Model.ToolChoice, p.Agent.Model.ParallelCalls = c.choice, &parallel
			server, chat := openAIModel(t,
				modelserver.Completion(`{"role":"assistant","content":"hi"}`, "stop"))
			if _, err := chat.Answer(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(server.Body["tool_choice"], modelserver.Decode(t, c.openai)) ||
				(server.Body["parallel_tool_calls"] == false) != c.single {
				t.Errorf("openai was asked %v, parallel %v", server.Body["tool_choice"],
					server.Body["parallel_tool_calls"])
			}
			server, messages := anthropicModel(t,
				modelserver.Message(`[{"type":"text","text":"hi"}]`, "end_turn"))
			if _, err := messages.Answer(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(server.Body["tool_choice"], modelserver.Decode(t, c.anthropic)) {
				t.Errorf("anthropic was asked %v", server.Body["tool_choice"])
			}
			// Without tools there is no choice.
			p.Tools, p.Messages = nil, p.Messages[:1]
			if _, err := messages.Answer(t.Context(), p); err != nil ||
				server.Body["tool_choice"] != nil || server.Body["tools"] != nil {
				t.Errorf("without tools: %v, %v", server.Body, err)
			}
		})
	}
}

// choicePrompts are prompts with the expected requests of both protocols: a choice is forced until
// a call was made since the last message of a user.
var choicePrompts = []struct {
	name              string
	choice            string
	single            bool
	made              bool
	openai, anthropic string
}{
	{"no choice", "", false, false, `null`, `null`},
	{"auto, one at a time", "auto", true, false, `null`,
		`{"type":"auto","disable_parallel_tool_use":true}`},
	{"none", "none", true, true, `"none"`, `{"type":"none"}`},
	{"required", "required", false, false, `"required"`, `{"type":"any"}`},
	{"required, one at a time", "required", true, false, `"required"`,
		`{"type":"any","disable_parallel_tool_use":true}`},
	{"required and done", "required", false, true, `null`, `null`},
	{"a tool", "count", false, false, `{"type":"function","function":{"name":"count"}}`,
		`{"type":"tool","name":"count"}`},
	{"a tool and done", "count", false, true, `null`, `null`},
	{"another tool", "other", true, true, `{"type":"function","function":{"name":"other"}}`,
		`{"type":"tool","name":"other","disable_parallel_tool_use":true}`},
	{"a tool that is disabled", "gone", false, false, `null`, `null`},
}
