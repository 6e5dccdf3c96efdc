package chat

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
)

// Servers divide, number and name the pieces of calls in many ways, each of which has one meaning.
func TestCalls_AreToldApartHoweverServersSendThem(t *testing.T) {
	oslo, rome := api.Call{Tool: "get_weather", Arguments: `{"city":"Oslo"}`},
		api.Call{Tool: "get_weather", Arguments: `{"city":"Rome"}`}
	for name, c := range map[string]struct {
		pieces []string
		want   []api.Call
	}{
		"neither id nor index": {[]string{
			`{"id":"","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`,
			`{"function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}`},
			[]api.Call{oslo, rome}},
		"the name in every piece": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}}`,
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"\"Oslo\"}"}}`},
			[]api.Call{oslo}},
		"the name in every piece, without id and index": {[]string{
			`{"function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"function":{"name":"get_weather","arguments":"\"Oslo\"}"}}`},
			[]api.Call{oslo}},
		"one call at two indexes": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}}`,
			`{"index":0,"function":{"arguments":"{\"city\":\"Oslo\"}"}}`,
			`{"index":1,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`},
			[]api.Call{oslo}},
		"the whole call once more": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\""}}`,
			`{"index":0,"id":"a","function":{"arguments":":\"Oslo\"}"}}`,
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`},
			[]api.Call{oslo}},
		"one index, ids of their own": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`,
			`{"index":0,"id":"b","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}`},
			[]api.Call{oslo, rome}},
		"one index, no ids": {[]string{
			`{"index":0,"function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`,
			`{"index":0,"function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}`},
			[]api.Call{oslo, rome}},
		"interleaved by index": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"index":1,"id":"b","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`,
			`{"index":1,"function":{"arguments":"\"Rome\"}"}}`},
			[]api.Call{oslo, rome}},
		"ids without indexes": {[]string{
			`{"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"id":"a","function":{"arguments":"\"Oslo\"}"}}`,
			`{"id":"b","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}`},
			[]api.Call{oslo, rome}},
		"the name in pieces": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_","arguments":""}}`,
			`{"index":0,"function":{"name":"wea"}}`,
			`{"index":0,"function":{"name":"ther","arguments":"{\"city\":\"Oslo\"}"}}`},
			[]api.Call{oslo}},
		"arguments as an object": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":{"city":"Oslo"}}}`},
			[]api.Call{oslo}},
		"arguments so far in each piece": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}`,
			`{"index":0,"id":"a","function":{"arguments":"{\"city\":\"Oslo\"}"}}`},
			[]api.Call{oslo}},
		"arguments that nest what they began with": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_time","arguments":"{\"a\":"}}`,
			`{"index":0,"function":{"arguments":"{\"a\":1}}"}}`},
			[]api.Call{{Tool: "get_time", Arguments: `{"a":{"a":1}}`}}},
		"an empty piece at the end": {[]string{
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}`,
			`{"index":0,"id":"a","function":{"name":"get_weather","arguments":""}}`},
			[]api.Call{oslo}},
		"null for a name that was given": {[]string{
			`{"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":""}}`,
			`{"index":0,"id":null,"function":{"name":null,"arguments":"{}"}}`},
			[]api.Call{{Tool: "get_time", Arguments: "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			events := []string{chunk(`{"role":"assistant","content":null}`, "null")}
			for _, p := range c.pieces {
				events = append(events, chunk(`{"tool_calls":[`+p+`]}`, "null"))
			}
			_, model := serveChat(t, chunks(append(events, chunk(`{}`, "tool_calls"), endMark)...))
			p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
			p.Tools = []models.Offer{{Name: "get_weather", Schema: []byte(`{}`)},
				{Name: "get_time", Schema: []byte(`{}`)}}
			p.Live = func(string) {}
			r, err := model.Answer(t.Context(), p)
			if err != nil || !reflect.DeepEqual(r.Message.Calls, c.want) {
				t.Errorf("got %+v, %v", r.Message.Calls, err)
			}
		})
	}
}

// What a server attaches to its turn goes back to it, and to no other model.
func TestAnswers_GoBackAsTheServerSentThem(t *testing.T) {
	const call = `{"id":"call_a","type":"function","function":{"name":"count","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s1g"}}}`
	for name, c := range map[string]struct {
		answer  []string
		want    string
		thought string
	}{
		"whole": {[]string{`{"role":"assistant","content":null,"refusal":null,"reasoning_content":"","tool_calls":[` + call + `]}`},
			`{"role":"assistant","reasoning_content":"","tool_calls":[` + call + `]}`, ""},
		"streamed": {[]string{
			chunk(`{"role":"assistant","content":null,"reasoning_content":"I need "}`, "null"),
			chunk(`{"reasoning_content":"the count."}`, "null"),
			chunk(`{"tool_calls":[`+strings.Replace(call, `{"id"`, `{"index":0,"id"`, 1)+`]}`, "null"),
			chunk(`{}`, "tool_calls"), endMark},
			`{"role":"assistant","reasoning_content":"I need the count.","tool_calls":[` + call + `]}`,
			"I need the count."},
		"details": {[]string{
			chunk(`{"reasoning_details":[{"type":"reasoning.text","text":"I ","index":0}]}`, "null"),
			chunk(`{"reasoning_details":[{"type":"reasoning.text","text":"see","index":0,"signature":"s"},{"type":"reasoning.encrypted","data":"e","index":1}]}`, "null"),
			chunk(`{"content":"ok"}`, "stop"), endMark},
			`{"role":"assistant","content":"ok","reasoning_details":[{"type":"reasoning.text","text":"I see","index":0,"signature":"s"},{"type":"reasoning.encrypted","data":"e","index":1}]}`, ""},
		"parts": {[]string{
			chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hmm"}]}]}`, "null"),
			chunk(`{"content":"four"}`, "stop"), endMark},
			`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hmm"}]},{"type":"text","text":"four"}]}`, "hmm"},
	} {
		t.Run(name, func(t *testing.T) {
			handle := chunks(c.answer...)
			if len(c.answer) == 1 {
				handle = modelserver.Completion(c.answer[0], "tool_calls")
			}
			server, model := serveChat(t, handle)
			p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
			p.Live = func(string) {}
			r, err := model.Answer(t.Context(), p)
			if err != nil || r.Message.Thought != c.thought {
				t.Fatalf("got %+v, %v", r, err)
			}
			for i := range r.Message.Calls {
				r.Message.Calls[i].ID = api.TurnCallID(1, i+1)
			}
			r.Message.Role = api.RoleAssistant
			p.Messages = append(p.Messages, r.Message, api.Message{Role: api.RoleTool,
				CallID: "1.1", Text: "5"})
			sent := func() map[string]any {
				if _, err := model.Answer(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				return server.Body["messages"].([]any)[1].(map[string]any)
			}
			if got := sent(); !reflect.DeepEqual(got, modelserver.Decode(t, c.want)) {
				t.Errorf("got %v", got)
			}
			p.Agent.Model.Name = "other"
			for name := range sent() {
				if name != "role" && name != "content" && name != "tool_calls" {
					t.Errorf("another model got %s", name)
				}
			}
		})
	}
}

// A server that refuses a part of a request by name gets the request without it, also later.
func TestRequests_LeaveOutWhatServersRefuse(t *testing.T) {
	const refusal = `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body",%q],"msg":"Extra inputs are not permitted"}]},"code":null}`
	for name, refused := range map[string][]string{
		"max_tokens in place of max_completion_tokens": {"max_completion_tokens"},
		"neither":            {"max_completion_tokens", "max_tokens"},
		"no stream options":  {"stream_options"},
		"no temperature":     {"temperature"},
		"no forced choice":   {"tool_choice"},
		"several, in a row":  {"max_completion_tokens", "stream_options", "parallel_tool_calls"},
		"a user after tools": {"Unexpected role 'user' after role 'tool'"},
	} {
		t.Run(name, func(t *testing.T) {
			server, model := serveChat(t, modelserver.Strict(func(body map[string]any) string {
				list := body["messages"].([]any)
				last := list[len(list)-1].(map[string]any)
				for _, name := range refused {
					if _, sent := body[name]; sent ||
						strings.Contains(name, "role") && last["role"] == "user" {
						return strings.Replace(refusal, "%q", strconv.Quote(name), 1)
					}
				}
				return ""
			}))
			p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"},
				api.Message{Role: api.RoleAssistant, Calls: []api.Call{{ID: "1.1", Tool: "count", Arguments: "{}"}}},
				api.Message{Role: api.RoleTool, CallID: "1.1", Text: "5"})
			temperature, parallel := 0.5, false
			p.Agent.Model.Temperature, p.Agent.Model.MaxTokens = &temperature, 100
			p.Agent.Model.ParallelCalls = &parallel
			p.Tools = []models.Offer{{Name: "count", Schema: []byte(`{}`)}}
			p.Limit, p.Live = "turns", func(string) {}
			for range 2 {
				before := server.Requests.Load()
				if _, err := model.Answer(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if n := server.Requests.Load() - before; before > 0 && n != 1 {
					t.Errorf("the second step made %d requests", n)
				}
			}
		})
	}
}
