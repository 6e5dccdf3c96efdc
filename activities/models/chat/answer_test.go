package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/modelserver"
)

// The events of streamed answers.
const (
	endMark   = "[DONE]"
	usageLast = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"served-model","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`
)

// chunk returns an event with a delta of the first choice.
func chunk(delta, finish string) string {
	if finish != "null" {
		finish = fmt.Sprintf("%q", finish)
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"served-model","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`,
		delta, finish)
}

// chunks streams events as soon as they are written.
func chunks(list ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range list {
			fmt.Fprintf(w, "data: %s\n\n", e)
			w.(http.Flusher).Flush()
		}
	}
}

// listened answers a prompt with a listener, and returns what the listener received beside the
// answer.
func listened(t *testing.T, model Provider) (api.ModelResponse, []string, error) {
	t.Helper()
	var heard []string
	p := modelserver.NewPrompt(api.Message{Role: api.RoleUser, Text: "go"})
	p.Live = func(piece string) {
		if piece != "" {
			heard = append(heard, piece)
		}
	}
	r, err := model.Answer(t.Context(), p)
	return r, heard, err
}

// The server may divide the answer anywhere. The listener gets the text and no calls.
func TestOpenAIStreams_EqualWholeAnswers(t *testing.T) {
	usage := api.Usage{InputTokens: 11, OutputTokens: 7}
	soFar := func(n int) string {
		return fmt.Sprintf(`{"id":"","choices":[{"index":0,"delta":{"content":"%d"},"finish_reason":null}],"usage":{"prompt_tokens":11,"completion_tokens":%d,"total_tokens":%d}}`,
			n, n, n+11)
	}
	two := []api.Call{{Tool: "one", Arguments: `{"x":1}`},
		{Tool: "two", Arguments: `{"secret": "s3cret"}`}}
	cases := []struct {
		name   string
		events []string
		want   api.Message
		stop   api.Stop
		usage  api.Usage
		heard  string
	}{
		{"text", []string{chunk(`{"role":"assistant","content":""}`, "null"),
			chunk(`{"content":"do"}`, "null"), chunk(`{"content":"né"}`, "null"),
			chunk(`{}`, "stop"), usageLast, endMark},
			api.Message{Text: "doné"}, api.StopAnswer, usage, "do|né"},
		{"text and calls", []string{chunk(`{"content":"I look."}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"one","arguments":""}}]}`,
				"null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`, "null"),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"id":"b","function":{"name":"two","arguments":"{\"secret\": \"s3"}}]}`,
				"null"),
			chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"cret\"}"}}]}`, "null"),
			chunk(`{}`, "tool_calls"), usageLast, endMark},
			api.Message{Text: "I look.", Calls: two}, api.StopCalls, usage, "I look."},
		{"calls that all have the number 0",
			[]string{chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}}]}`,
				"null"),
				chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"two","arguments":"{\"secret\": \"s3cret\"}"}}]}`,
					"stop"), usageLast, endMark},
			api.Message{Calls: two}, api.StopCalls, usage, ""},
		{"calls from 1, their ids later",
			[]string{chunk(`{"tool_calls":[{"index":1,"function":{"name":"one","arguments":"{\"x\":1}"}}]}`,
				"null"),
				chunk(`{"tool_calls":[{"index":1,"id":"a","function":{}},{"index":4,"id":"b","function":{"name":"two","arguments":"{\"secret\": \"s3cret\"}"}}]}`,
					"tool_calls"), usageLast, endMark},
			api.Message{Calls: two}, api.StopCalls, usage, ""},
		{"refusal", []string{chunk(`{"refusal":"I can"}`, "null"), chunk(`{"refusal":"not."}`,
			"stop"), usageLast, endMark},
			api.Message{Text: "I cannot."}, api.StopRefusal, usage, "I can|not."},
		{"length", []string{chunk(`{"content":"and so"}`, "length"), usageLast, endMark},
			api.Message{Text: "and so"}, api.StopLength, usage, "and so"},
		{"content filter", []string{chunk(`{"content":""}`, "content_filter"), endMark},
			api.Message{Text: "the provider's content filter withheld the answer"}, api.StopRefusal,
			api.Usage{InputTokens: 1, OutputTokens: 8}, ""},
		{"a usage that grows, other ids, no reason", []string{soFar(1), soFar(2),
			`{"id":"other","choices":[{"index":1,"delta":{"content":"!"}}]}`, soFar(7), endMark},
			api.Message{Text: "127"}, api.StopAnswer, usage, "1|2|7"},
		{"no usage, no end mark", []string{chunk(`{"content":"one two three"}`, "stop")},
			api.Message{Text: "one two three"}, api.StopAnswer,
			api.Usage{InputTokens: 1, OutputTokens: 3}, "one two three"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, model := serveChat(t, chunks(c.events...))
			r, heard, err := listened(t, model)
			r.Message.Native = nil
			if err != nil || !reflect.DeepEqual(r.Message, c.want) || r.Stop != c.stop ||
				r.Usage != c.usage {
				t.Errorf("got %+v, %v", r, err)
			}
			if got := strings.Join(heard, "|"); got != c.heard {
				t.Errorf("heard %q, want %q", got, c.heard)
			}
			options, _ := server.Body["stream_options"].(map[string]any)
			if server.Body["stream"] != true || options["include_usage"] != true ||
				server.Requests.Load() != 1 {
				t.Errorf("asked %d times: %v", server.Requests.Load(), server.Body)
			}
		})
	}
}

// The listener gets each part before the answer is complete.
func TestOpenAIStreams_Immediately(t *testing.T) {
	heard := make(chan string)
	_, model := serveChat(t, func(w http.ResponseWriter, r *http.Request) {
		chunks(chunk(`{"content":"first"}`, "null"))(w, r)
		if piece := <-heard; piece != "first" {
			t.Errorf("heard %q", piece)
		}
		chunks(chunk(`{}`, "stop"), endMark)(w, r)
	})
	p := modelserver.NewPrompt()
	p.Live = func(piece string) {
		if piece != "" {
			heard <- piece
		}
	}
	if r, err := model.Answer(t.Context(), p); err != nil || r.Message.Text != "first" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A server may answer at once. If it refuses to stream, it is asked without, and from then on only
// so.
func TestOpenAIWithoutStream_IsSupported(t *testing.T) {
	whole := modelserver.Completion(`{"role":"assistant","content":"done"}`, "stop")
	server, model := serveChat(t, whole)
	if r, heard, err := listened(t, model); err != nil || r.Message.Text != "done" ||
		r.Usage.InputTokens != 11 || heard != nil || server.Requests.Load() != 1 {
		t.Errorf("got %+v, %q, %v after %d requests", r, heard, err, server.Requests.Load())
	}
	for _, code := range []int{400, 422, 501} {
		streams := 0
		var asked *modelserver.Server
		server, model := serveChat(t, func(w http.ResponseWriter, r *http.Request) {
			if asked.Body["stream"] == true {
				streams++
				modelserver.Status(code, `{"detail":"extra fields not permitted"}`)(w, r)
				return
			}
			whole(w, r)
		})
		asked = server
		for range 2 {
			if r, _, err := listened(t, model); err != nil || r.Message.Text != "done" {
				t.Errorf("%d: got %+v, %v", code, r, err)
			}
		}
		if streams != 1 || server.Requests.Load() != 3 {
			t.Errorf("%d: %d requests, %d of them for a stream; want 3 and 1", code,
				server.Requests.Load(), streams)
		}
	}
}

// A stream that breaks or reports a failure may be retried. A permanent failure is requested once.
func TestOpenAIStreamFails_Transiently(t *testing.T) {
	const brokeOff = "the model's answer broke off: the server ended the stream in the middle of it"
	half := chunk(`{"content":"half"}`, "null")
	cut := func(w http.ResponseWriter, r *http.Request) {
		chunks(half)(w, r)
		panic(http.ErrAbortHandler)
	}
	cases := []struct {
		name      string
		handle    http.HandlerFunc
		permanent bool
		requests  int64
		want      string
	}{
		{"ended in the middle", chunks(half), false, 1, brokeOff},
		{"nothing at all", chunks(), false, 1, brokeOff},
		{"connection cut", cut, false, 1, "unexpected EOF"},
		{"only the end", chunks(endMark), false, 1, "the model's answer has no choices"},
		{"an error in the middle", chunks(half, `{"error":{"message":"overloaded `+modelserver.Key+
			`","type":"server_error","code":null}}`), false, 1,
			"the model's server answered 502 Bad Gateway: overloaded ***"},
		{"a refusal of the provider behind a proxy",
			chunks(`{"error":{"message":"Provider returned error","code":401,` +
				`"metadata":{"raw":"bad credentials"}}}`), true, 1,
			"the model's server answered 401 Unauthorized: Provider returned error: bad credentials; " +
				"check OPENAI_API_KEY in the worker's environment"},
		{"the same as a whole answer", modelserver.Status(200,
			`{"error":{"message":"Provider returned error","code":401}}`, "Content-Type",
			"application/json"), true, 1,
			"the model's server answered 401 Unauthorized: Provider returned error; check " +
				"OPENAI_API_KEY in the worker's environment"},
		{"a limit of the provider behind a proxy", modelserver.Status(200,
			`{"error":{"message":"slow down","code":"429"},"choices":[]}`, "Content-Type",
			"application/json"), false, 1, "the model's server answered 429 Too Many Requests: slow down"},
		{"an error in words", modelserver.Status(200, `{"error":"no such model"}`, "Content-Type",
			"application/json"), false, 1, "the model's server answered 502 Bad Gateway: no such model"},
		{"a refusal after a piece", chunks(half, `{"error":{"message":"bad request","code":400}}`),
			true, 1, "the model's server answered 400 Bad Request: bad request"},
		{"an answer that ended in an error", modelserver.Status(200, `{"choices":[{"finish_reason":`+
			`"error","message":{"content":"x"},"error":{"message":"down","code":1113,`+
			`"metadata":{"raw":{"a":1}}}}]}`, "Content-Type", "application/json"), false, 1,
			`the model's server answered 502 Bad Gateway: down: {"a":1}`},
		{"overflow in the middle",
			chunks(`{"error":{"message":"too long","code":"context_length_exceeded"}}`), true, 1,
			"the conversation is longer than the model's window: too long"},
		{"not JSON", chunks("{"), false, 1, "the model's server sent a piece of an answer that is no JSON: unexpected end of JSON input"},
		{"a page", modelserver.Status(200, "<html>", "Content-Type", "text/html"), false, 1,
			"invalid character '<' looking for beginning of value"},
		{"broken JSON", modelserver.Status(200, `{"choices":[`, "Content-Type", "application/json"),
			false, 1, "unexpected end of JSON input"},
		{"a call, and no end",
			chunks(chunk(`{"tool_calls":[{"index":-5,"id":"a","function":{"name":"one"}}]}`,
				"null")), false, 1, brokeOff},
		{"429", modelserver.Status(429, `{"error":{"message":"slow down"}}`), false, 1,
			"the model's server answered 429 Too Many Requests: slow down"},
		{"overflow", modelserver.Status(400,
			`{"error":{"message":"too long","code":"context_length_exceeded"}}`), true, 1,
			"the conversation is longer than the model's window: too long"},
		{"wrong, streamed or not", modelserver.Status(400, `{"error":{"message":"no such tool"}}`),
			true, 2, "the model's server answered 400 Bad Request: no such tool"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, model := serveChat(t, c.handle)
			_, _, err := listened(t, model)
			e, ok := errors.AsType[*models.Error](err)
			if !ok || e.Permanent != c.permanent || e.Message != c.want {
				t.Errorf("got %v", err)
			}
			if n := server.Requests.Load(); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

func TestOpenAIStreamStalls_UntilTheTimeout(t *testing.T) {
	released := make(chan struct{})
	_, model := serveChat(t, func(w http.ResponseWriter, r *http.Request) {
		chunks(chunk(`{"content":"half"}`, "null"))(w, r)
		<-released
	})
	defer close(released)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p := modelserver.NewPrompt()
	p.Live = func(string) {}
	_, err := model.Answer(ctx, p)
	if e, ok := errors.AsType[*models.Error](err); !ok || e.Permanent || e.Message != "context deadline exceeded" {
		t.Errorf("got %v", err)
	}
}
