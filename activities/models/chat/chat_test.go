package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/messages"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/modelserver"
)

func serveChat(t testing.TB, handle http.HandlerFunc) (*modelserver.Server, Provider) {
	t.Helper()
	s := modelserver.New(t, handle)
	t.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", modelserver.Key)
	return s, New(openai.NewServer())
}

// Every role is covered. Calls and results have our ids, and tools have their JSON Schema. Invalid
// parts of earlier answers are made valid, and calls without a result get one.
func TestOpenAIRequest_FollowsTheProtocol(t *testing.T) {
	server, model := serveChat(t, modelserver.Completion(`{"role":"assistant","content":"hi"}`,
		"stop"))
	temperature := 0.5
	p := modelserver.NewPrompt(
		api.Message{Role: api.RoleSystem, Text: "be brief"},
		api.Message{Role: api.RoleUser, Text: "count <b> & \"q\""},
		api.Message{Role: api.RoleAssistant, Text: "calling", Calls: []api.Call{
			{ID: "1.1", Tool: "count", Arguments: `{"n":12345678901234567890}`},
			{ID: "1.2", Tool: "fs.read file/é", Arguments: `{"n": 1`},
			{ID: "1.3", Tool: strings.Repeat("x", 100), Arguments: ""},
			{ID: "1.4", Tool: "", Arguments: "{}"},
		}},
		api.Message{Role: api.RoleTool, CallID: "1.1", Text: "5"},
		api.Message{Role: api.RoleAssistant, Calls: []api.Call{{ID: "2.1", Tool: "count",
			Arguments: "{}"}}},
	)
	p.Agent.Model.Temperature, p.Agent.Model.MaxTokens = &temperature, 99
	p.Tools = []models.Offer{{Name: "count", Description: "Counts.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}}
	if _, err := model.Answer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	call := func(id, name, arguments string) map[string]any {
		return map[string]any{"id": models.CallID(id), "type": "function", "function": map[string]any{"name": name,
			"arguments": arguments}}
	}
	lost := func(id string) map[string]any {
		return map[string]any{"role": "tool", "tool_call_id": models.CallID(id),
			"content": "This call has no result."}
	}
	want := map[string]any{
		"model": "gpt-x", "temperature": 0.5, "max_completion_tokens": 99.0,
		"messages": []any{
			map[string]any{"role": "system", "content": "be brief"},
			map[string]any{"role": "user", "content": "count <b> & \"q\""},
			map[string]any{"role": "assistant", "content": "calling", "tool_calls": []any{
				call("1.1", "count", `{"n":12345678901234567890}`),
				call("1.2", "fs_read_file__", `{"not_json":"{\"n\": 1"}`),
				call("1.3", strings.Repeat("x", 64), `{}`),
				call("1.4", "_", "{}"),
			}},
			map[string]any{"role": "tool", "tool_call_id": models.CallID("1.1"), "content": "5"}, lost("1.2"),
			lost("1.3"), lost("1.4"),
			map[string]any{"role": "assistant", "tool_calls": []any{call("2.1", "count", "{}")}},
			lost("2.1"),
		},
		"tools": []any{map[string]any{"type": "function",
			"function": map[string]any{"name": "count", "description": "Counts.",
				"parameters": modelserver.Decode(t, string(p.Tools[0].Schema))}}},
	}
	if !reflect.DeepEqual(server.Body, want) {
		got, _ := json.MarshalIndent(server.Body, "", " ")
		t.Errorf("got %s", got)
	}
	if server.Path != "/v1/chat/completions" || server.Header.Get("Authorization") != "Bearer "+
		modelserver.Key {
		t.Errorf("%s with %v", server.Path, server.Header)
	}
	// At a limit the tools stay, none may be called, and the model gets the reason.
	p.Limit, p.Agent.Model = "turns", api.Model{Name: "gpt-x"}
	if _, err := model.Answer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	list := server.Body["messages"].([]any)
	last := list[len(list)-1].(map[string]any)
	if server.Body["tools"] == nil || server.Body["tool_choice"] != "none" ||
		server.Body["temperature"] != nil || server.Body["max_completion_tokens"] != nil ||
		last["role"] != "user" || !expect.Contains(last["content"].(string), "limit", "turns") {
		t.Errorf("got %v", server.Body)
	}
}

// They may have several calls, arguments that are no JSON, and a stop reason.
func TestOpenAIAnswers_AreReadUnchanged(t *testing.T) {
	cases := []struct {
		name, message, finish string
		want                  api.Message
		stop                  api.Stop
	}{
		{"text", `{"role":"assistant","content":"done"}`, "stop", api.Message{Text: "done"},
			api.StopAnswer},
		{"parallel calls", `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"one","arguments":"{\"x\":1}"}},
			{"id":"b","type":"function","function":{"name":"two","arguments":"{\"x\": "}}]}`, "tool_calls",
			api.Message{Calls: []api.Call{{Tool: "one", Arguments: `{"x":1}`},
				{Tool: "two", Arguments: `{"x": `}}}, api.StopCalls},
		{"calls, though it says stop",
			`{"content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"one","arguments":""}}]}`,
			"stop",
			api.Message{Calls: []api.Call{{Tool: "one"}}}, api.StopCalls},
		{"refusal", `{"role":"assistant","content":null,"refusal":"I cannot help with that."}`,
			"stop", api.Message{Text: "I cannot help with that."}, api.StopRefusal},
		{"content filter", `{"role":"assistant","content":""}`, "content_filter",
			api.Message{Text: "the provider's content filter withheld the answer"},
			api.StopRefusal},
		{"content filter in the middle", `{"role":"assistant","content":"half"}`, "content_filter",
			api.Message{Text: "half"}, api.StopRefusal},
		{"length", `{"role":"assistant","content":"and so on and"}`, "length",
			api.Message{Text: "and so on and"}, api.StopLength},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, model := serveChat(t, modelserver.Completion(c.message, c.finish))
			r, err := model.Answer(t.Context(),
				modelserver.NewPrompt(api.Message{Role: api.RoleUser,
					Text: "go"}))
			r.Message.Native = nil
			if err != nil || !reflect.DeepEqual(r.Message, c.want) || r.Stop != c.stop {
				t.Errorf("got %+v, %v", r, err)
			}
			if r.Model != "served-model" || r.Usage.InputTokens != 11 || r.Usage.OutputTokens != 7 {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// Each failure is one request. It has the server's message without the key, and whether and when to
// retry.
func TestOpenAIFailures_AreReportedOnce(t *testing.T) {
	apiError := func(message, code string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"t","param":null,"code":%q}}`, message,
			code)
	}
	soon := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	cases := []struct {
		name      string
		handle    http.HandlerFunc
		permanent bool
		after     time.Duration
		want      []string
	}{
		{"429 with seconds", modelserver.Status(429, apiError("slow down", "rate_limit_exceeded"),
			"Retry-After", "7"), false, 7 * time.Second, []string{"429", "slow down"}},
		{"429 with a date", modelserver.Status(429, apiError("slow down", "rate_limit_exceeded"),
			"Retry-After", soon), false, 90 * time.Second, []string{"429"}},
		{"429 without", modelserver.Status(429, apiError("slow down", "")), false, 0,
			[]string{"429 Too Many Requests"}},
		{"quota", modelserver.Status(429, apiError("You exceeded your current quota",
			"insufficient_quota"), "Retry-After", "7"), true, 0, []string{"quota"}},
		{"500", modelserver.Status(500, apiError("oops", "")), false, 0, []string{"500", "oops"}},
		{"503 in HTML", modelserver.Status(503, "<html>upstream is down</html>", "Retry-After", "3",
			"Content-Type", "text/html"), false, 3 * time.Second,
			[]string{"503", "upstream is down"}},
		{"504 without a body", modelserver.Status(504, ""), false, 0, []string{"504"}},
		{"408", modelserver.Status(408, apiError("late", "")), false, 0, []string{"408"}},
		{"401", modelserver.Status(401, apiError("Incorrect API key provided: "+modelserver.Key,
			"invalid_api_key")), true, 0, []string{"401", "OPENAI_API_KEY"}},
		{"401 in HTML", modelserver.Status(401, "<html>"+modelserver.Key+"</html>"), true, 0,
			[]string{"401", "OPENAI_API_KEY"}},
		{"403", modelserver.Status(403, apiError("not for you", "")), true, 0,
			[]string{"403", "OPENAI_API_KEY"}},
		{"404", modelserver.Status(404, apiError("The model `gpt-x` does not exist",
			"model_not_found")), true, 0, []string{"404", "gpt-x"}},
		{"404 as text", modelserver.Status(404, `{"error":"model not found, try pulling it"}`),
			true, 0, []string{"404", "try pulling"}},
		{"422 as detail", modelserver.Status(422, `{"detail":"temperature too high"}`), true, 0,
			[]string{"422", "temperature too high"}},
		{"400 with a number as code", modelserver.Status(400,
			`{"error":{"message":"bad request here","code":400}}`), true, 0,
			[]string{"400", "bad request here"}},
		{"context", modelserver.Status(400, apiError("maximum context length is 8192 tokens",
			"context_length_exceeded")), true, 0, []string{"window", "8192"}},
		{"key at the cut", modelserver.Status(400, apiError(strings.Repeat("x", 490)+
			modelserver.Key, "")), true, 0, []string{"400"}},
		{"not JSON", modelserver.Status(200, "<html>hello</html>", "Content-Type", "text/html"),
			false, 0, nil},
		{"broken JSON", modelserver.Status(200, `{"choices":[`, "Content-Type", "application/json"),
			false, 0, nil},
		{"no choices", modelserver.Status(200, `{"choices":[]}`, "Content-Type",
			"application/json"), false, 0, []string{"no choices"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, model := serveChat(t, c.handle)
			_, err := model.Answer(t.Context(),
				modelserver.NewPrompt(api.Message{Role: api.RoleUser,
					Text: "go"}))
			e := modelserver.CheckFailure(t, server, err, c.want...)
			if e.Permanent != c.permanent || (e.RetryAfter-c.after).Abs() > 2*time.Second ||
				e.Overflow != (c.name == "context") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A server that is down or does not answer fails within the timeout of the step.
func TestOpenAIUnreachable_IsTransient(t *testing.T) {
	released := make(chan struct{})
	_, model := serveChat(t, func(http.ResponseWriter, *http.Request) { <-released })
	defer close(released)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := model.Answer(ctx, modelserver.NewPrompt())
	if e, ok := errors.AsType[*models.Error](err); !ok || e.Permanent || e.Message != "context deadline exceeded" {
		t.Errorf("got %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	t.Setenv("OPENAI_BASE_URL", "http://"+listener.Addr().String()+"/v1")
	_, err = New(openai.NewServer()).Answer(t.Context(), modelserver.NewPrompt())
	if e, ok := errors.AsType[*models.Error](err); !ok || e.Permanent || e.Message != fmt.Sprintf(
		`Post "http://%[1]s/v1/chat/completions": dial tcp %[1]s: connect: connection refused`,
		listener.Addr()) {
		t.Errorf("got %v", err)
	}
}

func TestOpenAIWithoutKey_SendsNothing(t *testing.T) {
	server, _ := serveChat(t, modelserver.Status(200, ""))
	t.Setenv("OPENAI_API_KEY", "")
	model := New(openai.NewServer())
	_, err := model.Answer(t.Context(), modelserver.NewPrompt())
	if model.Ready() == nil || err == nil || err.Error() != "the worker has no OPENAI_API_KEY in its environment, and no OPENAI_API_KEY_FILE that names a file with it" ||
		server.Requests.Load() != 0 {
		t.Errorf("got %v after %d requests", err, server.Requests.Load())
	}
	if model.Redact("text") != "text" {
		t.Error("no key, nothing to redact")
	}
}

// The key can be changed while the worker runs.
func TestModelKeyFile_IsReadForEachRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		http.Error(w, `{"error":{"message":"wrong: `+r.Header.Get("Authorization")+
			r.Header.Get("X-Api-Key")+`"}}`, http.StatusUnauthorized)
	}))
	defer server.Close()
	t.Setenv("OPENAI_BASE_URL", server.URL)
	t.Setenv("ANTHROPIC_BASE_URL", server.URL)
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
		t.Setenv(name, "")
		t.Setenv(name+"_FILE", file)
	}
	for _, model := range []models.Model{New(openai.NewServer()), messages.New()} {
		for _, key := range []string{"first-planted", "second-planted"} {
			if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := model.Answer(t.Context(), modelserver.NewPrompt()); err == nil ||
				expect.Contains(err.Error(), "planted") {
				t.Errorf("got %v", err)
			}
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := model.Ready(); !errors.Is(err,
			&api.Error{Type: api.ErrPreconditionFailed}) || api.AsError(err).Message != "the secret file:"+
			file+" cannot be read: no such file or directory on this worker" {
			t.Errorf("got %v", err)
		}
	}
	if want := []string{"Bearer first-planted", "Bearer second-planted", "first-planted",
		"second-planted"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}
