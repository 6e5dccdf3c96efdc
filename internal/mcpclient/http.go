package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

const (
	eventStream   = "text/event-stream"
	jsonType      = "application/json"
	sessionHeader = "Mcp-Session-Id"
	// maxErrorBody bounds how much of an HTTP error response is read.
	maxErrorBody = 64 << 10
	// maxReconnects is how often in a row resuming a stream may fail before the connection counts
	// as broken.
	maxReconnects = 2
)

// wire is the round tripper of one HTTP session. It enforces bounds on responses, records the state
// of each request, and turns whatever is no answer in JSON-RPC into a JSON-RPC error, so that one
// rejected request does not end the session.
type wire struct {
	base http.RoundTripper
	// get makes the requests for streams. It follows redirects, so that their errors are counted.
	get   func(*http.Request) (*http.Response, error)
	limit int
	log   *slog.Logger
	// hide removes the secret from what the server sends.
	hide func([]byte) []byte
	// broken is called when the server is known to be down. ended is closed when the connection has
	// ended.
	broken func(error)
	ended  <-chan struct{}
	// resumed is the session that this one continues; nil for a new one.
	resumed *api.RemoteTask
	// failed counts the attempts in a row to resume a stream that got no response.
	failed atomic.Int32
	// streams is set once the server has sent a stream of its own.
	streams atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if resp := w.localResponse(req); resp != nil {
		return resp, nil
	}
	switch {
	case req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") == "":
		return w.ownStream(req), nil
	case req.Method != http.MethodPost:
		return w.resume(req)
	}
	m := readMessage(req)
	x := findExchange(req.Context())
	if m.method == "" || m.id == nil {
		return w.notify(req, m, x)
	}
	nameTask(req, x)
	if x.traceparent != "" {
		req.Header.Set("Traceparent", x.traceparent)
	}
	return w.request(req, m, x)
}

// request sends a request and bounds its response, or makes a refusal an error of the protocol.
func (w *wire) request(req *http.Request, m message, x *exchange) (*http.Response, error) {
	x.begin(m.method)
	resp, err := w.send(req, x)
	if err != nil || redirects(resp) {
		return resp, err
	}
	if refusal(resp.StatusCode) {
		w.asRPCError(m, resp, x)
	} else {
		w.bound(m, resp, x)
	}
	return resp, nil
}

// send sends a message and notes the response.
func (w *wire) send(req *http.Request, x *exchange) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaders: x.markSent}
	resp, err := w.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return nil, err
	}
	w.failed.Store(0)
	x.note(func(s *seen) {
		s.status, s.header, s.hadSession = resp.StatusCode, resp.Header,
			req.Header.Get(sessionHeader) != ""
	})
	return resp, nil
}

// redirects reports whether the HTTP client sends the request again to another place. It does not
// after other redirects, which turn a POST into a GET.
func redirects(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTemporaryRedirect ||
		resp.StatusCode == http.StatusPermanentRedirect
}

// notifyTime bounds a message that gets no answer. The SDK waits for such messages when it closes a
// connection.
const notifyTime = 10 * time.Second

// notify sends a message that gets no answer. If the server refuses it, this ends nothing: the SDK
// would end the session with all calls. Only the handshake needs its notification.
func (w *wire) notify(req *http.Request, m message, x *exchange) (*http.Response, error) {
	handshake := m.method == "notifications/initialized"
	if handshake {
		x.begin(m.method)
	} else {
		x = &exchange{}
	}
	ctx, cancel := context.WithTimeout(req.Context(), notifyTime)
	defer cancel()
	resp, err := w.send(req.WithContext(ctx), x)
	if err != nil || redirects(resp) {
		return resp, err
	}
	login := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if refusal(resp.StatusCode) && (handshake || login) {
		w.asRPCError(m, resp, x)
		return resp, nil
	}
	_ = resp.Body.Close()
	accepted := response(req, http.StatusAccepted, nil)
	accepted.Header = resp.Header
	return accepted, nil
}

// message is what wire needs to know of a message that is sent. method is empty for an answer, id
// nil for a notification.
type message struct {
	method string
	id     json.RawMessage
}

// readMessage reads a message as far as its parameters. The SDK writes them last.
func readMessage(req *http.Request) (m message) {
	if req.GetBody == nil {
		return m
	}
	body, err := req.GetBody()
	if err != nil {
		return m
	}
	defer body.Close()
	decoder := json.NewDecoder(body)
	for m.readMember(decoder) {
	}
	return m
}

// readMember reads one member of a message and reports whether there may be another one.
func (m *message) readMember(decoder *json.Decoder) bool {
	key, err := decoder.Token()
	if err != nil {
		return false
	}
	switch key {
	case "params", "result", "error":
		return false
	case "id":
		err = decoder.Decode(&m.id)
	case "method":
		err = decoder.Decode(&m.method)
	case "jsonrpc":
		_, err = decoder.Token()
	}
	return err == nil
}

// resume is the request for the rest of a stream that broke off, or one without a message. After
// the end of the connection it sends nothing: the SDK would repeat a failed request for the stream
// up to maxRetries times, and after 56 of them its backoff overflows and panics.
func (w *wire) resume(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return w.base.RoundTrip(req)
	}
	if w.isOver() {
		return response(req, http.StatusMethodNotAllowed, nil), nil
	}
	resp, err := w.get(req)
	w.countFailure(req, err)
	if err == nil {
		w.bound(message{}, resp, findExchange(req.Context()))
	}
	return resp, err
}

func (w *wire) isOver() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// countFailure breaks the connection off if a stream could not be resumed several times in a row.
func (w *wire) countFailure(req *http.Request, err error) {
	switch {
	case err == nil:
		w.failed.Store(0)
	case req.Context().Err() == nil && w.failed.Add(1) >= maxReconnects:
		w.broken(err)
	}
}

// bound holds a response to its bounds. m is empty where it is not the response to one request.
func (w *wire) bound(m message, resp *http.Response, x *exchange) {
	switch kind := contentType(resp); {
	case kind == eventStream:
		resp.Body = &eventBody{body: resp.Body, lines: bufio.NewReader(resp.Body), w: w, m: m, x: x}
	case kind == jsonType || m.id == nil:
		resp.Body = &wholeBody{body: resp.Body, w: w, m: m, x: x}
	default:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		_ = resp.Body.Close()
		x.note(func(s *seen) { s.answered = true })
		reason := "answered with no message"
		if len(text) > 0 {
			reason = strings.TrimSpace("answered with what is not an MCP message: "+
				sample([]byte(kind))) + " " + sample(w.hide(text))
		}
		setBody(resp, asAnswer(m, asFault(reason)))
	}
}

func contentType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// setBody replaces the body of a response by a message.
func setBody(resp *http.Response, message []byte) {
	resp.Header.Set("Content-Type", jsonType)
	resp.Body = io.NopCloser(bytes.NewReader(message))
	resp.ContentLength = int64(len(message))
}

// tooLarge returns the answer that replaces one that is too large. It keeps the session and its
// other calls. Unsolicited messages cannot be replaced, so they end the connection.
func (w *wire) tooLarge(m message, x *exchange) ([]byte, error) {
	x.note(func(s *seen) { s.tooLarge = true })
	if m.id != nil {
		return asAnswer(m, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
			Message: tooLarge(w.limit)}), nil
	}
	w.broken(&Fault{Reason: tooLarge(w.limit)})
	return nil, errTooLarge
}

// wholeBody is a response that is one message.
type wholeBody struct {
	body io.ReadCloser
	w    *wire
	m    message
	x    *exchange
	read io.Reader
}

// Read implements io.Reader.
func (b *wholeBody) Read(p []byte) (n int, err error) {
	defer panics.MCP.Contain(context.Background(), b.w.log, func(failed error) {
		n, err = 0, failed
	})
	if b.read == nil {
		data, err := io.ReadAll(io.LimitReader(b.body, int64(b.w.limit)+1))
		if err != nil {
			return 0, err
		}
		if len(data) > b.w.limit {
			if data, err = b.w.tooLarge(b.m, b.x); err != nil {
				return 0, err
			}
		}
		b.x.note(func(s *seen) { s.answered = true })
		message := b.w.hide(normalizeMessage(withoutDeepTools(data)))
		b.read = bytes.NewReader(forwardMessage(b.m.answerIn(message)))
	}
	return b.read.Read(p)
}

// Close implements io.Closer.
func (b *wholeBody) Close() error { return b.body.Close() }

// eventBody is a response that is a stream of events, each with one message.
type eventBody struct {
	body  io.ReadCloser
	lines *bufio.Reader
	w     *wire
	m     message
	x     *exchange
	rest  []byte
	// data is the message of the event so far.
	data []byte
	// over is set if reading stopped because the response was too large.
	over bool
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (n int, err error) {
	defer panics.MCP.Contain(context.Background(), b.w.log, func(failed error) {
		n, err = 0, failed
	})
	if len(b.rest) == 0 {
		if b.over {
			return 0, io.EOF
		}
		line, err := b.line()
		if len(line) == 0 {
			return 0, err
		}
		b.rest = line
	}
	n = copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

var dataField = []byte("data:")

// line returns the next line with its end, and with it the error that ended the stream. The lines
// of a message become one, before the end of their event: a server may print it on several.
func (b *eventBody) line() ([]byte, error) {
	var line []byte
	for {
		part, err := b.lines.ReadSlice('\n')
		if len(b.data)+len(line)+len(part) > b.w.limit {
			b.over = true
			answer, err := b.w.tooLarge(b.m, b.x)
			if err != nil {
				return nil, err
			}
			return slices.Concat(dataField, answer, []byte("\n\n")), nil
		}
		line = bytes.TrimPrefix(append(line, part...), byteOrderMark)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if message, ok := bytes.CutPrefix(line, dataField); ok {
			if b.data, line = append(b.data, message...), nil; err == nil {
				continue
			}
		}
		return b.withData(line), err
	}
}

// withData returns a line without data, behind the message of the event that it ends.
func (b *eventBody) withData(line []byte) []byte {
	ends := len(bytes.TrimSpace(line)) == 0
	switch {
	case ends && len(b.data) > 0:
		message := b.message(b.data)
		b.data = nil
		return append(message, line...)
	case !ends && !bytes.Contains(line, []byte(":")):
		// A field without a value, which the SDK takes for a fault.
		return append([]byte(":"), line...)
	}
	return line
}

func (b *eventBody) message(message []byte) []byte {
	message = bytes.ReplaceAll(bytes.ReplaceAll(message, []byte{'\r'}, nil), []byte{'\n'}, nil)
	message = b.w.hide(normalizeMessage(withoutDeepTools(bytes.TrimSpace(message))))
	var envelope struct {
		Method *string         `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &envelope) == nil && envelope.Method == nil && envelope.ID != nil {
		b.x.note(func(s *seen) { s.answered = true })
		message = forwardMessage(b.m.answerIn(message))
	}
	return slices.Concat(dataField, message, []byte{'\n'})
}

// Close implements io.Closer.
func (b *eventBody) Close() error { return b.body.Close() }

// asRPCError gives a refusal the form of a JSON-RPC error to the request's id, with the server's
// own words where it has some. The SDK takes that for the answer to one request; anything else
// would end the session and every call on it.
func (w *wire) asRPCError(m message, resp *http.Response, x *exchange) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	if target := resp.Header.Get("Location"); target != "" &&
		resp.StatusCode < http.StatusBadRequest {
		text = []byte("it redirects to " + target)
	}
	failure := errorIn(resp, w.hide(text))
	x.note(func(s *seen) { s.code, s.message = int(failure.Code), sample([]byte(failure.Message)) })
	setBody(resp, asAnswer(m, failure))
}

// asAnswer returns the message that answers a request with an error; empty for a notification.
func asAnswer(m message, failure *jsonrpc.Error) []byte {
	if m.id == nil {
		return nil
	}
	// An error of texts and numbers can be encoded.
	answer, _ := jsonvalue.Encode(map[string]any{"jsonrpc": "2.0", "id": m.id, "error": failure})
	return answer
}

// answerIn returns a message of the server if it answers the request, else an error in its place:
// the SDK ends the session if it cannot read a message, and the call waits for its timeout if the
// message answers another one. Without a request it returns the message as it is.
func (m message) answerIn(text []byte) []byte {
	if m.id == nil {
		return text
	}
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	err := json.Unmarshal(text, &answer)
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return asAnswer(m, asFault("answered with no message"))
	case err != nil || answer.Version != "2.0" || answer.Method != nil:
		return asAnswer(m, asFault("answered with what is not an MCP message: "+sample(text)))
	case bytes.Equal(answer.ID, m.id):
		return text
	case unlessNull(answer.ID) == nil && answer.Error != nil:
		return asAnswer(m, answer.Error) // the server could not tell which request it refuses
	default:
		return asAnswer(m, asFault(fmt.Sprintf("answered another request, with the id %s, not %s",
			formatID(answer.ID), m.id)))
	}
}

// formatID returns the id of a message as text.
func formatID(id json.RawMessage) string {
	if id == nil {
		return "null"
	}
	return sample(id)
}

// errorIn returns the JSON-RPC error that a refusal's text holds, or one made of the text.
func errorIn(resp *http.Response, text []byte) *jsonrpc.Error {
	var answer struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(text, &answer) == nil && answer.Error != nil && answer.Error.Message != "" {
		return answer.Error
	}
	message := sample(text)
	if message == "" {
		message = http.StatusText(resp.StatusCode)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
}
