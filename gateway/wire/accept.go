package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The media types of responses.
const (
	mimeJSON   = "application/json"
	mimeStream = "text/event-stream"
)

// methodListen is the request whose response is a stream that has no end.
const methodListen = "subscriptions/listen"

// Negotiated is the writer of a response that a client has as it accepts it. It keeps a successful
// response of the media type that the client does not accept until End. Other responses pass.
type Negotiated struct {
	http.ResponseWriter
	id     json.RawMessage
	status int
	// refused is the media type that the client does not accept; empty for none.
	refused string
	// begun is set when the header was written, kept if the response is of the type refused.
	begun, kept bool
	body        bytes.Buffer
}

// Negotiate has a client get the response to its message as it accepts it: as JSON, such as curl or
// Gemini CLI, or as a stream of events. The protocol has clients accept both, and the SDK refuses
// others. A client that accepts neither is answered with the status 406, and the writer is nil.
func Negotiate(w http.ResponseWriter, r *http.Request, m Message) *Negotiated {
	n := &Negotiated{ResponseWriter: w, id: m.ID, status: http.StatusOK}
	if r.Method == http.MethodDelete {
		return n
	}
	asJSON, asStream := readAccept(r.Header.Values("Accept"))
	if endless := r.Method == http.MethodGet || m.Method == methodListen; endless {
		asJSON = asStream // the stream cannot be kept until its end
	}
	switch {
	case !asJSON && !asStream:
		http.Error(w, "Accept lacks "+mimeJSON+" or "+mimeStream+", whichever the response is",
			http.StatusNotAcceptable)
		return nil
	case !asStream:
		n.refused = mimeStream
	case !asJSON:
		n.refused = mimeJSON
	}
	r.Header.Set("Accept", mimeJSON+", "+mimeStream)
	return n
}

// TakesRequests reports whether the client reads requests of the server before the response.
func (n *Negotiated) TakesRequests() bool { return n.refused != mimeStream }

// readAccept returns which media types a client accepts. The protocol has it say so; without the
// header it accepts any, by HTTP (RFC 9110, section 12.5.1).
func readAccept(headers []string) (asJSON, asStream bool) {
	if len(headers) == 0 {
		return true, true
	}
	for value := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		kind, parameters, _ := mime.ParseMediaType(value)
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil && q == 0 {
			continue
		}
		asJSON = asJSON || slices.Contains([]string{mimeJSON, "application/*", "*/*"}, kind)
		asStream = asStream || slices.Contains([]string{mimeStream, "text/*", "*/*"}, kind)
	}
	return asJSON, asStream
}

// Unwrap returns the writer of the connection.
func (n *Negotiated) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (n *Negotiated) WriteHeader(status int) {
	if n.begun {
		return
	}
	n.begun, n.status = true, status
	kind, _, _ := mime.ParseMediaType(n.Header().Get("Content-Type"))
	n.kept = kind != "" && kind == n.refused && status == http.StatusOK
	if !n.kept {
		n.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (n *Negotiated) Write(p []byte) (int, error) {
	n.WriteHeader(http.StatusOK)
	if n.kept {
		return n.body.Write(p)
	}
	return n.ResponseWriter.Write(p)
}

// Flush implements http.Flusher. A response that is kept has nothing to flush.
func (n *Negotiated) Flush() {
	n.WriteHeader(http.StatusOK)
	if f, ok := n.ResponseWriter.(http.Flusher); ok && !n.kept {
		f.Flush()
	}
}

// End writes a response that was kept. Messages before the response in a stream, such as progress,
// are left out.
func (n *Negotiated) End() {
	if !n.kept {
		return
	}
	kind, body := mimeJSON, n.response()
	if n.refused == mimeJSON {
		kind = mimeStream
		body = []byte("event: message\ndata: " + string(bytes.TrimSpace(n.body.Bytes())) + "\n\n")
	}
	n.Header().Set("Content-Type", kind)
	n.Header().Del("Content-Length")
	n.ResponseWriter.WriteHeader(n.status)
	_, _ = n.ResponseWriter.Write(body) // the client may have gone
}

// response returns the message of the stream of events that is the response, or an error if the
// stream ended before. The SDK writes each message as one line of data.
func (n *Negotiated) response() []byte {
	found := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,`+
		`"message":"the connection ended before the response"}}`, n.id)
	for line := range bytes.Lines(n.body.Bytes()) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var m struct {
			Method string `json:"method"`
		}
		if ok && json.Unmarshal(data, &m) == nil && m.Method == "" {
			found = bytes.TrimSpace(data)
		}
	}
	return found
}
