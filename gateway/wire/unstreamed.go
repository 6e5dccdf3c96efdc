package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// mimeStream is the media type of a stream of events.
const mimeStream = "text/event-stream"

// methodListen is the request whose response is a stream that has no end.
const methodListen = "subscriptions/listen"

// Unstream lets a client that accepts no stream of events, such as curl or Gemini CLI, have the
// response to its message as JSON. The protocol has clients accept both, and the SDK refuses
// others. It returns the writer and the request to serve. end writes the response; messages before
// it, such as progress, are left out.
func Unstream(w http.ResponseWriter, r *http.Request, m Message) (http.ResponseWriter,
	*http.Request, func()) {
	accepted := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	streams := strings.Contains(accepted, mimeStream) || strings.Contains(accepted, "*/*")
	if streams || !strings.Contains(accepted, "application/json") || m.Method == methodListen ||
		r.Method != http.MethodPost {
		return w, r, func() {}
	}
	r.Header.Set("Accept", "application/json, "+mimeStream)
	u := &unstreamed{ResponseWriter: w, status: http.StatusOK}
	return u, r, u.end
}

// unstreamed keeps a stream of events until its end. Other responses pass.
type unstreamed struct {
	http.ResponseWriter
	status int
	// begun is set when the header was written, streams if the response is a stream.
	begun, streams bool
	events         bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (u *unstreamed) WriteHeader(status int) {
	if u.begun {
		return
	}
	u.begun, u.status = true, status
	u.streams = strings.HasPrefix(u.Header().Get("Content-Type"), mimeStream)
	if !u.streams {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (u *unstreamed) Write(p []byte) (int, error) {
	u.WriteHeader(http.StatusOK)
	if u.streams {
		return u.events.Write(p)
	}
	return u.ResponseWriter.Write(p)
}

// Flush implements http.Flusher. A kept stream has nothing to flush.
func (u *unstreamed) Flush() {
	u.WriteHeader(http.StatusOK)
	if f, ok := u.ResponseWriter.(http.Flusher); ok && !u.streams {
		f.Flush()
	}
}

// end writes the response of a kept stream.
func (u *unstreamed) end() {
	if !u.streams {
		return
	}
	u.Header().Set("Content-Type", "application/json")
	u.ResponseWriter.WriteHeader(u.status)
	_, _ = u.ResponseWriter.Write(response(u.events.Bytes())) // the client may have gone
}

// response returns the message of a stream of events that is a response. The SDK writes each
// message as one line of data.
func response(events []byte) (found []byte) {
	for line := range bytes.Lines(events) {
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
