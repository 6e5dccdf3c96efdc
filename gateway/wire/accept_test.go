package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNegotiate_AnswersAsTheClientAccepts(t *testing.T) {
	const (
		ended    = "data: {\"method\":\"notifications/progress\"}\n\ndata: {\"id\":7,\"result\":{}}\n\n"
		cut      = "data: {\"method\":\"notifications/progress\"}\n\n"
		response = `{"id":7,"result":{}}`
	)
	for name, c := range map[string]struct {
		method, accept, kind, body string
		message                    string
		want, wantKind             string
		status                     int
		takesRequests              bool
	}{
		"both":         {accept: "application/json, text/event-stream", kind: mimeStream, body: ended, want: ended, wantKind: mimeStream, takesRequests: true},
		"any":          {accept: "*/*", kind: mimeJSON, body: response, want: response, wantKind: mimeJSON, takesRequests: true},
		"JSON":         {accept: "application/json", kind: mimeStream, body: ended, want: response, wantKind: mimeJSON},
		"stream":       {accept: mimeStream, kind: mimeJSON, body: response, want: "event: message\ndata: " + response + "\n\n", wantKind: mimeStream, takesRequests: true},
		"cut":          {accept: "application/json", kind: mimeStream, body: cut, want: `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the connection ended before the response"}}`, wantKind: mimeJSON},
		"neither":      {accept: "text/html", status: http.StatusNotAcceptable},
		"none of both": {accept: "application/json;q=0, text/event-stream;q=0", status: http.StatusNotAcceptable},
		"endless":      {method: http.MethodGet, accept: "application/json", status: http.StatusNotAcceptable},
		"listen":       {message: methodListen, accept: "application/json", status: http.StatusNotAcceptable},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			if c.method != "" {
				r.Method = c.method
			}
			r.Header.Set("Accept", c.accept)
			w := httptest.NewRecorder()
			n := Negotiate(w, r, Message{Method: c.message, ID: []byte("7")})
			if (n == nil) != (c.status != 0) {
				t.Fatalf("Negotiate = %v, want status %d", n, c.status)
			}
			if n == nil {
				if w.Code != c.status {
					t.Errorf("status = %d, want %d", w.Code, c.status)
				}
				return
			}
			n.Header().Set("Content-Type", c.kind)
			_, _ = io.WriteString(n, c.body)
			n.End()
			if w.Body.String() != c.want || !strings.HasPrefix(w.Header().Get("Content-Type"), c.wantKind) {
				t.Errorf("response = %s %q, want %s %q", w.Header().Get("Content-Type"), w.Body, c.wantKind, c.want)
			}
			if n.TakesRequests() != c.takesRequests {
				t.Errorf("TakesRequests = %v", n.TakesRequests())
			}
		})
	}
}
