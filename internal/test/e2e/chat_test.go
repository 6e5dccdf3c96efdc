package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

const secretKey = "sk-e2e-0123456789-secret"

// chatServer serves OpenAI's chat completions: it answers the nth request with the nth reply and
// keeps a journal.
type chatServer struct {
	*httptest.Server
	mu       sync.Mutex
	replies  []chatReply
	requests []chatRequest
}

type chatReply struct {
	status int
	header map[string]string
	body   string
	// before is called before the reply is sent.
	before func()
}

type chatRequest struct {
	At            time.Time
	Authorization string
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Tools         []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (m chatMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) != nil {
		return string(m.Content)
	}
	return s
}

func newChatServer(t *testing.T, replies ...chatReply) *chatServer {
	s := &chatServer{replies: replies}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *chatServer) answer(w http.ResponseWriter, r *http.Request) {
	request := chatRequest{At: time.Now(), Authorization: r.Header.Get("Authorization")}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil ||
		r.URL.Path != "/v1/chat/completions" {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"not a chat completion: %v"}}`, err),
			http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	reply := chatReply{status: http.StatusTeapot,
		body: `{"error":{"message":"the test has no reply left"}}`}
	if len(s.replies) > 0 {
		reply, s.replies = s.replies[0], s.replies[1:]
	}
	s.mu.Unlock()
	if reply.before != nil {
		reply.before()
	}
	for key, value := range reply.header {
		w.Header().Set(key, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reply.status)
	fmt.Fprint(w, reply.body)
}

func (s *chatServer) journal() []chatRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *chatServer) env() []string {
	return []string{"OPENAI_BASE_URL=" + s.URL + "/v1", "OPENAI_API_KEY=" + secretKey}
}

// says returns a reply with a message, given as JSON without its role.
func says(message, finish string) chatReply {
	return chatReply{status: http.StatusOK, body: fmt.Sprintf(`{"id":"x","object":"chat.completion","created":1,"model":"local-1",
		"choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant",%s}}],
		"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`, finish, message)}
}

func liveAgent() *api.Agent {
	return &api.Agent{Name: "live", Instructions: "Be brief.", Tools: []string{"append", "store"},
		Model: api.Model{Provider: api.ProviderOpenAI, Name: "local-1", Price: api.Price{Input: 1,
			Output: 2}}}
}

const livePrompt = "A prompt that no model step's input may hold."

func (l *lab) runLive(id string, a *api.Agent) client.WorkflowRun {
	l.t.Helper()
	return l.run(api.AgentWorkflow, id, api.RunInput{Agent: a, Prompt: livePrompt})
}

// On an OpenAI-compatible endpoint, there is one owner of retries, which follows Retry-After. Tools
// are described by their schemas. Parallel, unknown and malformed calls are answered in order under
// their ids. The key is nowhere, and the inputs of model steps contain no conversation.
func TestLiveModel_RunsAnAgent(t *testing.T) {
	l := newLab(t)
	server := newChatServer(t,
		chatReply{status: http.StatusTooManyRequests, header: map[string]string{"Retry-After": "1"},
			body: `{"error":{"message":"slow down"}}`},
		chatReply{status: http.StatusInternalServerError,
			body: `{"error":{"message":"internal error of ` + secretKey + `"}}`},
		says(`"content":"Let me see.","tool_calls":[
			{"id":"p1","type":"function","function":{"name":"append","arguments":"{\"text\":\"a\"}"}},
			{"id":"p2","type":"function","function":{"name":"appendd","arguments":"{}"}},
			{"id":"p3","type":"function","function":{"name":"append","arguments":"{\"text\":"}},
			{"id":"p4","type":"function","function":{"name":"append","arguments":"{\"text\":\"b\"}"}}]`, "tool_calls"),
		says(`"content":"All done."`, "stop"),
	)
	worker := l.workerIn(server.env(), "--tools", "testdata/tools", "--log-level", "debug")
	run := l.runLive("live", liveAgent())
	r := l.result(run)
	if want := (api.Usage{Turns: 2, Calls: 4, Failed: 2, InputTokens: 200, OutputTokens: 40,
		Cost: 280e-6}); r.Answer != "All done." || r.Usage != want {
		t.Errorf("result: %+v", r)
	}
	requests := server.journal()
	if len(requests) != 4 {
		t.Fatalf("%d requests, want 4: one for each reply", len(requests))
	}
	if waited := requests[1].At.Sub(requests[0].At); waited < time.Second {
		t.Errorf("after 429 with Retry-After: 1 the next request came after %s", waited)
	}
	for i, request := range requests {
		checkRequest(t, i, request)
	}
	if got := fmt.Sprint(l.stepAttempts(run)); got != "[3 1]" {
		t.Errorf("the model steps had %s attempts, want [3 1]: the client itself must not try again",
			got)
	}
	checkToolMessages(t, requests[3].Messages)
	statuses := slices.Sorted(slices.Values(l.statuses(run)))
	expect(t, "records", statuses, []string{"1.1 append completed",
		"1.2 appendd refused tool_not_found", "1.3 append refused validation_error",
		"1.4 append completed"})
	if n := len(l.entries()); n != 2 {
		t.Errorf("%d calls ran, want 2", n)
	}
	l.checkSecrecy(run, worker.Log)
}

func checkRequest(t *testing.T, i int, r chatRequest) {
	t.Helper()
	if r.Authorization != "Bearer "+secretKey || r.Model != "local-1" {
		t.Errorf("request %d: model %q, authorization %q", i, r.Model, r.Authorization)
	}
	if len(r.Tools) != 2 || r.Tools[0].Function.Name != "append" ||
		r.Tools[1].Function.Name != "store" || r.Tools[0].Type != "function" {
		t.Fatalf("request %d has the tools %+v", i, r.Tools)
	}
	var schema struct {
		Type       string                       `json:"type"`
		Properties map[string]map[string]string `json:"properties"`
		Required   []string                     `json:"required"`
	}
	f := r.Tools[0].Function
	if err := json.Unmarshal(f.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Type != "object" || schema.Properties["text"]["type"] != "string" ||
		schema.Properties["text"]["description"] != "What to write." ||
		len(schema.Required) != 1 || !strings.Contains(f.Description, "Writes a line") {
		t.Errorf("request %d shows append as %s", i, f.Parameters)
	}
	if m := r.Messages; m[0].Role != "system" || m[0].text() != "Be brief." ||
		m[1].Role != "user" || m[1].text() != livePrompt {
		t.Errorf("request %d begins with %+v", i, m[:2])
	}
}

func checkToolMessages(t *testing.T, messages []chatMessage) {
	t.Helper()
	if len(messages) != 7 {
		t.Fatalf("the last request has %d messages, want 7", len(messages))
	}
	assistant := messages[2]
	if assistant.Role != "assistant" || assistant.text() != "Let me see." ||
		len(assistant.ToolCalls) != 4 {
		t.Fatalf("the assistant's message came back as %+v", assistant)
	}
	for i, want := range []string{`{"text":"a"}`, `Did you mean: append`, "ERROR validation_error",
		`{"text":"b"}`} {
		m := messages[3+i]
		asked := assistant.ToolCalls[i]
		if m.Role != "tool" || m.ToolCallID != asked.ID || !strings.Contains(m.text(), want) {
			t.Errorf("call %d (%s) is answered by %s for %s: %q, want %q", i, asked.ID, m.Role,
				m.ToolCallID, m.text(), want)
		}
		if !json.Valid([]byte(asked.Function.Arguments)) {
			t.Errorf("call %d goes back to the provider with arguments that are no JSON: %q", i,
				asked.Function.Arguments)
		}
	}
}

// checkSecrecy checks that the key is neither in the run's history nor in the worker's log, and
// that the inputs of model steps do not contain the conversation.
func (l *lab) checkSecrecy(run client.WorkflowRun, logFile string) {
	l.t.Helper()
	for _, h := range l.histories(run.GetID(), run.GetRunID()) {
		data, err := proto.Marshal(h)
		if err != nil {
			l.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(secretKey)) {
			l.t.Error("the history contains the key")
		}
	}
	steps := l.stepInputs(run)
	if len(steps) == 0 {
		l.t.Error("the history has no model steps")
	}
	for _, input := range steps {
		if strings.Contains(input, livePrompt[:20]) || strings.Contains(input, "Let me see") {
			l.t.Errorf("a model step's input holds the conversation: %s", input)
		}
	}
	log, err := os.ReadFile(logFile)
	if err != nil {
		l.t.Fatal(err)
	}
	if len(log) == 0 || bytes.Contains(log, []byte(secretKey)) {
		l.t.Errorf("the worker's log has %d bytes and the key in it: %v", len(log),
			bytes.Contains(log, []byte(secretKey)))
	}
}

// stepInputs returns the inputs of a run's model steps, in order, over continue-as-new.
func (l *lab) stepInputs(run client.WorkflowRun) []string {
	l.t.Helper()
	var inputs []string
	for _, h := range l.histories(run.GetID(), run.GetRunID()) {
		for _, e := range h.GetEvents() {
			a := e.GetActivityTaskScheduledEventAttributes()
			if a.GetActivityType().GetName() == api.ModelActivity {
				inputs = append(inputs, string(a.GetInput().GetPayloads()[0].GetData()))
			}
		}
	}
	return inputs
}

// stepAttempts returns the number of attempts of each model step in a run's history.
func (l *lab) stepAttempts(run client.WorkflowRun) []int {
	l.t.Helper()
	var attempts []int
	for e, err := range audit.Events(l.ctx, l.Client, run.GetID(), run.GetRunID()) {
		if err != nil {
			l.t.Fatal(err)
		}
		if e.Type == api.EventStepCompleted {
			attempts = append(attempts, e.Timing.Attempts)
		}
	}
	return attempts
}

// A refusal of the model fails the run with its text. A permanent error, such as a wrong key, is
// not retried.
func TestLiveModel_FailsForGood(t *testing.T) {
	l := newLab(t)
	server := newChatServer(t,
		says(`"content":null,"refusal":"I will not do that."`, "stop"),
		chatReply{status: http.StatusUnauthorized,
			body: `{"error":{"message":"wrong key","code":"invalid_api_key"}}`},
	)
	worker := l.workerIn(server.env(), "--tools", "testdata/tools")
	refused := l.runLive("refused", liveAgent())
	if app := l.failure(refused, api.RunRefused); app.Message() != "the model declined: I will not do that." {
		t.Errorf("message: %s", app.Message())
	}
	denied := l.runLive("denied", liveAgent())
	if app := l.failure(denied, api.RunModelFailed); app.Message() != "the model step of turn 1 failed: the model's server answered 401 Unauthorized: wrong key; check OPENAI_API_KEY in the worker's environment" {
		t.Errorf("message: %s", app.Message())
	}
	if n := len(server.journal()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	l.checkSecrecy(denied, worker.Log)
}

// A worker that takes over a run queries its conversation and sends all of it to the model.
func TestConversation_MovesBetweenWorkers(t *testing.T) {
	l := newLab(t)
	calling := func(n int) chatReply {
		return says(fmt.Sprintf(
			`"content":"turn %d","tool_calls":[{"id":"p","type":"function","function":{"name":"append","arguments":"{\"text\":\"%d\"}"}}]`,
			n, n), "tool_calls")
	}
	reached, release := make(chan struct{}), make(chan struct{})
	third := calling(3)
	third.before = func() { close(reached); <-release }
	server := newChatServer(t, calling(1), calling(2), third, calling(3), says(`"content":"done"`,
		"stop"))
	a := liveAgent()
	// The rest of the killed worker's step times out soon.
	a.Model.Timeout = api.Duration(time.Second)
	first := l.workerIn(server.env(), "--tools", "testdata/tools")
	run := l.runLive("run", a)
	<-reached
	first.Kill()
	close(release)
	l.workerIn(server.env(), "--tools", "testdata/tools")
	if r := l.result(run); r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	requests := server.journal()
	if len(requests) != 5 {
		t.Fatalf("%d requests, want 5", len(requests))
	}
	for i, want := range []string{
		"system user", "system user assistant tool", "system user assistant tool assistant tool",
		"system user assistant tool assistant tool",
		"system user assistant tool assistant tool assistant tool",
	} {
		var roles []string
		for _, m := range requests[i].Messages {
			roles = append(roles, m.Role)
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("request %d has the messages %s, want %s", i, got, want)
		}
	}
	last := requests[4].Messages
	for turn := 1; turn <= 3; turn++ {
		asked, answered := last[2*turn], last[2*turn+1]
		if asked.text() != fmt.Sprint("turn ", turn) || answered.ToolCallID != asked.ToolCalls[0].ID || answered.text() != fmt.Sprintf(`{"text":"%d"}`, turn) {
			t.Errorf("turn %d went to the model as %+v and %+v", turn, asked, answered)
		}
	}
	if got := fmt.Sprint(l.executions()); got != "map[1.1 append:1 2.1 append:1 3.1 append:1]" {
		t.Errorf("executions: %s", got)
	}
}
