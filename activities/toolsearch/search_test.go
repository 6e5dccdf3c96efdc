package toolsearch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// TestOffered_FollowsTheConversation states which tools a model is offered after searches and
// calls.
func TestOffered_FollowsTheConversation(t *testing.T) {
	var offers []models.Offer
	for _, name := range []string{"a", "b", "c", "d", api.FindTools} {
		offers = append(offers, models.Offer{Name: name})
	}
	search := api.Message{Role: api.RoleAssistant, Calls: []api.Call{{ID: "1",
		Tool: api.FindTools}}}
	result := func(text string) api.Message {
		return api.Message{Role: api.RoleTool, CallID: "1", Text: text}
	}
	for _, c := range []struct {
		name     string
		messages []api.Message
		required string
		want     string
	}{
		{"nothing yet", nil, "", "find_tools"},
		{"required", nil, "c", "c find_tools"},
		{"found", []api.Message{search,
			result(`{"tools":[{"name":"b"},{"name":"gone"}]}` + "\n[note]")}, "", "b find_tools"},
		{"failed", []api.Message{search, {Role: api.RoleTool, CallID: "1", Failed: true,
			Text: `{"tools":[{"name":"b"}]}`}}, "", "find_tools"},
		{"cut", []api.Message{search, result(`{"tools":[{"name":"b"},{"na`)}, "", "find_tools"},
		{"result of another tool", []api.Message{{Calls: []api.Call{{ID: "1", Tool: "d"}}},
			result(`{"tools":[{"name":"b"}]}`)}, "", "d find_tools"},
	} {
		var names []string
		for _, o := range SelectOffers(offers, c.messages, c.required) {
			names = append(names, o.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	var many []models.Offer
	var found []string
	for i := range 100 {
		many = append(many, models.Offer{Name: fmt.Sprint("tool", i)})
		found = append(found, fmt.Sprintf(`{"name":"tool%d"}`, i))
	}
	if got := SelectOffers(many, []api.Message{search,
		result(`{"tools":[` + strings.Join(found, ",") + `]}`)}, ""); len(got) != maxOffered ||
		got[0].Name != "tool0" {
		t.Errorf("%d tools are offered, the first is %s", len(got), got[0].Name)
	}
}

// TestSearch_FindsToolsByNameDescriptionAndParameters states what a search returns.
func TestSearch_FindsToolsByNameDescriptionAndParameters(t *testing.T) {
	offers := []models.Offer{
		{Name: "createInvoice", Description: strings.Repeat("Bills a customer. ", 50),
			Schema: json.RawMessage(`{"type":"object","properties":{"lines":{"type":"array",
				"items":{"type":"object","properties":{"quantity":{"type":"integer"}}}}}}`)},
		{Name: "get_weather", Description: "Current conditions.", Schema: json.RawMessage(
			`{"properties":{"unit":{"enum":["celsius",1]}}}`)},
		{Name: api.FindTools, Description: "Searches invoices and weather.",
			Schema: json.RawMessage(`true`)},
	}
	index := Index(offers)
	for query, want := range map[string]string{"invoices": "createInvoice",
		"quantities of lines": "createInvoice", "temperature in Celsius": "get_weather",
		"nothing": ""} {
		args, err := json.Marshal(map[string]any{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Search(index, offers, args)
		names := ""
		for _, f := range got.Tools {
			names += f.Name
			if len(f.Description) > 2*maxDescription {
				t.Errorf("a description of %d bytes", len(f.Description))
			}
		}
		if err != nil || names != want || got.Searched != 2 {
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
	if _, err := Search(index, offers, json.RawMessage(`[]`)); err == nil {
		t.Error("arguments that are no object are accepted")
	}
}
