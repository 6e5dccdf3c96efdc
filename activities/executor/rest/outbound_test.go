package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// At most five redirects are followed, and secrets and headers stay at their origin. Other hosts
// get no request.
func TestRESTRedirects_StayWithinAllowedHosts(t *testing.T) {
	t.Setenv("SWITCHYARD_TEST_SECRET", "planted-secret")
	base := newHTTPBin(t)
	var other atomic.Pointer[http.Header]
	elsewhere := serving(t, func(_ http.ResponseWriter,
		r *http.Request) {
		h := r.Header.Clone()
		other.Store(&h)
	})
	byName := strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)
	common := `headers: {X-Custom: mine}, auth: {type: bearer, secret: env:SWITCHYARD_TEST_SECRET}, `

	answer, err := call(t, restSpec(t, base, common+
		`path: /redirect/3, extract: headers.Authorization`), `{"p":1}`)
	if err != nil || !strings.Contains(string(answer.Output), "[secret]") {
		t.Errorf("within one host: got %s, %v", answer.Output, err)
	}
	if _, err := call(t, restSpec(t, base, common+`path: /redirect/6`), `{"p":1}`); err == nil ||
		api.AsError(err).Message != "GET "+base+"/redirect/6: the server redirected more than 5 times" {
		t.Errorf("six redirects: got %v", err)
	}
	if _, err := call(t, restSpec(t, base, common+`path: /redirect-to, query: {url: "`+elsewhere+
		`"}`), `{"p":1}`); err != nil {
		t.Errorf("to another port: %v", err)
	}
	if h := other.Swap(nil); h == nil || h.Get("Authorization") != "" || h.Get("X-Custom") != "" ||
		h.Get("Idempotency-Key") != "" {
		t.Errorf("another place got %v", h)
	}
	_, err = call(t, restSpec(t, base, common+`path: /redirect-to, query: {url: "`+byName+`"}`),
		`{"p":1}`)
	if e := api.AsError(err); other.Load() == nil && (e == nil || e.Type != api.ErrExecution) {
		t.Errorf("to a host that only its address allows: got %v", err)
	}
}

// Internal addresses must be allowed by the spec or the operator; redirects do not use the latter.
func TestRESTGuard_AllowsTheToolsHostOnly(t *testing.T) {
	inside := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "inside")
	})
	run := func(r Executor, base, allow string) *api.Error {
		spec := restSpec(t, base, `path: /`)
		toolspecs.EditEntry(spec, func(e *toolspecs.RESTEntry) {
			if e.Allow = nil; allow != "" {
				e.Allow = strings.Split(allow, ",")
			}
		})
		_, err := r.Execute(t.Context(), spec, json.RawMessage(`{"p":1}`))
		return api.AsError(err)
	}
	if e := run(Executor{}, inside, ""); e == nil || e.Type != api.ErrPolicyViolation ||
		e.Message != "127.0.0.1 is refused: its address 127.0.0.1 is loopback; to reach it, add the host, the address or its range to allow in the toolspec or to SWITCHYARD_HTTP_ALLOW of the worker" {
		t.Errorf("got %v", e)
	}
	if e := run(Executor{Inside: []string{"127.0.0.0/8"}}, inside, ""); e != nil {
		t.Errorf("opened by the operator: %v", e)
	}
	if e := run(Executor{}, inside, "127.0.0.1"); e != nil {
		t.Errorf("opened by the spec: %v", e)
	}
	redirects := serving(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(inside, "127.0.0.1", "127.0.0.2", 1), http.StatusFound)
	})
	if e := run(Executor{Inside: []string{"127.0.0.0/8"}}, redirects, ""); e == nil ||
		e.Message != "the server redirected to another address, and 127.0.0.2 is refused: it is not one of the allowed hosts; to reach it, add it to allow in the toolspec" {
		t.Errorf("a redirect inside: %v", e)
	}
	if e := run(Executor{}, "http://metadata.google.internal", "nothing/at/all"); e == nil ||
		e.Type != api.ErrPreconditionFailed {
		t.Errorf("a wrong entry: %v", e)
	}
}

// The secret is read at each call, and is nowhere in the result, however the server repeats it.
func TestRESTSecrets_AreSentAndHidden(t *testing.T) {
	const planted = `pl"ant:ed/&secret`
	t.Setenv("SWITCHYARD_TEST_SECRET", planted)
	var got atomic.Pointer[http.Request]
	base := serving(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r)
		all := r.Header.Get("Authorization") + " " + r.Header.Get("X-Key") + " " + r.RequestURI +
			" " + planted
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{planted: []any{all, 5}})
		case "/text":
			_, _ = io.WriteString(w, all)
		case "/fail":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, all)
		case "/broken":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"`+all)
		case "/binary":
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "\xff"+all)
		case "/edge": // what is read ends within the secret
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, strings.Repeat(planted+"x", 20))
		case "/many":
			_, _ = io.WriteString(w, strings.Repeat(planted+"x", 20))
		case "/location":
			w.Header().Set("Location", "http://%zz/"+all)
			w.WriteHeader(http.StatusFound)
		case "/cut":
			_, _ = io.WriteString(w, strings.Repeat(" ", 190)+"x"+planted+strings.Repeat(" ", 500))
		}
		if r.Method == http.MethodHead {
			w.Header().Set("X-All", all)
		}
	})
	auths := []string{`{type: bearer, secret: env:SWITCHYARD_TEST_SECRET}`,
		`{type: basic, secret: env:SWITCHYARD_TEST_SECRET}`,
		`{type: header, name: x-key, secret: env:SWITCHYARD_TEST_SECRET}`,
		`{type: query, name: key, secret: env:SWITCHYARD_TEST_SECRET}`}
	for _, auth := range auths {
		for _, path := range []string{"json", "text", "fail", "broken", "location", "cut", "binary",
			"edge", "many", "head"} {
			method := map[bool]string{true: "HEAD", false: "GET"}[path == "head"]
			answer, err := call(t, restSpec(t, base, `method: `+method+`, path: /`+path+
				`, max_response: 200, auth: `+auth), `{"p":1}`)
			all := string(answer.Output) + strings.Join(answer.Notes, "")
			if err != nil {
				all += err.Error()
			}
			var binary struct {
				Body []byte `json:"body_base64"`
			}
			if json.Unmarshal(answer.Output, &binary) == nil {
				all += string(binary.Body)
			}
			for _, part := range []string{`l"ant`, `l\"ant`, "ant:ed", "ant%3Aed", "cGwiYW50OmVk",
				"/&sec"} {
				if strings.Contains(all, part) {
					t.Errorf("%s, %s: %s", auth, path, all)
				}
			}
			if !strings.Contains(all, "[secret]") && path != "location" && path != "cut" {
				t.Errorf("%s, %s: %s", auth, path, all)
			}
		}
	}
	if query := got.Load().URL.Query(); query.Get("key") != planted {
		t.Errorf("got %v", query)
	}
	t.Setenv("SWITCHYARD_TEST_SECRET", "another secret")
	if _, err := call(t, restSpec(t, base, `path: /text, auth: `+auths[0]),
		`{"p":1}`); err != nil ||
		got.Load().Header.Get("Authorization") != "Bearer another secret" {
		t.Errorf("got %v, %v", got.Load().Header, err)
	}
	_, err := call(t, restSpec(t, base, `auth: {type: bearer, secret: env:SWITCHYARD_TEST_UNSET}`),
		`{"p":1}`)
	if e := api.AsError(err); e == nil || e.Type != api.ErrPreconditionFailed {
		t.Errorf("got %v", err)
	}
}
