package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"google.golang.org/protobuf/proto"
)

// fakeAPI is a REST API that records its requests.
type fakeAPI struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	times    []time.Time
}

// newAPI starts an API. It records each request before handle answers; handle gets its number, from
// 1.
func newAPI(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int)) *fakeAPI {
	t.Helper()
	a := &fakeAPI{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.requests, a.times = append(a.requests, r), append(a.times, time.Now())
		n := len(a.requests)
		a.mu.Unlock()
		handle(w, r, n)
	}))
	t.Cleanup(a.Close)
	return a
}

// asked returns the requests so far.
func (a *fakeAPI) asked() []*http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// restTools writes toolspecs of the kind rest into a folder: name to the text of the entry beside
// type and base_url.
func (l *lab) restTools(base string, entries map[string]string) string {
	l.t.Helper()
	dir := l.t.TempDir()
	for name, entry := range entries {
		text := fmt.Sprintf("name: %s\nversion: 1.0.0\ndescription: Asks an API.\nparameters: [{name: id, type: string, required: true}]\n"+
			"entry: {type: rest, base_url: %q, allow: [127.0.0.1], %s}\n", name, base, entry)
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	return dir
}

// A server's Retry-After decides when a call is retried. Every attempt has the same key, and a tool
// with effect once has one attempt.
func TestREST_FollowsRetryAfter(t *testing.T) {
	l := newLab(t)
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 || r.Method == http.MethodPost {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"data": {"path": %q, "big": 12345678901234567890}}`,
			r.URL.EscapedPath())
	})
	l.workerIn(nil, "--tools", l.restTools(a.URL, map[string]string{
		"fetch":  `path: "/items/{{args.id}}", extract: /data`,
		"create": `method: POST, path: /items, body: {id: "{{args.id}}"}`,
	}))
	run := l.runCall("run", "fetch", `{"id":"a/b"}`)
	if r := l.result(run); string(
		r.Output) != `{"big":12345678901234567890,"path":"/items/a%2Fb"}` {
		t.Errorf("result: %s", r.Output)
	}
	if record := l.records(run)[0]; record.Attempts != 2 {
		t.Errorf("%d attempts; want 2", record.Attempts)
	}
	requests := a.asked()
	if len(requests) != 2 || a.times[1].Sub(a.times[0]) < time.Second {
		t.Fatalf("%d requests at %v", len(requests), a.times)
	}
	first, second := requests[0].Header.Get("Idempotency-Key"),
		requests[1].Header.Get("Idempotency-Key")
	if want := api.IdempotencyKey(run.GetRunID(), l.records(run)[0].CallID); first != want ||
		second != want {
		t.Errorf("keys %q and %q; want %q", first, second, want)
	}
	failed := l.runCall("failed", "create", `{"id":"a"}`)
	l.failure(failed, api.RunCallsFailed)
	if record := l.records(failed)[0]; record.Error.Type != api.ErrExecution ||
		record.Attempts != 1 || len(a.asked()) != 3 {
		t.Errorf("got %+v after %d attempts, %d requests", record.Error, record.Attempts,
			len(a.asked()))
	}
}

// A secret of a toolspec reaches the API and is in no history, record, log or metric, although the
// API repeats it in answers, failures and redirects.
func TestREST_KeepsSecretsOnTheWorker(t *testing.T) {
	const planted = "planted:s3cr&t/v4lue"
	l := newLab(t)
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		repeated := r.Header.Get("Authorization") + " " + r.Header.Get("X-Key") + " " + r.RequestURI
		switch r.URL.Path {
		case "/answer":
			_, _ = io.WriteString(w, repeated)
		case "/fail":
			http.Error(w, repeated, http.StatusBadRequest)
		case "/busy":
			http.Error(w, repeated, http.StatusBadGateway)
		case "/away":
			http.Redirect(w, r, "http://localhost:1/"+url.QueryEscape(repeated), http.StatusFound)
		case "/break":
			panic(http.ErrAbortHandler)
		}
	})
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(planted+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	auths := map[string]string{"bearer": "secret: env:PLANTED", "basic": "secret: \"file:" + file +
		"\"", "header": "secret: env:PLANTED, name: X-Key",
		"query": "secret: env:PLANTED, name: key"}
	entries, calls := map[string]string{}, []api.ScriptCall{}
	for kind, auth := range auths {
		for _, path := range []string{"answer", "fail", "busy", "away", "break"} {
			name := kind + "_" + path
			entries[name] = fmt.Sprintf(`path: /%s, auth: {type: %s, %s}`, path, kind, auth)
			calls = append(calls, call(name, `{"id":"x"}`))
		}
	}
	entries["unset"] = `auth: {type: bearer, secret: env:PLANTED_ELSEWHERE}`
	worker := l.workerIn([]string{"PLANTED=" + planted}, "--tools", l.restTools(a.URL, entries),
		"--metrics-address", "127.0.0.1:0", "--log-level", "debug")
	asker := agent(step(append(calls, call("unset", `{"id":"x"}`))...), answer("done"))
	asker.Tools = nil
	for name := range entries {
		asker.Tools = append(asker.Tools, name)
	}
	run := l.runAgent("run", asker)
	l.result(run)

	texts := map[string]string{}
	for i, h := range l.histories("run", run.GetRunID()) {
		data, err := proto.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprint("history ", i)] = string(data)
	}
	for name, value := range map[string]any{"records": l.records(run),
		"conversation": l.conversation(run)} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	log, err := os.ReadFile(worker.Log)
	if err != nil {
		t.Fatal(err)
	}
	texts["log"] = string(log)
	texts["metrics"] = l.readMetrics()
	for name, text := range texts {
		if len(text) < 500 {
			t.Errorf("%s: only %q", name, text)
		}
		for _, form := range []string{planted, "s3cr", "v4lue",
			base64.StdEncoding.EncodeToString([]byte(planted))[:20]} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s: the secret is in …%q", name, text[max(0, i-100):i+len(form)])
			}
		}
	}
	if !strings.Contains(texts["records"], "[secret]") || !strings.Contains(texts["records"],
		"env:PLANTED_ELSEWHERE is not set") {
		t.Errorf("the records do not say what was hidden or missing: %s", texts["records"])
	}
	reached := 0
	for _, r := range a.asked() {
		user, password, _ := r.BasicAuth()
		for _, got := range []string{user + ":" + password,
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Key"),
			r.URL.Query().Get("key")} {
			if got == planted {
				reached++
			}
		}
	}
	if reached != len(a.asked()) || reached < len(calls) {
		t.Errorf("the secret reached the API with %d of %d requests", reached, len(a.asked()))
	}
}
