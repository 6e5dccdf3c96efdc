package outbound

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Connections that break before or within an answer may work at another attempt, as over HTTP/1.1.
func TestHTTP2Failures_AreTransient(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "the beginning")
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	g, err := NewGuard(Policy{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := g.Transport()
	transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	for _, path := range []string{"/", "/body"} {
		resp, err := Client(transport, nil, nil).Get(s.URL + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.ProtoMajor != 2 {
				t.Errorf("%s: answered by %s", path, resp.Proto)
			}
		}
		if e := api.AsError(Failure(t.Context(), t.Context(), err)); e == nil || !e.Retryable {
			t.Errorf("%s: got %+v", path, e)
		}
	}
}

// The server accepts the connection and does not start TLS.
func TestTLSThatNeverStarts_IsTransient(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	g, err := NewGuard(Policy{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := g.Transport()
	transport.TLSHandshakeTimeout = 10 * time.Millisecond
	_, err = Client(transport, nil, nil).Get("https://" + silent.Addr().String())
	if e := api.AsError(Failure(t.Context(), t.Context(), err)); e == nil || !e.Retryable {
		t.Errorf("got %+v", e)
	}
}
