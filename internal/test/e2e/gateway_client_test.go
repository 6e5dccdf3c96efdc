package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// newestRevision is the revision without sessions, and olderRevision one with them.
const (
	newestRevision = "2026-07-28"
	olderRevision  = "2025-11-25"
)

// idempotencyKey is the key of _meta with which a client makes a repetition safe.
const idempotencyKey = "io.github.switchyard/idempotency-key"

// followsTasks are the capabilities of a client that follows tasks, asksUser those of one that can
// ask its user.
const (
	followsTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	asksUser     = `{"elicitation":{"form":{}}}`
)

// lastRequest is the id of the last request: no two requests of a session have the same one.
var lastRequest atomic.Int64

// mcpClient is a client that sends messages as they are. Clients of the newest revision have a
// program, those of older ones a session.
type mcpClient struct {
	t    testing.TB
	http *http.Client
	// url is the address of the tools or of the operator tools, and key the API key.
	url, key string
	// program is the name of the client's program, capabilities what it can do.
	program, capabilities string
	// session is the Mcp-Session-Id; empty in the newest revision.
	session string
}

// mcpAnswer is the answer to a message.
type mcpAnswer struct {
	status int
	header http.Header
	// body is the answer as it came; heard are the notifications before it.
	body   string
	heard  []string
	Result *mcpResult `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// mcpResult is the result of tools/call and tasks/get.
type mcpResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError bool `json:"isError"`
	Meta    struct {
		Call struct {
			ID string `json:"call_id"`
			// State is empty for a call that has ended.
			State string `json:"state"`
		} `json:"io.github.switchyard/call"`
		Error struct {
			Type      string `json:"type"`
			Retryable bool   `json:"retryable"`
		} `json:"io.github.switchyard/error"`
	} `json:"_meta"`
	RequestState string     `json:"requestState"`
	TaskID       string     `json:"taskId"`
	Status       string     `json:"status"`
	Result       *mcpResult `json:"result"`
}

// text returns the text of a result; empty for an answer without one.
func (a mcpAnswer) text() string {
	if a.Result == nil || len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// pending returns the call_id of a call that has not ended; empty for another answer.
func (a mcpAnswer) pending() string {
	if a.Result == nil || a.Result.Meta.Call.State == "" {
		return ""
	}
	return a.Result.Meta.Call.ID
}

// failed returns the type of the error of a call that has failed.
func (a mcpAnswer) failed() string {
	if a.Result == nil || !a.Result.IsError {
		return ""
	}
	return a.Result.Meta.Error.Type
}

// refused reports whether the answer is an error of HTTP or of JSON-RPC that blames the client.
func (a mcpAnswer) refused() bool {
	return a.status >= 400 && a.status < 500 || a.status == http.StatusOK && a.Error != nil
}

// post sends a message as it is. headers are pairs; an empty value removes a header.
func (c *mcpClient) post(ctx context.Context, body []byte, headers ...string) (mcpAnswer, error) {
	var a mcpAnswer
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", olderRevision)
	}
	for i := 0; i < len(headers); i += 2 {
		switch headers[i] {
		case "Host":
			req.Host = headers[i+1]
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	return c.send(req)
}

// send sends a request and reads its answer, JSON or a stream of events.
func (c *mcpClient) send(req *http.Request) (mcpAnswer, error) {
	var a mcpAnswer
	res, err := c.http.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.status, a.header, a.body = res.StatusCode, res.Header, string(data)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		_ = json.Unmarshal(data, &a) // errors of HTTP are plain text
		return a, nil
	}
	last := ""
	for line := range strings.Lines(a.body) {
		if event, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(event) != "" {
			a.heard, last = append(a.heard, event), event
		}
	}
	if last == "" || json.Unmarshal([]byte(last), &a) != nil || a.Result == nil && a.Error == nil {
		return a, io.ErrUnexpectedEOF // the stream has ended before the answer
	}
	a.heard = a.heard[:len(a.heard)-1]
	return a, nil
}

// request sends a request in the client's revision.
func (c *mcpClient) request(ctx context.Context, method string, params,
	meta map[string]any) (mcpAnswer, error) {
	params, meta = maps.Clone(params), maps.Clone(meta)
	if params == nil {
		params = map[string]any{}
	}
	if meta == nil {
		meta = map[string]any{}
	}
	var headers []string
	if c.session == "" {
		const prefix = "io.modelcontextprotocol/"
		meta[prefix+"protocolVersion"] = newestRevision
		meta[prefix+"clientInfo"] = map[string]any{"name": c.program, "version": "1"}
		meta[prefix+"clientCapabilities"] = json.RawMessage(cmp.Or(c.capabilities, "{}"))
		headers = []string{"Mcp-Protocol-Version", newestRevision, "Mcp-Method", method}
		if name, ok := params["name"].(string); ok {
			headers = append(headers, "Mcp-Name", name)
		}
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": lastRequest.Add(1),
		"method": method, "params": params})
	if err != nil {
		return mcpAnswer{}, err
	}
	return c.post(ctx, body, headers...)
}

// begin begins a session of an older revision.
func (c *mcpClient) begin(ctx context.Context) error {
	c.session = ""
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize",
		"params": map[string]any{"protocolVersion": olderRevision,
			"capabilities": json.RawMessage(cmp.Or(c.capabilities, "{}")),
			"clientInfo":   map[string]any{"name": c.program, "version": "1"}}})
	if err != nil {
		return err
	}
	a, err := c.post(ctx, body)
	if err != nil {
		return err
	}
	c.session = a.header.Get("Mcp-Session-Id")
	_, err = c.post(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return err
}

// call calls a tool.
func (c *mcpClient) call(ctx context.Context, tool string, arguments,
	meta map[string]any) (mcpAnswer, error) {
	return c.request(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments}, meta)
}

// result calls get_result.
func (c *mcpClient) result(ctx context.Context, callID string) (mcpAnswer, error) {
	return c.call(ctx, "get_result", map[string]any{"call_id": callID}, nil)
}

// must fails the test if a request got no answer.
func must(t testing.TB) func(mcpAnswer, error) mcpAnswer {
	return func(a mcpAnswer, err error) mcpAnswer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}
