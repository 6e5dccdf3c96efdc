package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/toolspecs"
)

// newHTTPBin serves go-httpbin on loopback.
func newHTTPBin(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(httpbin.New(httpbin.WithMaxDuration(time.Minute),
		httpbin.WithMaxBodySize(8<<20)))
	t.Cleanup(s.Close)
	return s.URL
}

// serving serves handle on loopback.
func serving(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// restSpec returns a REST tool whose entry is given as YAML in flow style, without the braces.
// Parameters are a to f, of any type; every call passes p.
func restSpec(t *testing.T, base, entry string) *toolspecs.Spec {
	t.Helper()
	text := "name: rest\nversion: 1.0.0\ndescription: A REST tool.\n" +
		"input_schema: {type: object, required: [p], properties: {a: {}, b: {}, c: {}, p: {}, page: {}}}\n" +
		"entry: {type: rest, base_url: \"" + base + "\", allow: [127.0.0.1], " + entry + "}\n"
	specs, err := toolspecs.Decode("rest.yaml", []byte(text), toolspecs.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return &specs[0]
}

func call(t *testing.T, spec *toolspecs.Spec, args string) (executor.Answer, error) {
	t.Helper()
	ctx := callcontext.With(t.Context(), api.CallContext{Key: "run/1.1"})
	answer, err := Executor{}.Execute(ctx, spec, json.RawMessage(args))
	if err == nil && !json.Valid(answer.Output) {
		t.Errorf("the answer is no JSON: %.100q", answer.Output)
	}
	return answer, err
}

// sent is a received request.
type sent struct {
	Method, URI, Body string
	Header            http.Header
}

// recorder serves its requests as JSON.
func recorder(t *testing.T) string {
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(sent{r.Method, r.RequestURI, string(body), r.Header})
	})
}

func record(t *testing.T, spec *toolspecs.Spec, args string) sent {
	t.Helper()
	answer, err := call(t, spec, args)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	var s sent
	if err := json.Unmarshal(answer.Output, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Any value stays in its segment of the path, and the rest of the URL is that of the spec.
func TestRESTPath_KeepsValuesWithinTheirSegment(t *testing.T) {
	base := recorder(t)
	for args, want := range map[string]string{
		`{"p":"plain"}`:                  "/v1/x/plain/y",
		`{"p":"a/b"}`:                    "/v1/x/a%2Fb/y",
		`{"p":"../../admin"}`:            "/v1/x/..%2F..%2Fadmin/y",
		`{"p":"..;/%2e%2e\\"}`:           "/v1/x/..%3B%2F%252e%252e%5C/y",
		`{"p":"?a=b#c"}`:                 "/v1/x/%3Fa=b%23c/y",
		`{"p":"ä 1\n\u0000"}`:            "/v1/x/%C3%A4%201%0A%00/y",
		`{"p":12345678901234567890}`:     "/v1/x/12345678901234567890/y",
		`{"p":true}`:                     "/v1/x/true/y",
		`{"p":"..."}`:                    "/v1/x/.../y",
		`{"p":"//evil.example.com"}`:     "/v1/x/%2F%2Fevil.example.com/y",
		`{"p":"@evil.example.com:80"}`:   "/v1/x/@evil.example.com:80/y",
		`{"p":"{{args.a}}","a":"../.."}`: "/v1/x/%7B%7Bargs.a%7D%7D/y",
	} {
		if got := record(t, restSpec(t, base+"/v1/", `path: "/x/{{args.p}}/y"`),
			args); got.URI != want || got.Method != http.MethodGet {
			t.Errorf("%s: got %s %s, want %s", args, got.Method, got.URI, want)
		}
	}
	for entry, want := range map[string]string{
		`path: ""`: "/v1", `path: /`: "/v1/", `path: "{{args.p}}"`: "/v1/z",
		`path: "v{{args.p}}.{{args.p}}%20"`: "/v1/vz.z%20", `query: {}`: "/v1",
	} {
		if got := record(t, restSpec(t, base+"/v1", entry), `{"p":"z"}`); got.URI != want {
			t.Errorf("%s: got %s, want %s", entry, got.URI, want)
		}
	}
}

// The error names the argument without its value, and nothing is sent.
func TestRESTPath_RefusesValuesThatChangeIt(t *testing.T) {
	for _, args := range []string{`{"p":""}`, `{"p":"."}`, `{"p":".."}`, `{"p":null}`, `{}`,
		`{"p":["planted"]}`, `{"p":{"planted":1}}`} {
		_, err := call(t, restSpec(t, "http://192.0.2.1", `path: "/x/{{args.p}}"`), args)
		e := api.AsError(err)
		if e == nil || e.Type != api.ErrValidation || len(e.Problems) != 1 ||
			e.Problems[0].Path != "$.p" || strings.Contains(e.Error(), "planted") {
			t.Errorf("%s: got %v", args, err)
		}
	}
	for _, args := range []string{`[1]`, `{`} {
		if _, err := call(t, restSpec(t, "http://192.0.2.1", `path: /`), args); !errors.Is(err,
			&api.Error{Type: api.ErrValidation}) {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

// A request is in the trace of its call, unless the toolspec has a header of that name.
func TestRESTRequests_HaveTheTraceOfTheirCall(t *testing.T) {
	base := recorder(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	origin := api.Origin{Run: "run", Trace: trace}
	ctx := callcontext.With(t.Context(), api.CallContext{CallID: "1.1", Origin: origin})
	for entry, want := range map[string]string{`path: /`: traceparent.Format(origin, "1.1"),
		`path: /, headers: {traceparent: own}`: "own"} {
		answer, err := Executor{}.Execute(ctx, restSpec(t, base, entry), json.RawMessage(`{"p":1}`))
		var got struct{ Header http.Header }
		if err == nil {
			err = json.Unmarshal(answer.Output, &got)
		}
		if err != nil || got.Header.Get("Traceparent") != want || got.Header.Get("Baggage") != "" {
			t.Errorf("%s: got %v, %v, want %s", entry, got.Header, err, want)
		}
	}
}

// Lists give several values; absent and null values give none.
func TestRESTQueryAndHeaders_FollowTheirTemplates(t *testing.T) {
	base := recorder(t)
	spec := restSpec(t, base, `query: {a: "{{args.a}}", "b[]": "{{args.b}}", c: "x{{args.c}}", n: 1, t: true}, `+
		`headers: {X-A: "{{args.a}}", X-B: "{{args.b}}", X-C: "x{{args.c}}", X-N: 5, user-agent: me, accept: text/csv}`)
	for args, want := range map[string]string{
		`{"p":1}`:                                  "/?c=x&n=1&t=true",
		`{"p":1,"a":null,"b":[],"c":null}`:         "/?c=x&n=1&t=true",
		`{"p":1,"a":"a&b=c d","b":[1,null,"ä"]}`:   "/?a=a%26b%3Dc+d&b%5B%5D=1&b%5B%5D=%C3%A4&c=x&n=1&t=true",
		`{"p":1,"a":{"k":[1]},"b":"","c":[1,"2"]}`: "/?a=%7B%22k%22%3A%5B1%5D%7D&b%5B%5D=&c=x%5B1%2C%222%22%5D&n=1&t=true",
	} {
		if got := record(t, spec, args); got.URI != want {
			t.Errorf("%s: got %s, want %s", args, got.URI, want)
		}
	}
	got := record(t, spec, `{"p":1,"a":"one","b":["two","three"],"c":2}`).Header
	for name, want := range map[string][]string{
		"X-A": {"one"}, "X-B": {"two", "three"}, "X-C": {"x2"}, "X-N": {"5"}, "User-Agent": {"me"},
		"Accept": {"text/csv"}, "Idempotency-Key": {"run/1.1"},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if got := record(t, spec, `{"p":1}`).Header; got["X-A"] != nil || got.Get("X-C") != "x" {
		t.Errorf("got %v", got)
	}
	for _, args := range []string{`{"p":1,"a":"x\r\nHost: planted"}`,
		`{"p":1,"b":["x","\u0000planted"]}`, `{"p":1,"c":"\nplanted"}`} {
		_, err := call(t, spec, args)
		if e := api.AsError(err); e == nil || e.Type != api.ErrValidation || len(e.Problems) != 1 ||
			strings.Contains(e.Error(), "planted") {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

// Absent arguments are omitted. Forms and texts use the same templates.
func TestRESTBody_KeepsTypesAndDigits(t *testing.T) {
	base := recorder(t)
	for _, c := range []struct{ entry, args, want, contentType string }{
		{`body: {a: "{{args.a}}", list: [1, "{{args.b}}", "{{args.a}}"], deep: {b: "{{args.b}}", t: "is {{args.b}}"}, none: null}`,
			`{"p":1,"a":12345678901234567890}`,
			`{"a":12345678901234567890,"deep":{"t":"is "},"list":[1,12345678901234567890],"none":null}`,
			"application/json"},
		{`body: {a: "{{args.a}}", b: "{{args.b}}"}`, `{"p":1,"a":{"x":[true,null,"<&>"]},"b":null}`,
			`{"a":{"x":[true,null,"<&>"]},"b":null}`, "application/json"},
		{`body: "{{args.a}}"`, `{"p":1,"a":[1,2.50]}`, `[1,2.50]`, "application/json"},
		{`body: "{{args.a}}"`, `{"p":1}`, ``, ""},
		{`body: 5, headers: {content-type: application/vnd.api+json}`, `{"p":1}`, `5`,
			"application/vnd.api+json"},
		{`encoding: text, body: "a: {{args.a}}"`, `{"p":1,"a":[1]}`, `a: [1]`,
			"text/plain; charset=utf-8"},
		{`encoding: text, body: "{{args.a}}"`, `{"p":1,"a":"x\ny"}`, "x\ny",
			"text/plain; charset=utf-8"},
		{`encoding: form, body: {a: "{{args.a}}", b: "{{args.b}}", c: "x y"}`,
			`{"p":1,"a":[1,"2"]}`, `a=1&a=2&c=x+y`, "application/x-www-form-urlencoded"},
		{`encoding: form, body: {m: "{{args.a}}", l: "{{args.b}}"}`,
			`{"p":1,"a":{"k":"v","deep":{"n":null,"t":true}},"b":[{"id":1},{"id":[2,3]}]}`,
			`l%5B0%5D%5Bid%5D=1&l%5B1%5D%5Bid%5D%5B%5D=2&l%5B1%5D%5Bid%5D%5B%5D=3&m%5Bdeep%5D%5Bt%5D=true&m%5Bk%5D=v`,
			"application/x-www-form-urlencoded"},
		{`encoding: form, body: {"a[]": "{{args.a}}", "b[]": "{{args.b}}"}`,
			`{"p":1,"a":[1,"2",null],"b":[[3],{"c":[]},{"d":4}]}`,
			`a%5B%5D=1&a%5B%5D=2&b%5B0%5D%5B%5D=3&b%5B2%5D%5Bd%5D=4`,
			"application/x-www-form-urlencoded"},
		{`encoding: form, body: {"a[]": "{{args.a}}"}`, `{"p":1,"a":""}`, `a=`,
			"application/x-www-form-urlencoded"},
		{`encoding: form, body: "{{args.a}}"`, `{"p":1,"a":{"k":"v"}}`, `k=v`,
			"application/x-www-form-urlencoded"},
	} {
		got := record(t, restSpec(t, base, `method: POST, `+c.entry), c.args)
		if got.Body != c.want || got.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: got %s, %q; want %s", c.entry, got.Body, got.Header.Get("Content-Type"),
				c.want)
		}
	}
	_, err := call(t, restSpec(t, base, `method: POST, encoding: form, body: "{{args.a}}"`),
		`{"p":1,"a":[1]}`)
	if e := api.AsError(err); e == nil || e.Type != api.ErrValidation {
		t.Errorf("a form of a list: got %v", err)
	}
}

// The defaults can be changed by the spec, a code precedes its class, and the server's delay is
// used.
func TestRESTStatuses_DecideTheOutcome(t *testing.T) {
	base := newHTTPBin(t)
	rules := `path: "/status/{{args.p}}", statuses: [{status: 4xx, means: answer, message: not there}, {status: "409", means: retry}, {status: "503", means: fail, message: gone}, {status: "201", means: fail}]`
	plain := `path: "/status/{{args.p}}"`
	for _, c := range []struct {
		entry, status string
		fails, retry  bool
		want          string
	}{
		{plain, "200", false, false, "null"}, {plain, "204", false, false, "null"},
		{plain, "299", false, false, "null"},
		{plain, "400", true, false, "the server answered 400 Bad Request"}, {plain, "404", true, false,
			"the server answered 404 Not Found"}, {plain, "304", true, false, "the server answered 304 Not Modified"},
		{plain, "408", true, false, "the server answered 408 Request Timeout"}, {plain, "429", true, true, "the server answered 429 Too Many Requests"},
		{plain, "500", true, true, "the server answered 500 Internal Server Error"}, {plain, "503", true, true, "the server answered 503 Service Unavailable"},
		{plain, "599", true, true, "the server answered 599"},
		{rules, "404", false, false, "null"}, {rules, "409", true, true, "the server answered 409 Conflict"},
		{rules, "503", true, false, "gone: the server answered 503 Service Unavailable"}, {rules, "201", true, false,
			"the server answered 201 Created"}, {rules, "500", true, true, "the server answered 500 Internal Server Error"},
	} {
		answer, err := call(t, restSpec(t, base, c.entry), `{"p":`+c.status+`}`)
		e := api.AsError(err)
		switch {
		case (e != nil) != c.fails:
			t.Errorf("%s of %.30s: got %s, %v", c.status, c.entry, answer.Output, err)
		case e == nil && string(answer.Output) != c.want && c.status != "404":
			t.Errorf("%s: got %s", c.status, answer.Output)
		case e != nil && (e.Type != api.ErrExecution || e.Retryable != c.retry ||
			e.Message != c.want):
			t.Errorf("%s of %.30s: got %+v", c.status, c.entry, e)
		}
	}
	answer, err := call(t, restSpec(t, base, rules), `{"p":404}`)
	if err != nil || !slices.Equal(answer.Notes,
		[]string{"not there", "the server answered 404 Not Found"}) {
		t.Errorf("got %q, %v", answer.Notes, err)
	}
	for path, want := range map[string]time.Duration{"429/7": 7 * time.Second,
		"503/999999": time.Hour, "503/soon": 0, "500/3": 3 * time.Second} {
		status, after, _ := strings.Cut(path, "/")
		url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(map[string]int{"429": 429, "503": 503, "500": 500}[status])
			_, _ = io.WriteString(w, "slow \xff down\n")
		})
		_, err := call(t, restSpec(t, url, `path: /`), `{"p":1}`)
		if e := api.AsError(err); e == nil || !e.Retryable || e.RetryAfter.Std() != want ||
			e.Message != "the server answered "+map[string]string{"429": "429 Too Many Requests",
				"503": "503 Service Unavailable", "500": "500 Internal Server Error",
			}[status]+": slow \uFFFD down" {
			t.Errorf("%s: got %+v", path, e)
		}
	}
}

// The body of a failure is cut between characters.
func TestRESTLongFailure_IsTruncated(t *testing.T) {
	url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "x"+strings.Repeat("ä", 1<<20))
	})
	_, err := call(t, restSpec(t, url, `path: /`), `{"p":1}`)
	want := "the server answered 418 I'm a teapot: x" + strings.Repeat("ä", bodyHead/2-1) + "…"
	if e := api.AsError(err); e.Message != want {
		t.Errorf("got %d bytes, %.80q", len(e.Message), e.Message)
	}
}

// They show the URL as written in the spec, never the arguments. The end of the call is reported as
// its cause.
func TestRESTNetworkFailures_AreTransient(t *testing.T) {
	base := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "only this")
		case "/close":
			panic(http.ErrAbortHandler)
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "this is none")
		}
	})
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		base, path string
		retry      bool
		want       string
	}{
		{base, "cut", true, "GET " + base + "/{{args.p}}: the response was cut off: unexpected EOF"},
		{base, "close", true, "GET " + base +
			"/{{args.p}}: the server closed the connection before it answered: EOF"},
		{base, "gzip", false, "GET " + base +
			"/{{args.p}}: the response was cut off: gzip: invalid header"},
		{closed.URL, "x", true, "GET " + closed.URL + "/{{args.p}}: dial tcp " +
			closed.Listener.Addr().String() + ": connect: connection refused"},
	} {
		_, err := call(t, restSpec(t, c.base, `path: "/{{args.p}}", query: {a: "{{args.a}}"}`),
			`{"p":"`+c.path+`","a":"planted"}`)
		if e := api.AsError(err); e == nil || e.Type != api.ErrExecution ||
			e.Retryable != c.retry || e.Message != c.want {
			t.Errorf("%s: got %+v", c.path, e)
		}
	}
}

// The server does not answer, or sends a byte at a time. Cancellation has the same effect.
func TestRESTSlowServers_AreLeftAtTheTimeout(t *testing.T) {
	base := newHTTPBin(t)
	for _, entry := range []string{`path: /delay/30`,
		`path: /drip, query: {duration: 30s, numbytes: 100, delay: 0s}`} {
		reason := errors.New("the run was cancelled")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, reason)
		if _, err := (Executor{}).Execute(ctx, restSpec(t, base, entry),
			json.RawMessage(`{"p":1}`)); !errors.Is(err, reason) {
			t.Errorf("%s: got %v", entry, err)
		}
		cancel()
	}
}

// The server notices it, and the error has the reason.
func TestRESTCancelled_EndsTheRequest(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	url := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(gone)
	})
	reason := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(reason)
	}()
	if _, err := (Executor{}).Execute(ctx, restSpec(t, url, "path: /"),
		json.RawMessage(`{"p":1}`)); !errors.Is(err, reason) {
		t.Errorf("got %v; want %v", err, reason)
	}
	<-gone
}
