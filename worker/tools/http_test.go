package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// target is a server with an answer for every case; it counts requests.
type target struct {
	*httptest.Server
	requests atomic.Int64
}

func newTarget(t *testing.T) *target {
	t.Helper()
	s := &target{}
	mux := http.NewServeMux()
	mux.HandleFunc("/show", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		fmt.Fprintf(w, "%s %s key=%s token=%s agent=%s body=%s", r.Method, r.URL.RequestURI(),
			r.Header.Get("Idempotency-Key"), r.Header.Get("X-Token"), r.UserAgent(), body)
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "because")
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusFound)
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("ä", 1000))
	})
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte{0xff, 0, 1})
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "only this")
	})
	mux.HandleFunc("/close", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func loopback() Config {
	return Config{HTTP: HTTPConfig{Allow: []string{"127.0.0.1"}, MaxBody: 200}}
}

func TestHTTP_SendsTheRequestAndReturnsTheWholeResponse(t *testing.T) {
	s := newTarget(t)
	ctx := callcontext.With(t.Context(), api.CallContext{Key: "run/1.1"})
	cases := []struct {
		handler string
		args    map[string]any
		want    string
	}{
		{"http_get", map[string]any{"url": s.URL + "/show?a=b%20c#part",
			"headers": map[string]string{"x-token": "t"}}, "GET /show?a=b%20c key= token=t " +
			"agent=switchyard body="},
		{"http_request", map[string]any{"method": "POST", "url": s.URL + "/show", "body": "x\ny"},
			"POST /show key=run/1.1 token= agent=switchyard body=x\ny"},
		{"http_request", map[string]any{"method": "GET", "url": s.URL + "/show"},
			"GET /show key= token= agent=switchyard body="},
		{"http_request", map[string]any{"method": "delete", "url": s.URL + "/show",
			"headers": map[string]string{"idempotency-key": "mine",
				"User-Agent": "me"}}, "DELETE /show key=mine token= agent=me body="},
	}
	for _, c := range cases {
		answer, err := execute(ctx, t, All(loopback()), c.handler, c.args)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		want, _ := jsonvalue.Encode(c.want)
		if got := string(answer.Output); !strings.Contains(got, `"body":`+string(want)) ||
			!strings.Contains(got, `"status":200`) || !strings.Contains(got, `"X-Two":"a, b"`) {
			t.Errorf("%v: got %s", c.args, got)
		}
	}
}

func TestHTTP_ReturnsEveryFinalStatusAsAnswer(t *testing.T) {
	s := newTarget(t)
	for path, want := range map[string]int{"/status/204": 204, "/status/404": 404,
		"/status/400?after=5": 400, "/missing": 404} {
		if out, _, e := outputOf[httpResponse](t, loopback(), "http_get",
			map[string]any{"url": s.URL + path}); e != nil || out.Status != want {
			t.Errorf("%s: got %+v, %v", path, out, e)
		}
	}
}

func TestHTTP_ReportsPassingStatusesAsTransient(t *testing.T) {
	s := newTarget(t)
	waits := map[string]time.Duration{
		"/status/429?after=7": 7 * time.Second, "/status/503?after=999999": time.Hour,
		"/status/503?after=soon": 0,
		"/status/500":            0, "/status/599": 0,
		"/status/429?after=Wed,+21+Oct+2015+07:28:00+GMT": 0,
	}
	for path, after := range waits {
		_, _, e := outputOf[httpResponse](t, loopback(), "http_get", map[string]any{"url": s.URL +
			path})
		if !refusedWith(e, api.ErrExecution, "because") || !e.Retryable ||
			e.RetryAfter.Std() != after {
			t.Errorf("%s: got %#v", path, e)
		}
	}
	if n := s.requests.Load(); int(n) != len(waits) {
		t.Errorf("%d requests were sent for %d calls", n, len(waits))
	}
}

func TestHTTP_CutsLongBodiesBetweenCharacters(t *testing.T) {
	s := newTarget(t)
	c := loopback()
	c.HTTP.MaxBody = 101
	out, notes, e := outputOf[httpResponse](t, c, "http_get", map[string]any{"url": s.URL +
		"/long"})
	if e != nil || out.Body != strings.Repeat("ä", 50) || len(notes) != 1 ||
		!strings.Contains(notes[0], "100 bytes of 2000") {
		t.Errorf("got %q, %q, %v", out.Body, notes, e)
	}
	out, notes, e = outputOf[httpResponse](t, c, "http_get", map[string]any{"url": s.URL +
		"/binary"})
	if e != nil || out.Body != "" || out.BodyBase64 != "/wAB" || len(notes) != 0 {
		t.Errorf("got %+v, %q, %v", out, notes, e)
	}
}

func TestHTTP_ReachesPublicAddressesOnly(t *testing.T) {
	s := newTarget(t)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// These depend on the system's resolver; unknown names are not reached either.
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]",
		"0.0.0.0", "127.1", "2130706433", "0x7f.1", "１２７.0.0.1"} {
		_, _, e := outputOf[httpResponse](t, Config{}, "http_get", map[string]any{"url": "http://" +
			host + ":" + port + "/show"})
		if e == nil {
			t.Errorf("%s was reached", host)
		}
	}
	_, _, e := outputOf[httpResponse](t, Config{}, "http_get", map[string]any{"url": s.URL +
		"/show"})
	if !refusedWith(e, api.ErrPolicyViolation, "127.0.0.1 is loopback") {
		t.Errorf("got %v", e)
	}
	if n := s.requests.Load(); n != 0 {
		t.Fatalf("%d requests arrived", n)
	}
}

// An allowed name may lead to loopback; the address itself is still refused, also after a redirect.
func TestHTTP_AllowedNamesMayLeadToLoopback(t *testing.T) {
	s := newTarget(t)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	byName := Config{HTTP: HTTPConfig{Allow: []string{"LOCALHOST."}}}
	if out, _, e := outputOf[httpResponse](t, byName, "http_get",
		map[string]any{"url": "http://localhost:" + port + "/show"}); e != nil ||
		out.Status != http.StatusOK {
		t.Errorf("got %+v, %v", out, e)
	}
	_, _, e := outputOf[httpResponse](t, byName, "http_get",
		map[string]any{"url": "http://localhost:" + port + "/to?url=" + s.URL + "/show"})
	if !refusedWith(e, api.ErrExecution, "redirected to another address") || e.Retryable {
		t.Errorf("got %v", e)
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("%d requests arrived; want 2", n)
	}
}

// A request whose connection breaks is not sent again: net/http would repeat it on a reused
// connection.
func TestHTTP_SendsEachRequestOnce(t *testing.T) {
	s := newTarget(t)
	functions := All(loopback())
	for _, path := range []string{"/show", "/close"} {
		_, err := execute(t.Context(), t, functions, "http_get", map[string]any{"url": s.URL +
			path})
		if (err != nil) != (path == "/close") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("%d requests were sent for 2 calls", n)
	}
}

func TestHTTP_FollowsRedirectsWithoutSecretHeaders(t *testing.T) {
	s, other := newTarget(t), newTarget(t)
	headers := map[string]string{"X-Token": "secret"}
	out, _, e := outputOf[httpResponse](t, loopback(), "http_get", map[string]any{"url": s.URL +
		"/to?url=/show", "headers": headers})
	if e != nil || !strings.Contains(out.Body, "token=secret") || out.URL != s.URL+"/show" {
		t.Errorf("same place: got %+v, %v", out, e)
	}
	out, _, e = outputOf[httpResponse](t, loopback(), "http_get", map[string]any{"url": s.URL +
		"/to?url=" + other.URL + "/show", "headers": headers})
	if e != nil || !strings.Contains(out.Body, "token= ") {
		t.Errorf("other place: got %+v, %v", out, e)
	}
}

func TestHTTP_FollowsAtMostFiveRedirects(t *testing.T) {
	s := newTarget(t)
	if _, _, e := outputOf[httpResponse](t, loopback(), "http_get", map[string]any{"url": s.URL +
		"/loop"}); !refusedWith(e, api.ErrExecution, "more than 5 times") || e.Retryable {
		t.Errorf("loop: got %v", e)
	}
	if n := s.requests.Load(); n != 6 {
		t.Errorf("%d requests for 5 redirects", n)
	}
	for _, to := range []string{"file:///etc/passwd", "ftp://127.0.0.1/",
		"http://user:pass@127.0.0.1/"} {
		if _, _, e := outputOf[httpResponse](t, loopback(), "http_get",
			map[string]any{"url": s.URL + "/to?url=" + to}); e == nil || e.Retryable {
			t.Errorf("%s: got %v", to, e)
		}
	}
}

func TestHTTP_NamesTheArgumentAtFault(t *testing.T) {
	for _, c := range []struct {
		method, url string
		headers     map[string]string
		want        string
	}{
		{"GET", "ftp://example.com/", nil, "$.url"}, {"GET", "/path", nil, "$.url"}, {"GET",
			"http://", nil, "$.url"}, {"GET", "http://a b/", nil, "$.url"},
		{"GET", "http://user:secret@example.com/", nil, "$.url"}, {"GET", "file:///etc/passwd", nil,
			"$.url"}, {"GET", "http://x/\n", nil, "$.url"},
		{"TRACE", "http://example.com/", nil, "$.method"}, {"GET /x", "http://example.com/", nil,
			"$.method"},
		{"GET", "http://example.com/", map[string]string{"host": "inside"}, "$.headers"},
		{"GET", "http://example.com/", map[string]string{"transfer-encoding": "chunked"},
			"$.headers"},
	} {
		_, _, e := outputOf[httpResponse](t, Config{}, "http_request",
			map[string]any{"method": c.method, "url": c.url, "headers": c.headers})
		if !refusedWith(e, api.ErrValidation, c.want) || strings.Contains(e.Error(), "secret") {
			t.Errorf("%+v: got %v", c, e)
		}
	}
	_, _, e := outputOf[httpResponse](t, loopback(), "http_get",
		map[string]any{"url": newTarget(t).URL + "/show",
			"headers": map[string]string{"X": "a\r\nY: b"}})
	if e == nil || e.Retryable {
		t.Errorf("a header with a line end: got %v", e)
	}
	broken := Config{HTTP: HTTPConfig{Allow: []string{"http://x"}}}
	if _, _, e := outputOf[httpResponse](t, broken, "http_get",
		map[string]any{"url": "http://example.com"}); !refusedWith(e, api.ErrPreconditionFailed,
		"http://x") {
		t.Errorf("got %v", e)
	}
}

func TestHTTP_TellsTransientNetworkFailuresFromLastingOnes(t *testing.T) {
	s := newTarget(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	for _, c := range []struct {
		url   string
		retry bool
		want  string
	}{
		{s.URL + "/hang", true, "timeout"}, {s.URL + "/close", true, "EOF"}, {s.URL + "/cut", true,
			"was cut off"},
		{closed.URL, true, "refused"}, {secure.URL, false, "certificate"},
	} {
		_, _, e := outputOf[httpResponse](t, loopback(), "http_get", map[string]any{"url": c.url,
			"timeout": "500ms"})
		if !refusedWith(e, api.ErrExecution, c.want) || e.Retryable != c.retry {
			t.Errorf("%s: got %v, retryable %v", c.url, e, e != nil && e.Retryable)
		}
	}
	reason := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := execute(ctx, t, All(loopback()), "http_get", map[string]any{"url": s.URL +
			"/hang"})
		failed <- err
	}()
	cancel(reason)
	if err := <-failed; !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}
