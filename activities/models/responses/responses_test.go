package responses

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
)

func serve(t *testing.T, handle http.HandlerFunc) (*modelserver.Server, Provider) {
	t.Helper()
	s := modelserver.New(t, handle)
	t.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", modelserver.Key)
	return s, New(openai.NewServer())
}

// response is a response with these items.
func response(items string) string {
	return `{"id":"r1","object":"response","model":"served-model","status":"completed","output":` +
		items + `,"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":7}}`
}

const (
	reasoning = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I need the count."}],"encrypted_content":"enc"}`
	call      = `{"id":"fc_1","type":"function_call","call_id":"call_a","name":"count","arguments":"{\"n\":1}","status":"completed"}`
	words     = `{"id":"m_1","type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"five","annotations":[]}]}`
)

func TestAnswers_GoBackAsTheServerSentThem(t *testing.T) {
	server, model := serve(t, modelserver.JSONAnswer(response("["+reasoning+","+call+"]")))
	p := modelserver.NewPrompt(api.Message{Role: api.RoleSystem, Text: "be brief"},
		api.Message{Role: api.RoleUser, Text: "go"})
	p.Key = "c1"
	p.Tools = []models.Offer{{Name: "count", Description: "Counts.",
		Schema: json.RawMessage(`{"type":"object"}`)}}
	step := func(p models.Prompt) api.ModelResponse {
		t.Helper()
		r, err := model.Answer(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := step(p)
	if r.Stop != api.StopCalls || r.Message.Thought != "I need the count." ||
		!reflect.DeepEqual(r.Message.Calls, []api.Call{{Tool: "count", Arguments: `{"n":1}`}}) ||
		r.Usage != (api.Usage{InputTokens: 11, OutputTokens: 7, CachedTokens: 4,
			WrittenTokens: 2}) {
		t.Errorf("got %+v", r)
	}
	first := server.Body
	want := map[string]any{"model": "gpt-x", "store": false, "prompt_cache_key": "c1",
		"include": []any{"reasoning.encrypted_content"},
		"input": []any{map[string]any{"role": "developer", "content": "be brief"},
			map[string]any{"role": "user", "content": "go"}},
		"tools": []any{map[string]any{"type": "function", "name": "count",
			"description": "Counts.", "strict": false, "parameters": map[string]any{"type": "object"}}}}
	if !reflect.DeepEqual(first, want) || server.Path != "/v1/responses" {
		t.Errorf("got %v at %s", first, server.Path)
	}
	r.Message.Role, r.Message.Calls[0].ID = api.RoleAssistant, "1.1"
	p.Messages = append(p.Messages, r.Message,
		api.Message{Role: api.RoleTool, CallID: "1.1", Text: "5"})
	step(p)
	input := func() []any { return server.Body["input"].([]any) }
	tail := modelserver.Decode(t, "["+reasoning+","+call+`,{"type":"function_call_output","call_id":"call_a","output":"5"}]`)
	if got := input(); !reflect.DeepEqual(got[2:], tail) ||
		!reflect.DeepEqual(got[:2], first["input"]) {
		t.Errorf("got %v", got)
	}
	// The reasoning is bound to all that was before it.
	changed := p
	changed.Messages = append([]api.Message{{Role: api.RoleSystem, Text: "be long"}}, p.Messages[1:]...)
	step(changed)
	if got := input(); len(got) != 4 || !reflect.DeepEqual(got[2], modelserver.Decode(t,
		strings.Replace(call, `"id":"fc_1",`, "", 1))) {
		t.Errorf("after a change got %v", got)
	}
	p.Agent.Model.Name = "other"
	step(p)
	if got := input()[2]; !reflect.DeepEqual(got, map[string]any{"type": "function_call",
		"call_id": models.CallID("1.1"), "name": "count", "arguments": `{"n":1}`}) {
		t.Errorf("another model got %v", got)
	}
}

func TestAnswers_AreReadInEveryForm(t *testing.T) {
	sse := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range events {
				fmt.Fprintf(w, "data: %s\n\n", e)
			}
		}
	}
	done := func(index int, item string) string {
		return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, item)
	}
	delta := `{"type":"response.output_text.delta","delta":"five"}`
	end := func(kind, body string) string {
		return fmt.Sprintf(`{"type":"response.%s","response":%s}`, kind, body)
	}
	five := api.Message{Text: "five"}
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		want   api.Message
		stop   api.Stop
		fails  string
	}{
		"whole":                       {handle: modelserver.JSONAnswer(response("[" + words + "]")), want: five, stop: api.StopAnswer},
		"streamed":                    {handle: sse(delta, done(0, words), end("completed", response("["+words+"]"))), want: five, stop: api.StopAnswer},
		"no items at the end":         {handle: sse(delta, done(1, words), done(0, reasoning), end("completed", response("[]"))), want: api.Message{Text: "five", Thought: "I need the count."}, stop: api.StopAnswer},
		"cut within calls":            {handle: modelserver.JSONAnswer(`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + call + `]}`), want: api.Message{Calls: []api.Call{{Tool: "count", Arguments: `{"n":1}`}}}, stop: api.StopLength},
		"refusal":                     {handle: modelserver.JSONAnswer(response(`[{"type":"message","content":[{"type":"refusal","refusal":"no"}]},` + call + `]`)), want: api.Message{Text: "no"}, stop: api.StopRefusal},
		"unknown items":               {handle: modelserver.JSONAnswer(response(`[{"type":"program","code":"x"},` + words + `]`)), want: five, stop: api.StopAnswer},
		"failed":                      {handle: sse(end("failed", `{"status":"failed","error":{"code":"server_error","message":"oops"}}`)), fails: "the model's server answered 502 Bad Gateway: oops"},
		"error event":                 {handle: sse(`{"type":"error","code":"rate_limit_exceeded","message":"slow down"}`), fails: "the model's server answered 502 Bad Gateway: slow down"},
		"cut":                         {handle: sse(delta), fails: models.ErrCutStream.Error()},
		"an item at a place far away": {handle: sse(done(1<<40, words)), fails: "the model's server sent an item at an impossible place"},
		"null":                        {handle: modelserver.JSONAnswer("null"), want: api.Message{}, stop: api.StopAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			_, model := serve(t, c.handle)
			p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
			p.Live = func(string) {}
			r, err := model.Answer(t.Context(), p)
			if c.fails != "" {
				if err == nil || err.Error() != c.fails {
					t.Errorf("got %+v, %v", r, err)
				}
				return
			}
			r.Message.Native = nil
			if err != nil || !reflect.DeepEqual(r.Message, c.want) || r.Stop != c.stop {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// Reasoning that the server cannot read is left out, once, and the step says so.
func TestReasoning_IsLeftOutIfTheServerRefusesIt(t *testing.T) {
	refuse := modelserver.Status(400, `{"error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified."}}`)
	answer := modelserver.JSONAnswer(response("[" + words + "]"))
	var server *modelserver.Server
	server, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, i := range server.Body["input"].([]any) {
			if i.(map[string]any)["type"] == "reasoning" {
				refuse(w, r)
				return
			}
		}
		answer(w, r)
	})
	earlier := api.Message{Role: api.RoleAssistant, Text: "five", Native: &api.Native{
		Dialect: api.DialectResponses, Endpoint: model.Endpoint, Model: "gpt-x",
		Items: json.RawMessage("[" + reasoning + "," + words + "]")}}
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"}, earlier,
		api.Message{Role: api.RoleUser, Text: "on"})
	r, err := model.Answer(t.Context(), p)
	if err != nil || !r.ReasoningLost || !r.Message.Native.Alone || server.Requests.Load() != 2 {
		t.Fatalf("got %+v, %v after %d requests", r, err, server.Requests.Load())
	}
	// The next step does not try it again.
	r.Message.Role = api.RoleAssistant
	p.Messages = append(p.Messages, r.Message, api.Message{Role: api.RoleUser, Text: "on"})
	if r, err := model.Answer(t.Context(), p); err != nil || r.ReasoningLost ||
		server.Requests.Load() != 3 {
		t.Errorf("got %+v, %v after %d requests", r, err, server.Requests.Load())
	}
}

// Settings of the agent, images, limits and calls of other models have their places in a request.
func TestRequests_SayWhatTheAgentWants(t *testing.T) {
	server, model := serve(t, modelserver.JSONAnswer(response("["+words+"]")))
	temperature, parallel := 0.5, false
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"},
		api.Message{Role: api.RoleAssistant, Text: "I look.",
			Calls: []api.Call{{ID: "1.1", Tool: "count", Arguments: "{}"}}},
		api.Message{Role: api.RoleTool, CallID: "1.1", Text: "5"})
	p.Agent.Model.Temperature, p.Agent.Model.MaxTokens = &temperature, 99
	p.Agent.Model.ParallelCalls, p.Agent.Model.ToolChoice = &parallel, "count"
	p.Tools = []models.Offer{{Name: "count", Schema: json.RawMessage(`{"type":"object"}`)}}
	p.Images = map[string][]models.Image{"1.1": {{MIMEType: "image/png", Data: []byte("png")}}}
	send := func() map[string]any {
		t.Helper()
		if _, err := model.Answer(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return server.Body
	}
	body := send()
	id := models.CallID("1.1")
	want := modelserver.Decode(t, `[{"role":"user","content":"go"},{"role":"assistant","content":"I look."},
		{"type":"function_call","call_id":"`+id+`","name":"count","arguments":"{}"},
		{"type":"function_call_output","call_id":"`+id+`","output":[{"type":"input_text","text":"5"},
			{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]}]`)
	if !reflect.DeepEqual(body["input"], want) || body["temperature"] != 0.5 ||
		body["max_output_tokens"] != 99.0 || body["parallel_tool_calls"] != false {
		t.Errorf("got %v", body)
	}
	p.Messages = p.Messages[:1]
	if choice := send()["tool_choice"]; !reflect.DeepEqual(choice,
		map[string]any{"type": "function", "name": "count"}) {
		t.Errorf("the choice is %v", choice)
	}
	p.Limit = "turns"
	if body := send(); body["tool_choice"] != "none" || len(body["input"].([]any)) != 2 {
		t.Errorf("at a limit got %v", body)
	}
}

// A server that refuses parameters, or does not know streams, gets requests without them.
func TestRequests_LeaveOutWhatServersRefuse(t *testing.T) {
	var server *modelserver.Server
	server, model := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch body := server.Body; {
		case body["include"] != nil:
			modelserver.Status(400, `{"error":{"message":"Unknown parameter: include"}}`)(w, r)
		case body["stream"] != nil:
			modelserver.Status(400, `{"error":{"message":"no"}}`)(w, r)
		default:
			modelserver.JSONAnswer(response("["+words+"]"))(w, r)
		}
	})
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
	p.Live = func(string) {}
	if r, err := model.Answer(t.Context(), p); err != nil || r.Message.Text != "five" ||
		server.Requests.Load() != 3 {
		t.Errorf("got %+v, %v after %d requests", r, err, server.Requests.Load())
	}
}

// An answer that was cut off in its reasoning goes back without it: nothing follows it.
func TestCutReasoning_DoesNotGoBack(t *testing.T) {
	_, model := serve(t, modelserver.JSONAnswer(`{"status":"incomplete","output":[`+words+`,`+reasoning+`]}`))
	r, err := model.Answer(t.Context(), modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"}))
	if err != nil || r.Stop != api.StopLength || string(r.Message.Native.Items) != "["+words+"]" {
		t.Errorf("got %+v with %s, %v", r, r.Message.Native.Items, err)
	}
}
