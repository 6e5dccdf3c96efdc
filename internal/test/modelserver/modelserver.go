package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
)

const Key = "sk-test-3f9a8b7c6d"

// Server is a fake model server: it records the last request and answers with handle.
type Server struct {
	*httptest.Server
	Requests atomic.Int64
	Header   http.Header
	Path     string
	Body     map[string]any
}

func New(t testing.TB, handle http.HandlerFunc) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Requests.Add(1)
		s.Header, s.Path, s.Body = r.Header, r.URL.Path, nil
		if err := json.NewDecoder(r.Body).Decode(&s.Body); err != nil {
			t.Error(err)
		}
		handle(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, s.Body)))
	}))
	t.Cleanup(s.Close)
	return s
}

type bodyKey struct{}

// Strict refuses requests with the status 422 and what check says of their body, and answers others
// by a completion.
func Strict(check func(map[string]any) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := r.Context().Value(bodyKey{}).(map[string]any)
		if refusal := check(body); refusal != "" {
			Status(http.StatusUnprocessableEntity, refusal)(w, r)
			return
		}
		Completion(`{"role":"assistant","content":"ok"}`, "stop")(w, r)
	}
}

// Completion answers with one choice.
func Completion(message, finish string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"served-model","choices":[{"index":0,"message":%s,"finish_reason":%q}],
			"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, message, finish)
	}
}

func Status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func NewPrompt(messages ...api.Message) models.Prompt {
	return models.Prompt{Agent: &api.Agent{Model: api.Model{Name: "gpt-x"}}, Turn: 1,
		Messages: messages}
}

func Decode(t testing.TB, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// Message answers with content, a JSON list.
func Message(content, stop string) http.HandlerFunc {
	return JSONAnswer(fmt.Sprintf(`{"id":"m1","type":"message","role":"assistant","model":"served-model","content":%s,"stop_reason":%q,"stop_sequence":null,
		"usage":{"input_tokens":11,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":7}}`, content, stop))
}

func JSONAnswer(body string) http.HandlerFunc {
	return Status(http.StatusOK, body, "Content-Type", "application/json")
}

// CheckFailure checks what every failure of both protocols has in common, and returns it.
func CheckFailure(t *testing.T, server *Server, err error, want ...string) *models.Error {
	t.Helper()
	e, ok := errors.AsType[*models.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if !expect.Contains(e.Message, want...) || strings.Contains(e.Message, Key[:10]) ||
		len(e.Message) > 1500 {
		t.Errorf("the message is %q", e.Message)
	}
	if server.Requests.Load() != 1 {
		t.Errorf("%d requests; want one, because Temporal retries", server.Requests.Load())
	}
	return e
}
