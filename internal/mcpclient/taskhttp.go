package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Headers of newer versions of the protocol, which repeat a part of the request.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// nameTask sets the header by which servers route a request about a task, which the SDK does not
// know. Older versions of the protocol do not have it.
func nameTask(req *http.Request, x *exchange) {
	if x.taskID != "" && strings.HasPrefix(req.Header.Get(methodHeader), "tasks/") {
		req.Header.Set(nameHeader, headerValue(x.taskID))
	}
}

// headerValue encodes a text as the protocol does where it cannot be a header.
func headerValue(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?")
	for _, r := range text {
		plain = plain && r >= ' ' && r <= '~'
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// resumedSession returns the task whose session a connection continues; nil if there is none.
func resumedSession(task *api.RemoteTask) *api.RemoteTask {
	if task == nil || task.Session == "" {
		return nil
	}
	return task
}

// localResponse returns the response to a request that a connection that continues a session must
// not send: the SDK would agree on a new session, and end the session when it closes the
// connection although others may still use it. It returns nil for other requests.
func (w *wire) localResponse(req *http.Request) *http.Response {
	switch {
	case w.resumed == nil:
		return nil
	case req.Method == http.MethodDelete:
		return response(req, http.StatusNoContent, nil)
	case req.Method != http.MethodPost:
		return nil
	}
	m := readMessage(req)
	switch m.method {
	case "server/discover":
		answer := asAnswer(m, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
			Message: "the session exists"})
		return response(req, http.StatusOK, answer)
	case "notifications/initialized":
		return response(req, http.StatusAccepted, nil)
	case "initialize":
		return w.initialized(req, m.id)
	}
	return nil
}

// initialized returns the response to the initialization of the session that is continued.
func (w *wire) initialized(req *http.Request, id json.RawMessage) *http.Response {
	answer, err := jsonvalue.Encode(map[string]any{"jsonrpc": "2.0", "id": id,
		"result": map[string]any{"protocolVersion": w.resumed.Protocol,
			"capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo":   map[string]any{"name": "resumed", "version": "1"}}})
	if err != nil {
		return nil
	}
	resp := response(req, http.StatusOK, answer)
	resp.Header.Set(sessionHeader, w.resumed.Session)
	return resp
}

func response(req *http.Request, status int, body []byte) *http.Response {
	return &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
}
