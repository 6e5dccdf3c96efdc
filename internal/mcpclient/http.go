package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/switchyard/switchyard/api"
)

const (
	eventStream   = "text/event-stream"
	sessionHeader = "Mcp-Session-Id"
	// maxErrorBody bounds how much of an HTTP error response is read.
	maxErrorBody = 64 << 10
	// maxReconnects is how often in a row resuming a stream may fail before the connection counts
	// as broken.
	maxReconnects = 2
)

// wire is the round tripper of one HTTP session. It enforces bounds on responses, records the state
// of each request, and turns errors that are not JSON-RPC into JSON-RPC errors, so that one
// rejected request does not end the session.
type wire struct {
	base  http.RoundTripper
	limit int
	// hide removes the secret from what the server sends.
	hide func([]byte) []byte
	// broken is called when the server is known to be down.
	broken func(error)
	// resumed is the session that this one continues; nil for a new one.
	resumed *api.RemoteTask
	// failed counts the attempts in a row to resume a stream that got no response.
	failed atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if resp := w.localResponse(req); resp != nil {
		return resp, nil
	}
	if req.Method != http.MethodPost {
		return w.resume(req)
	}
	x := exchangeOf(req.Context())
	nameTask(req, x)
	if x.traceparent != "" {
		req.Header.Set("Traceparent", x.traceparent)
	}
	x.note(func(s *seen) { *s = seen{sent: s.sent} })
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
	if resp.StatusCode >= http.StatusBadRequest {
		w.asRPCError(req, resp, x)
		return resp, nil
	}
	w.bound(req, resp, x)
	return resp, nil
}

// resume is the request for a stream of the server's own, or for the rest of one that broke off.
func (w *wire) resume(req *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(req)
	switch {
	case err == nil:
		w.failed.Store(0)
		w.bound(nil, resp, exchangeOf(req.Context()))
	case req.Context().Err() == nil && w.failed.Add(1) >= maxReconnects:
		w.broken(err)
	}
	return resp, err
}

// bound holds a response to its bounds. req is nil where it is not the response to one request.
func (w *wire) bound(req *http.Request, resp *http.Response, x *exchange) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == eventStream {
		resp.Body = &eventBody{body: resp.Body, lines: bufio.NewReader(resp.Body), w: w, req: req,
			x: x}
		return
	}
	resp.Body = &wholeBody{body: resp.Body, w: w, req: req, x: x}
}

// tooLarge returns the answer that replaces one that is too large. It keeps the session and its
// other calls. Unsolicited messages cannot be replaced, so they end the connection.
func (w *wire) tooLarge(req *http.Request, x *exchange) ([]byte, error) {
	x.note(func(s *seen) { s.tooLarge = true })
	if req != nil {
		if answer := asAnswer(req, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
			Message: tooLarge(w.limit)}); answer != nil {
			return answer, nil
		}
	}
	w.broken(&Fault{Reason: tooLarge(w.limit)})
	return nil, errTooLarge
}

// wholeBody is a response that is one message.
type wholeBody struct {
	body io.ReadCloser
	w    *wire
	req  *http.Request
	x    *exchange
	read io.Reader
}

// Read implements io.Reader.
func (b *wholeBody) Read(p []byte) (int, error) {
	if b.read == nil {
		data, err := io.ReadAll(io.LimitReader(b.body, int64(b.w.limit)+1))
		if err != nil {
			return 0, err
		}
		if len(data) > b.w.limit {
			if data, err = b.w.tooLarge(b.req, b.x); err != nil {
				return 0, err
			}
		}
		b.x.note(func(s *seen) { s.answered = true })
		b.read = bytes.NewReader(forwardMessage(b.w.hide(withoutDeepTools(data))))
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
	req   *http.Request
	x     *exchange
	rest  []byte
	// over is set if reading stopped because the response was too large.
	over bool
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
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
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

var dataField = []byte("data:")

// line returns the next line with its end, and with it the error that ended the stream.
func (b *eventBody) line() ([]byte, error) {
	var line []byte
	for {
		part, err := b.lines.ReadSlice('\n')
		if len(line)+len(part) > b.w.limit {
			b.over = true
			answer, err := b.w.tooLarge(b.req, b.x)
			if err != nil {
				return nil, err
			}
			return slices.Concat(dataField, answer, []byte("\n\n")), nil
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if message, ok := bytes.CutPrefix(line, dataField); ok {
			line = b.message(message)
		}
		return line, err
	}
}

func (b *eventBody) message(message []byte) []byte {
	message = b.w.hide(withoutDeepTools(bytes.TrimSpace(message)))
	var envelope struct {
		Method *string         `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &envelope) == nil && envelope.Method == nil && envelope.ID != nil {
		b.x.note(func(s *seen) { s.answered = true })
		message = forwardMessage(message)
	}
	return slices.Concat(dataField, message, []byte{'\n'})
}

// Close implements io.Closer.
func (b *eventBody) Close() error { return b.body.Close() }

// asRPCError gives a refusal the form of a JSON-RPC error to the request's id, with the server's
// own words where it has some. The SDK takes that for the answer to one request; anything else
// would end the session and every call on it.
func (w *wire) asRPCError(req *http.Request, resp *http.Response, x *exchange) {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	text = w.hide(text)
	failure := errorIn(resp, text)
	x.note(func(s *seen) { s.code, s.message = int(failure.Code), sample([]byte(failure.Message)) })
	if answer := asAnswer(req, failure); answer != nil {
		text = answer
		resp.Header.Set("Content-Type", "application/json")
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	resp.ContentLength = int64(len(text))
}

// asAnswer returns the message that answers a request with an error; nil if the sent message is not
// a request.
func asAnswer(req *http.Request, failure *jsonrpc.Error) []byte {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	body, err := bodyOf(req)
	if err != nil || json.Unmarshal(body, &request) != nil || request.ID == nil {
		return nil
	}
	answer, err := api.EncodeJSON(map[string]any{"jsonrpc": "2.0", "id": request.ID,
		"error": failure})
	if err != nil {
		return nil
	}
	return answer
}

func bodyOf(req *http.Request) ([]byte, error) {
	if req.GetBody == nil {
		return nil, errors.New("the request has no body")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
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
