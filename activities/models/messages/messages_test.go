package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/modelserver"
)

func serveMessages(t testing.TB, handle http.HandlerFunc) (*modelserver.Server, *Provider) {
	t.Helper()
	s := modelserver.New(t, handle)
	t.Setenv("ANTHROPIC_BASE_URL", s.URL)
	t.Setenv("ANTHROPIC_API_KEY", modelserver.Key)
	return s, New()
}

// events answers with server-sent events, each given as JSON with its type.
func events(list ...string) http.HandlerFunc {
	var b strings.Builder
	for _, e := range list {
		var typed struct{ Type string }
		_ = json.Unmarshal([]byte(e), &typed)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", typed.Type, strings.ReplaceAll(e, "\n", " "))
	}
	return modelserver.Status(http.StatusOK, b.String(), "Content-Type", "text/event-stream")
}

// Instructions are separate, all results of a turn are in one message of the user, failures are
// marked, ids, names and arguments are valid, and what the next request repeats is marked for the
// cache.
func TestAnthropicRequest_FollowsTheProtocol(t *testing.T) {
	server, model := serveMessages(t, modelserver.Message(`[{"type":"text","text":"hi"}]`,
		"end_turn"))
	p := modelserver.NewPrompt(
		api.Message{Role: api.RoleSystem, Text: "be brief"},
		api.Message{Role: api.RoleUser, Text: "count"},
		api.Message{Role: api.RoleUser, Text: "now"},
		api.Message{Role: api.RoleAssistant, Text: "calling", Calls: []api.Call{
			{ID: "1.1", Tool: "count", Arguments: `{"n":12345678901234567890}`},
			{ID: "1.2", Tool: "fs.read", Arguments: `{"n": 1`},
			{ID: "1.3", Tool: "count", Arguments: `[1]`},
		}},
		api.Message{Role: api.RoleTool, CallID: "1.2", Text: "no such tool", Failed: true},
		api.Message{Role: api.RoleTool, CallID: "1.1", Text: "5"},
		api.Message{Role: api.RoleTool, CallID: "9.9", Text: "of nothing"},
		api.Message{Role: api.RoleSystem, Text: "hurry"},
		api.Message{Role: api.RoleAssistant, Calls: []api.Call{{ID: "2.1", Tool: "count",
			Arguments: ""}}},
		api.Message{Role: api.RoleTool, CallID: "2.1", Text: " "},
	)
	temperature := 0.5
	p.Agent.Model.Temperature, p.Agent.Model.MaxTokens = &temperature, 99
	p.Tools = []models.Offer{{Name: "count", Description: "Counts.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)}}
	if _, err := model.Answer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := modelserver.Decode(t, `{"model":"gpt-x","temperature":0.5,"max_tokens":99,
		"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],
		"messages":[
			{"role":"user","content":[{"type":"text","text":"count"},{"type":"text","text":"now"}]},
			{"role":"assistant","content":[{"type":"text","text":"calling"},
				{"type":"tool_use","id":"wbpcir3cw","name":"count","input":{"n":12345678901234567890}},
				{"type":"tool_use","id":"o6wddg76d","name":"fs_read","input":{"not_json":"{\"n\": 1"}},
				{"type":"tool_use","id":"tqmtyyck2","name":"count","input":{"not_an_object":[1]}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"wbpcir3cw","content":[{"type":"text","text":"5"}]},
				{"type":"tool_result","tool_use_id":"o6wddg76d","is_error":true,"content":[{"type":"text","text":"no such tool"}]},
				{"type":"tool_result","tool_use_id":"tqmtyyck2","is_error":true,"content":[{"type":"text","text":"This call has no result."}]},
				{"type":"text","text":"The result of call 9.9: of nothing"},{"type":"text","text":"hurry"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"vv4m7ihk2","name":"count","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"vv4m7ihk2","cache_control":{"type":"ephemeral"}}]}],
		"tools":[{"name":"count","description":"Counts.",
			"input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}]}`)
	if !reflect.DeepEqual(any(server.Body), want) {
		got, _ := json.MarshalIndent(server.Body, "", " ")
		t.Errorf("got %s", got)
	}
	if server.Path != "/v1/messages" || server.Header.Get("X-Api-Key") != modelserver.Key ||
		server.Header.Get("Anthropic-Version") == "" {
		t.Errorf("%s with %v", server.Path, server.Header)
	}
	// At a limit the tools stay, none may be called, and the model gets the reason.
	p.Limit, p.Agent.Model = "turns", api.Model{Name: "gpt-x"}
	if _, err := model.Answer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	tools, _ := server.Body["tools"].([]any)
	if text := fmt.Sprint(server.Body["messages"]); len(tools) != 1 ||
		!expect.Contains(fmt.Sprint(server.Body["tool_choice"]), "none") ||
		!expect.Contains(text, "limit of this run", "turns") ||
		server.Body["max_tokens"] != 32000.0 {
		t.Errorf("got %v", server.Body)
	}
}

// Conversations may begin or end differently than the protocol requires.
func TestAnthropicRequest_FixesOddConversations(t *testing.T) {
	cases := []struct {
		name     string
		messages []api.Message
		want     string
	}{
		{"nothing", nil, `[{"role":"user","content":[{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}]`},
		{"blank", []api.Message{{Role: api.RoleSystem, Text: " "},
			{Role: api.RoleUser, Text: "\n"}},
			`[{"role":"user","content":[{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}]`},
		{"the assistant first and last", []api.Message{{Role: api.RoleAssistant, Text: "a"},
			{Role: api.RoleAssistant, Text: "b"}},
			`[{"role":"user","content":[{"type":"text","text":"Begin."}]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
			{"role":"user","content":[{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}]`},
	}
	for _, c := range cases {
		server, model := serveMessages(t, modelserver.Message(`[{"type":"text","text":"hi"}]`,
			"end_turn"))
		if _, err := model.Answer(t.Context(), modelserver.NewPrompt(c.messages...)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(server.Body["messages"], modelserver.Decode(t, c.want)) ||
			server.Body["system"] != nil {
			t.Errorf("%s: %v", c.name, server.Body)
		}
	}
}

// anthropicAnswers are messages, complete and as events, with their meaning.
var anthropicAnswers = []struct {
	name, whole, stop string
	// stream has the events of the content; empty without a streamed form.
	stream []string
	want   api.Message
	means  api.Stop
}{
	{"text", `[{"type":"text","text":"do"},{"type":"text","text":"ne"}]`, "end_turn",
		[]string{textStart(), textDelta("do"), textDelta("ne"), blockStop(0)},
		api.Message{Text: "done"}, api.StopAnswer},
	{"parallel calls", `[{"type":"text","text":"I call"},{"type":"tool_use","id":"a","name":"one","input":{"x":1}},{"type":"tool_use","id":"b","name":"two","input":{}}]`,
		"tool_use",
		[]string{textStart(), textDelta("I call"), blockStop(0), callStart(1, "one"),
			argumentDelta(1, `{"x"`), argumentDelta(1, `:1}`), blockStop(1), callStart(2, "two"),
			argumentDelta(2, "{}"), blockStop(2)},
		api.Message{Text: "I call", Calls: []api.Call{{Tool: "one", Arguments: `{"x":1}`},
			{Tool: "two", Arguments: `{}`}}}, api.StopCalls},
	{"cut at max_tokens in the middle of a call", "", "max_tokens", []string{callStart(0, "one"),
		argumentDelta(0, `{"x": "aaaa`), blockStop(0)},
		api.Message{Calls: []api.Call{{Tool: "one", Arguments: `{"x": "aaaa`}}}, api.StopLength},
	{"length", `[{"type":"text","text":"and so on and"}]`, "max_tokens",
		[]string{textStart(), textDelta("and so on and"), blockStop(0)},
		api.Message{Text: "and so on and"}, api.StopLength},
	{"stop sequence", `[{"type":"text","text":"x"}]`, "stop_sequence",
		[]string{textStart(), textDelta("x"), blockStop(0)}, api.Message{Text: "x"},
		api.StopAnswer},
	{"refusal", `[]`, "refusal", []string{}, api.Message{Text: "the provider withheld the answer"},
		api.StopRefusal},
	{"refusal in the middle", `[{"type":"text","text":"half"},{"type":"tool_use","id":"a","name":"one","input":{}}]`,
		"refusal",
		[]string{textStart(), textDelta("half"), blockStop(0), callStart(1, "one")},
		api.Message{Text: "half"}, api.StopRefusal},
	{"thinking", `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"x"}]`,
		"end_turn", nil, api.Message{Text: "x", Thought: "hm"}, api.StopAnswer},
}

func textStart() string {
	return `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
}

func textDelta(text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`,
		text)
}

func callStart(i int, name string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":%q,"input":{}}}`,
		i, i, name)
}

func argumentDelta(i int, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`,
		i, text)
}

func blockStop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

const streamStart = `{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"served-model","content":[],"stop_reason":null,"stop_sequence":null,
	"usage":{"input_tokens":11,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}}}`

// stream answers with the events of a whole message.
func stream(stop string, content ...string) http.HandlerFunc {
	list := append([]string{streamStart, `{"type":"ping"}`}, content...)
	return events(append(list,
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":7}}`,
			stop), `{"type":"message_stop"}`)...)
}

// They may have several calls, arguments that are no JSON, a stop reason, and cached tokens. A
// listener gets the text in parts.
func TestAnthropicAnswers_AreReadWholeOrStreamed(t *testing.T) {
	for _, c := range anthropicAnswers {
		check := func(t *testing.T, model *Provider, live func(string)) {
			t.Helper()
			p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
			p.Live = live
			r, err := model.Answer(t.Context(), p)
			r.Message.Native = nil
			if err != nil || !reflect.DeepEqual(r.Message, c.want) || r.Stop != c.means ||
				r.Model != "served-model" {
				t.Errorf("got %+v, %v", r, err)
			}
			if want := (api.Usage{InputTokens: 116, OutputTokens: 7, CachedTokens: 100,
				WrittenTokens: 5}); r.Usage != want {
				t.Errorf("usage %+v", r.Usage)
			}
		}
		if c.whole != "" {
			t.Run(c.name, func(t *testing.T) {
				_, model := serveMessages(t, modelserver.Message(c.whole, c.stop))
				check(t, model, nil)
			})
		}
		if c.stream != nil {
			t.Run(c.name+", streamed", func(t *testing.T) {
				server, model := serveMessages(t, stream(c.stop, c.stream...))
				var pretokenize []string
				check(t, model, func(piece string) { pretokenize = append(pretokenize, piece) })
				if server.Body["stream"] != true || c.means != api.StopRefusal &&
					strings.Join(pretokenize, "") != c.want.Text {
					t.Errorf("stream: %v, followed as %q", server.Body["stream"], pretokenize)
				}
			})
		}
	}
}

// A long answer is streamed also without a listener, so that no connection is silent for minutes.
func TestAnthropicStreams_LongAnswers(t *testing.T) {
	server, model := serveMessages(t, stream("end_turn", textStart(), textDelta("long")))
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
	p.Agent.Model.MaxTokens = 64000
	if r, err := model.Answer(t.Context(), p); err != nil || r.Message.Text != "long" ||
		server.Body["stream"] != true {
		t.Errorf("got %+v, %v", r, err)
	}
}

// They neither stream nor count tokens.
func TestAnthropicPlainServers_AreSupported(t *testing.T) {
	_, model := serveMessages(t,
		modelserver.JSONAnswer(
			`{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"four words of text"}],"stop_reason":"end_turn"}`))
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go on"})
	p.Live = func(string) {}
	r, err := model.Answer(t.Context(), p)
	if err != nil || r.Message.Text != "four words of text" || r.Usage.OutputTokens != 4 ||
		r.Usage.InputTokens < 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A model that pauses is asked to continue, a bounded number of times, and all tokens are counted.
func TestAnthropicPauses_AreContinued(t *testing.T) {
	n := 0
	server, model := serveMessages(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n < 3 {
			modelserver.Message(fmt.Sprintf(`[{"type":"text","text":"part %d, "}]`, n),
				"pause_turn")(w, r)
			return
		}
		modelserver.Message(`[{"type":"text","text":"end"}]`, "end_turn")(w, r)
	})
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
	r, err := model.Answer(t.Context(), p)
	if err != nil || r.Message.Text != "part 1, part 2, end" || r.Stop != api.StopAnswer ||
		r.Usage.InputTokens != 3*116 || r.Usage.OutputTokens != 21 {
		t.Errorf("got %+v, %v", r, err)
	}
	if last := server.Body["messages"].([]any); len(last) != 2 ||
		!expect.Contains(fmt.Sprint(last[1]), "assistant", "part 1, ", "part 2, ") {
		t.Errorf("the last request has %v", last)
	}
	server, model = serveMessages(t, modelserver.Message(`[{"type":"text","text":"on "}]`,
		"pause_turn"))
	if r, err := model.Answer(t.Context(), p); err != nil || r.Stop != api.StopLength ||
		server.Requests.Load() != maxPauses {
		t.Errorf("got %+v, %v after %d requests", r, err, server.Requests.Load())
	}
}

// Each failure is one request. It has the server's message without the key, and whether and when to
// retry or to shorten the conversation.
func TestAnthropicFailures_AreReportedOnce(t *testing.T) {
	apiError := func(message, kind string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"r"}`,
			kind, message)
	}
	cases := []struct {
		name                string
		handle              http.HandlerFunc
		permanent, overflow bool
		after               time.Duration
		want                []string
	}{
		{"429 with seconds", modelserver.Status(429, apiError("slow down", "rate_limit_error"),
			"Retry-After", "7"), false, false, 7 * time.Second, []string{"429", "slow down"}},
		{"529", modelserver.Status(529, apiError("Overloaded", "overloaded_error"), "Retry-After",
			"3"), false, false, 3 * time.Second, []string{"529", "Overloaded"}},
		{"500", modelserver.Status(500, apiError("oops", "api_error")), false, false, 0,
			[]string{"500", "oops"}},
		{"502 in HTML", modelserver.Status(502, "<html>upstream is down</html>", "Content-Type",
			"text/html"), false, false, 0, []string{"502", "upstream is down"}},
		{"401", modelserver.Status(401, apiError("invalid x-api-key "+modelserver.Key,
			"authentication_error")), true, false, 0, []string{"401", "ANTHROPIC_API_KEY"}},
		{"403", modelserver.Status(403, apiError("not for you", "permission_error")), true, false,
			0, []string{"403", "ANTHROPIC_API_KEY"}},
		{"402", modelserver.Status(402, apiError("no credit", "billing_error")), true, false, 0,
			[]string{"no credit"}},
		{"404", modelserver.Status(404, apiError("model: nosuch", "not_found_error")), true, false,
			0, []string{"404", "nosuch"}},
		{"400", modelserver.Status(400, apiError("temperature: too high", "invalid_request_error")),
			true, false, 0, []string{"400", "temperature"}},
		{"413", modelserver.Status(413, apiError("Request exceeds the maximum size",
			"request_too_large")), true, true, 0, []string{"window"}},
		{"window", modelserver.Message(`[{"type":"text","text":"half"}]`,
			"model_context_window_exceeded"), false, true, 0, []string{"window"}},
		{"not JSON", modelserver.Status(200, "<html>hello</html>", "Content-Type", "text/html"),
			false, false, 0, nil},
		{"broken JSON", modelserver.JSONAnswer(`{"content":[`), false, false, 0, nil},
		{"another protocol", modelserver.JSONAnswer(`{"choices":[]}`), false, false, 0,
			[]string{"does not say why it stopped"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, model := serveMessages(t, c.handle)
			_, err := model.Answer(t.Context(),
				modelserver.NewPrompt(api.Message{Role: api.RoleUser,
					Text: "go"}))
			e := modelserver.CheckFailure(t, server, err, c.want...)
			if e.Permanent != c.permanent || e.Overflow != c.overflow ||
				(e.RetryAfter-c.after).Abs() > 2*time.Second {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A stream that is cut, fails or is no stream never gives a partial answer.
func TestAnthropicCutStreams_AreFailures(t *testing.T) {
	cut := func(list ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			events(list...)(w, r)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			panic(http.ErrAbortHandler)
		}
	}
	started := []string{streamStart, textStart(), textDelta("half an ans")}
	cases := []struct {
		name      string
		handle    http.HandlerFunc
		permanent bool
		want      []string
	}{
		{"cut", cut(started...), false, []string{"in the middle"}},
		{"ended early", events(started...), false, []string{"in the middle"}},
		{"overloaded", events(append(started,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...),
			false, []string{"Overloaded"}},
		{"refused", events(append(started,
			`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`)...), true,
			[]string{"no"}},
		{"not streamed, broken", modelserver.JSONAnswer(`{"content":[`), false, nil},
		{"not streamed, cut", modelserver.JSONAnswer(`{"content":[{"type":"text","text":"hi"}]}`),
			false, []string{"in the middle"}},
		{"429", modelserver.Status(429,
			`{"error":{"type":"rate_limit_error","message":"slow down"}}`), false,
			[]string{"slow down"}},
		{"broken event", modelserver.Status(200, "event: message_start\ndata: {\"type\":\n\n",
			"Content-Type", "text/event-stream"), false, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, model := serveMessages(t, c.handle)
			p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
			p.Live = func(string) {}
			_, err := model.Answer(t.Context(), p)
			if e := modelserver.CheckFailure(t, server, err,
				c.want...); e.Permanent != c.permanent {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// Other credentials in the environment are not used.
func TestAnthropicWithoutKey_SendsNothing(t *testing.T) {
	server, _ := serveMessages(t, modelserver.Status(200, ""))
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", modelserver.Key)
	model := New()
	_, err := model.Answer(t.Context(), modelserver.NewPrompt())
	if model.Ready() == nil || err == nil || err.Error() != "the worker has no ANTHROPIC_API_KEY in its environment, and no ANTHROPIC_API_KEY_FILE that names a file with it" ||
		server.Requests.Load() != 0 {
		t.Errorf("got %v after %d requests", err, server.Requests.Load())
	}
}

func TestAnswer_IsBounded(t *testing.T) {
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"content":"`)
		for piece := strings.Repeat("x", 1<<20); ; {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	t.Setenv("ANTHROPIC_BASE_URL", endless.URL)
	t.Setenv("ANTHROPIC_API_KEY", modelserver.Key)
	_, err := New().Answer(t.Context(), modelserver.NewPrompt(api.Message{Role: api.RoleUser,
		Text: "go"}))
	if e, ok := errors.AsType[*models.Error](err); !ok || e.Message != "http: request body too large" {
		t.Errorf("got %v", err)
	}
}

// An assistant's turn goes back as it came, with its reasoning as long as all before it is the
// same.
func TestMessages_GoBackAsTheProviderSentThem(t *testing.T) {
	const blocks = `[{"type":"thinking","thinking":"","signature":"sig"},{"type":"redacted_thinking","data":"r"},{"type":"text","text":"I call."},{"type":"server_block","x":[1]},{"type":"tool_use","id":"toolu_a","name":"count","input":{"n":1}}]`
	streamed := stream("tool_use",
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"r"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I call."}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"server_block","x":[1]}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_a","name":"count","input":{}}}`,
		argumentDelta(4, `{"n":1}`), blockStop(4))
	for name, handle := range map[string]http.HandlerFunc{
		"whole": modelserver.Message(blocks, "tool_use"), "streamed": streamed} {
		t.Run(name, func(t *testing.T) {
			server, model := serveMessages(t, handle)
			p := modelserver.NewPrompt(api.Message{Role: api.RoleSystem, Text: "be brief"},
				api.Message{Role: api.RoleUser, Text: "go"})
			p.Tools = []models.Offer{{Name: "count", Schema: json.RawMessage(`{"type":"object"}`)}}
			r, err := model.Answer(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			r.Message.Role, r.Message.Calls[0].ID = api.RoleAssistant, "1.1"
			p.Messages = append(p.Messages, r.Message,
				api.Message{Role: api.RoleTool, CallID: "1.1", Text: "5"})
			sent := func() (turn, result any) {
				t.Helper()
				if _, err := model.Answer(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				list := server.Body["messages"].([]any)
				return list[1].(map[string]any)["content"], list[2].(map[string]any)["content"]
			}
			turn, result := sent()
			if !reflect.DeepEqual(turn, modelserver.Decode(t, blocks)) ||
				!expect.Contains(fmt.Sprint(result), "toolu_a") {
				t.Errorf("got %v and %v", turn, result)
			}
			p.Messages[0].Text = "be long"
			if turn, _ := sent(); len(turn.([]any)) != 3 {
				t.Errorf("after a change of the instructions got %v", turn)
			}
		})
	}
}

// A model that refuses the temperature or a forced choice by name gets requests without, and
// reasoning that the provider refuses is left out, once.
func TestRequests_LeaveOutWhatTheModelRefuses(t *testing.T) {
	refusal := func(words string) http.HandlerFunc {
		return modelserver.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"`+words+`"}}`)
	}
	var server *modelserver.Server
	server, model := serveMessages(t, func(w http.ResponseWriter, r *http.Request) {
		switch body := server.Body; {
		case body["temperature"] != nil:
			refusal("temperature is deprecated for this model")(w, r)
		case body["tool_choice"] != nil:
			refusal("tool_choice: this model does not support a forced tool choice")(w, r)
		case expect.Contains(fmt.Sprint(body["messages"]), "signature"):
			refusal("messages.1.content.0: Invalid signature in thinking block")(w, r)
		default:
			modelserver.Message(`[{"type":"text","text":"hi"}]`, "end_turn")(w, r)
		}
	})
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"},
		api.Message{Role: api.RoleAssistant, Text: "a", Native: &api.Native{
			Dialect: api.DialectMessages, Endpoint: model.endpoint, Model: "gpt-x",
			Items: json.RawMessage(`[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"a"}]`)}},
		api.Message{Role: api.RoleUser, Text: "on"})
	p.Tools = []models.Offer{{Name: "count", Schema: json.RawMessage(`{"type":"object"}`)}}
	temperature := 0.5
	p.Agent.Model.Temperature, p.Agent.Model.ToolChoice = &temperature, api.ChoiceRequired
	r, err := model.Answer(t.Context(), p)
	if err != nil || !r.ReasoningLost || r.Message.Text != "hi" || server.Requests.Load() != 4 {
		t.Errorf("got %+v, %v after %d requests", r, err, server.Requests.Load())
	}
}

// Reasoning that was cut off has no signature, and does not go back.
func TestCutReasoning_DoesNotGoBack(t *testing.T) {
	_, model := serveMessages(t, modelserver.Message(
		`[{"type":"text","text":"a"},{"type":"thinking","thinking":"hm","signature":""}]`, "max_tokens"))
	r, err := model.Answer(t.Context(), modelserver.NewPrompt(api.Message{Role: api.RoleUser,
		Text: "go"}))
	if err != nil || string(r.Message.Native.Items) != `[{"text":"a","type":"text"}]` {
		t.Errorf("got %+v, %v", r, err)
	}
}
