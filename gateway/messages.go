package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/wire"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/value/display"
)

// allowedMethods are the methods of HTTP that the gateway serves.
const allowedMethods = "GET, POST, DELETE"

// requestsOf are the requests that clients of revisions with sessions may send.
var requestsOf = []string{"initialize", "ping", "logging/setLevel", "tools/list", "tools/call",
	"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
	"resources/subscribe", "resources/unsubscribe", "completion/complete"}

// accept reports whether an HTTP request may be served, and otherwise answers it: by its method,
// its revision of the protocol, and its message, which it leaves in h.
func (e *endpoint) accept(w http.ResponseWriter, r *http.Request, h *httpRequest) bool {
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodDelete:
	default:
		w.Header().Set("Allow", allowedMethods)
		http.Error(w, "the method is none of "+allowedMethods, http.StatusMethodNotAllowed)
		return false
	}
	if r.Method == http.MethodPost && !readMessage(w, r, h) {
		return false
	}
	version := r.Header.Get(versionHeader)
	if version != "" && !slices.Contains(mcp.SupportedProtocolVersions(), version) {
		wire.Refuse(w, http.StatusBadRequest, h.message.ID, unsupportedVersion(version))
		return false
	}
	if fault := taskMismatch(r.Header, h.message); fault != nil {
		wire.Refuse(w, http.StatusBadRequest, h.message.ID, fault)
		return false
	}
	return true
}

// taskMismatch returns why a message about a task does not match its headers; nil if it does. The
// SDK checks the headers of its own methods.
func taskMismatch(header http.Header, m wire.Message) *jsonrpc.Error {
	if !slices.Contains(taskMethods, m.Method) {
		return nil
	}
	var p mcpclient.TaskParams
	if name := header.Get("Mcp-Name"); name == "" || json.Unmarshal(m.Params, &p) == nil &&
		name == p.TaskID {
		return nil
	}
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch,
		Message: "the header Mcp-Name is not the task of the message"}
}

// keptMessages are those whose parameters a session keeps, besides initialize, and maxKept is the
// size of these in bytes.
var keptMessages = []string{"notifications/initialized", "logging/setLevel", "resources/subscribe"}

const maxKept = maxSessionID

// acceptOlder is accept for the message of a session.
func acceptOlder(w http.ResponseWriter, m wire.Message) bool {
	known := slices.Contains(requestsOf, m.Method)
	ignored := !slices.Contains(slices.Concat(requestsOf, notificationsOf), m.Method)
	switch {
	case m.IsCall() && !known:
		wire.Refuse(w, http.StatusOK, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
			Message: fmt.Sprintf("there is no method %q", display.Shorten(m.Method, 100))})
	case isTooLargeToKeep(m):
		wire.Refuse(w, http.StatusBadRequest, m.ID, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(
				"the params of %s have more than %d bytes", m.Method, maxKept)})
	case m.Method == "tools/call" && m.Params == nil && m.IsCall():
		wire.Refuse(w, http.StatusOK, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "the params are missing"})
	case m.ID == nil && ignored:
		w.WriteHeader(http.StatusAccepted) // notifications that are not known are ignored
	default:
		return true
	}
	return false
}

func isTooLargeToKeep(m wire.Message) bool {
	return len(m.Params) > maxKept && slices.Contains(keptMessages, m.Method)
}

// notificationsOf are the notifications that clients of revisions with sessions may send.
var notificationsOf = []string{"notifications/initialized", "notifications/cancelled",
	"notifications/progress", "notifications/roots/list_changed"}

// readMessage reads the message of a request and reports whether it is one.
func readMessage(w http.ResponseWriter, r *http.Request, h *httpRequest) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcp.DefaultMaxRequestBodyBytes))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return false
	}
	if err != nil {
		http.Error(w, "the request could not be read", http.StatusBadRequest)
		return false
	}
	m, fault := wire.Check(body)
	if fault != nil {
		wire.Refuse(w, http.StatusBadRequest, m.ID, fault)
		return false
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.Body)), int64(len(m.Body))
	h.message = m
	return true
}

func unsupportedVersion(version string) *jsonrpc.Error {
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{
		Supported: mcp.SupportedProtocolVersions(), Requested: display.Shorten(version, 100)})
	if err != nil { // texts can be encoded
		panic(err)
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion,
		Message: "the gateway does not support this version of the protocol", Data: data}
}

// guard is the middleware that answers a request that panics with an error. A panic would end the
// process, and with it the requests of others.
func (g *Gateway) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer panics.Gateway.Contain(ctx, g.config.Logger, func(error) {
			res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
				Message: "the request failed inside the gateway"}
		}, "method", method)
		return next(ctx, method, req)
	}
}
