package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"go.temporal.io/sdk/client"
)

// protocol is one of the protocols of models.
type protocol struct {
	name     string
	provider api.Provider
	path     string
	// answer returns a complete answer with a text and calls of tools, with unchanged arguments.
	answer func(text string, calls ...[2]string) string
	// env configures a worker for a server of the protocol.
	env func(url string) []string
}

var protocols = []protocol{
	{"chat", api.ProviderOpenAI, "/v1/chat/completions", chatAnswer, func(url string) []string {
		return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=" + secretKey}
	}},
	{"responses", api.ProviderOpenAI, "/v1/responses", responsesAnswer, func(url string) []string {
		return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=" + secretKey,
			"OPENAI_API=responses"}
	}},
	{"messages", api.ProviderAnthropic, "/v1/messages", messagesAnswer, func(url string) []string {
		return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + secretKey}
	}},
}

func chatAnswer(text string, calls ...[2]string) string {
	list := []string{}
	for i, c := range calls {
		list = append(list, fmt.Sprintf(
			`{"id":"p%d","type":"function","function":{"name":%q,"arguments":%q}}`, i, c[0], c[1]))
	}
	finish := "stop"
	if len(list) > 0 {
		finish = "tool_calls"
	}
	return fmt.Sprintf(`{"id":"x","object":"chat.completion","created":1,"model":"local-1","choices":[{"index":0,"finish_reason":%q,"message":
		{"role":"assistant","content":%q,"tool_calls":[%s]}}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,
		"prompt_tokens_details":{"cached_tokens":60}}}`, finish, text, strings.Join(list, ","))
}

func responsesAnswer(text string, calls ...[2]string) string {
	list := []string{`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"e"}`}
	if text != "" {
		list = append(list, fmt.Sprintf(`{"id":"m_1","type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text))
	}
	for i, c := range calls {
		list = append(list, fmt.Sprintf(
			`{"id":"fc_%d","type":"function_call","call_id":"p%d","name":%q,"arguments":%q}`, i, i, c[0], c[1]))
	}
	return fmt.Sprintf(`{"id":"r","object":"response","model":"local-1","status":"completed","output":[%s],
		"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20}}`, strings.Join(list, ","))
}

func messagesAnswer(text string, calls ...[2]string) string {
	list := []string{}
	if text != "" {
		list = append(list, fmt.Sprintf(`{"type":"text","text":%q}`, text))
	}
	stop := "end_turn"
	for i, c := range calls {
		stop = "tool_use"
		input := c[1]
		if !json.Valid([]byte(input)) {
			input = "[]" // this protocol cannot say it otherwise in one piece
		}
		list = append(list, fmt.Sprintf(`{"type":"tool_use","id":"p%d","name":%q,"input":%s}`, i,
			c[0], input))
	}
	return fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","model":"local-1","content":[%s],"stop_reason":%q,"stop_sequence":null,
		"usage":{"input_tokens":40,"cache_creation_input_tokens":0,"cache_read_input_tokens":60,"output_tokens":20}}`, strings.Join(list, ","), stop)
}

// faultyServer serves a protocol. The name of the requested model selects the fault.
type faultyServer struct {
	*httptest.Server
	protocol
	mu sync.Mutex
	// requests are those for each model, in order.
	requests map[string][]map[string]any
}

func newFaultyServer(t *testing.T, p protocol) *faultyServer {
	s := &faultyServer{protocol: p, requests: map[string][]map[string]any{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *faultyServer) serve(w http.ResponseWriter, r *http.Request) {
	var request map[string]any
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != s.path {
		http.Error(w, "not a request of this protocol", http.StatusNotFound)
		return
	}
	model, _ := request["model"].(string)
	s.mu.Lock()
	s.requests[model] = append(s.requests[model], request)
	n := len(s.requests[model])
	s.mu.Unlock()
	modelFaults[model].serve(s, w, n)
}

func (s *faultyServer) journal(model string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[model]
}

func (s *faultyServer) say(w http.ResponseWriter, text string, calls ...[2]string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, s.answer(text, calls...))
}

func refuse(w http.ResponseWriter, code int, header ...string) {
	for i := 0; i < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"type":"error","error":{"type":"t","message":"the server says %d"}}`, code)
}

const manyCalls = 10_000

// modelFaults are the faults of models and their servers, each with its effect on a run.
var modelFaults = map[string]struct {
	// serve answers the nth request, from 1.
	serve func(s *faultyServer, w http.ResponseWriter, n int)
	// fails, if set, is the type of the run's failure, and says why its model step failed. PROVIDER
	// stands for the provider's name.
	fails api.RunErrorType
	says  string
	check func(t *testing.T, s *faultyServer, r api.RunResult)
}{
	"busy": {serve: func(s *faultyServer, w http.ResponseWriter, n int) {
		if n == 1 {
			refuse(w, http.StatusTooManyRequests, "Retry-After", "1")
			return
		}
		s.say(w, "at last")
	}, check: func(t *testing.T, _ *faultyServer, r api.RunResult) {
		if r.Answer != "at last" || r.Usage.Turns != 1 {
			t.Errorf("got %+v", r)
		}
	}},
	"overloaded": {serve: func(_ *faultyServer, w http.ResponseWriter, _ int) { refuse(w, 529) },
		fails: api.RunModelFailed, says: "the model's server answered 529: the server says 529"},
	"broken": {serve: func(_ *faultyServer, w http.ResponseWriter, _ int) { refuse(w, 500) },
		fails: api.RunModelFailed, says: "the model's server answered 500 Internal Server Error: the server says 500"},
	"denied": {serve: func(_ *faultyServer, w http.ResponseWriter, _ int) { refuse(w, 401) },
		fails: api.RunModelFailed, says: "the model's server answered 401 Unauthorized: the server says 401; check PROVIDER_API_KEY in the worker's environment"},
	"cut": {serve: func(s *faultyServer, w http.ResponseWriter, n int) {
		whole := s.answer("whole")
		w.Header().Set("Content-Type", "application/json")
		if n == 1 {
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			whole = whole[:len(whole)/2]
		}
		fmt.Fprint(w, whole)
	}, check: func(t *testing.T, _ *faultyServer, r api.RunResult) {
		if r.Answer != "whole" {
			t.Errorf("got %+v", r)
		}
	}},
	"always_cut": {serve: func(_ *faultyServer, w http.ResponseWriter, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: message_start\ndata: {\"type\":\"message_start\"}\n\n")
	}, fails: api.RunModelFailed, says: "the model's answer broke off: the server ended the stream in the middle of it"},
	"nothing": {serve: func(s *faultyServer, w http.ResponseWriter, _ int) { s.say(w, "") },
		fails: api.RunModelFailed, says: "the model answered with nothing: neither text nor calls"},
	"confused": {serve: func(s *faultyServer, w http.ResponseWriter, n int) {
		if n == 1 {
			s.say(w, "", [2]string{"ecko", "{}"}, [2]string{"echo", `{"text":`},
				[2]string{"a b.c/é", "{}"}, [2]string{"echo", `{"text":"x"}`})
			return
		}
		s.say(w, "corrected")
	}, check: func(t *testing.T, s *faultyServer, r api.RunResult) {
		if r.Answer != "corrected" || r.Usage.Calls != 4 || r.Usage.Failed != 3 {
			t.Errorf("got %+v", r)
		}
		// The provider would refuse a conversation in another form.
		if text := fmt.Sprint(s.journal("confused")[1]); !strings.Contains(text,
			"a_b_c__") || !strings.Contains(text, "Did you mean: echo") {
			t.Errorf("it reads %s", text)
		}
	}},
	"many": {serve: func(s *faultyServer, w http.ResponseWriter, n int) {
		if n == 1 {
			s.say(w, "", slices.Repeat([][2]string{{"echo", `{"text":"x"}`}}, manyCalls)...)
			return
		}
		s.say(w, "enough")
	}, check: func(t *testing.T, _ *faultyServer, r api.RunResult) {
		if r.Answer != "enough" || r.Limit != "calls" || r.Usage.Calls < 5 ||
			r.Usage.Calls-r.Usage.Failed > 5 {
			t.Errorf("got %+v", r)
		}
	}},
	"huge": {serve: func(s *faultyServer, w http.ResponseWriter,
		_ int) {
		s.say(w, strings.Repeat("ten bytes ", 1<<20))
	},
		check: func(t *testing.T, _ *faultyServer, r api.RunResult) {
			if len(r.Answer) > 140<<10 || !strings.Contains(r.Answer, "of 10485760 bytes]") {
				t.Errorf("the answer has %d bytes", len(r.Answer))
			}
		}},
}

// For each protocol, a run continues or ends with the reason, whatever a model or its server does
// wrong. No request is repeated more often than the agent allows.
func TestModelFaults_AreSurvivedOrReported(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l, s := newLab(t), newFaultyServer(t, p)
			worker := l.program(testserver.Bin(t, "worker"), p.env(s.URL))
			runs := map[string]client.WorkflowRun{}
			for name := range modelFaults {
				runs[name] = l.runAgent(name, &api.Agent{Name: "bold", Tools: []string{"echo"},
					Limits: api.Limits{Turns: 4, Calls: 5},
					Model: api.Model{Provider: p.provider, Name: name, MaxAttempts: 2,
						Timeout: api.Duration(30 * time.Second)}})
			}
			for name, fault := range modelFaults {
				t.Run(name, func(t *testing.T) {
					l := *l
					l.t = t
					if fault.fails != "" {
						want := "the model step of turn 1 failed: " + strings.ReplaceAll(fault.says,
							"PROVIDER", strings.ToUpper(string(p.provider)))
						if app := l.failure(runs[name], fault.fails); app.Message() != want {
							t.Errorf("the run failed with %q, want %q", app.Message(), want)
						}
					} else {
						fault.check(t, s, l.result(runs[name]))
					}
					if n := len(s.journal(name)); n > 3 {
						t.Errorf("%d requests", n)
					}
				})
			}
			log, err := os.ReadFile(worker.Log)
			if err != nil || strings.Contains(string(log), secretKey) {
				t.Errorf("the worker's log contains the key, or %v", err)
			}
		})
	}
}

// A whole run on each protocol through the shipped worker: parallel calls of shipped tools with
// their results, a required tool choice that ends when it is met, and costs by the worker's table
// of models.
func TestModels_OfEachProtocolRunAgents(t *testing.T) {
	l := newLab(t)
	table := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(table,
		[]byte("as_of: 2026-06-21\nmodels: {local: {input: 10, cached_input: 5, output: 100}}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			l := *l
			l.t = t
			var requests []map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request) {
				var request map[string]any
				if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
					t.Error(err)
				}
				requests = append(requests, request)
				w.Header().Set("Content-Type", "application/json")
				if len(requests) == 1 {
					fmt.Fprint(w, p.answer("I compute.", [2]string{"calculator",
						`{"expression":"6 * 7"}`}, [2]string{"echo", `{"text":"loud"}`}))
					return
				}
				fmt.Fprint(w, p.answer("It is 42."))
			}))
			defer server.Close()
			worker := l.program(testserver.Bin(t, "worker"), p.env(server.URL), "--models-file",
				table)
			defer worker.Kill()
			a := &api.Agent{Name: "live", Instructions: "Be brief.", Tools: []string{"calculator",
				"echo"},
				Model: api.Model{Provider: p.provider, Name: "local",
					ToolChoice: api.ChoiceRequired}}
			run := l.run(api.AgentWorkflow, p.name, api.RunInput{Agent: a,
				Prompt: livePrompt})
			r := l.result(run)
			// 2 steps of 40 tokens at 10, 60 at 5 and 20 at 100 dollars per million.
			if want := (api.Usage{Turns: 2, Calls: 2, InputTokens: 200, OutputTokens: 40,
				CachedTokens: 120, Cost: 0.0054}); r.Answer != "It is 42." || r.Usage != want {
				t.Errorf("result %+v, want the usage %+v", r, want)
			}
			if len(requests) != 2 || requests[0]["tool_choice"] == nil ||
				requests[1]["tool_choice"] != nil {
				t.Fatalf("requests: %v", requests)
			}
			if text := fmt.Sprint(requests[1]); !strings.Contains(text, "42") ||
				!strings.Contains(text, "loud") {
				t.Errorf("the results came back as %s", text)
			}
			l.checkSecrecy(run, worker.Log)
		})
	}
}
