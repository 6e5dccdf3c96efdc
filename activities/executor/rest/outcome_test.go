package rest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/toolspecs"
)

// ledger is a server that counts the requests with effects, and then answers as its path says.
type ledger struct {
	*httptest.Server
	effects atomic.Int64
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		_, _ = io.Copy(io.Discard, r.Body)
		l.effects.Add(1)
	}
	status := map[string]int{"/400": 400, "/404": 404, "/429": 429, "/500": 500, "/502": 502,
		"/503": 503, "/504": 504}[r.URL.Path]
	switch r.URL.Path {
	case "/cut":
		panic(http.ErrAbortHandler)
	case "/cut-200", "/cut-404":
		w.Header().Set("Content-Length", "100")
		if r.URL.Path == "/cut-404" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, `{"half":`)
	case "/slow":
		<-r.Context().Done()
	case "/303":
		http.Redirect(w, r, "/404", http.StatusSeeOther)
	case "/307":
		http.Redirect(w, r, "http://[::1]:9/elsewhere", http.StatusTemporaryRedirect)
	default:
		w.WriteHeader(max(status, http.StatusOK))
	}
}

// outcome returns the error of a call as the run gets it.
func outcome(t *testing.T, spec *toolspecs.Spec) *api.Error {
	t.Helper()
	ctx, _, stop := executor.WithClock(callcontext.With(t.Context(),
		api.CallContext{Key: "run/1.1"}), spec.Execution.Timeout.Std())
	defer stop()
	_, err := Executor{}.Execute(ctx, spec, json.RawMessage(`{"p":1}`))
	if err == nil {
		t.Fatal("the call succeeded")
	}
	return executor.CallError(ctx, err, spec)
}

// The cases show which answers leave open whether a request took effect. The outcome of a call with
// effect once is then unknown; a repeatable call fails as before and may have acted.
func TestREST_TellsUnclearAnswersFromClearOnes(t *testing.T) {
	l := newLedger(t)
	for path, test := range map[string]struct {
		entry   string
		unclear bool
		// once and repeatable are the types of the errors.
		once, repeatable api.ErrorType
		retryable        bool
	}{
		"500":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, true},
		"502":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, true},
		"503":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, true},
		"504":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, true},
		"cut":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, true},
		"cut-200":  {"", true, api.ErrOutcomeUnknown, api.ErrExecution, true},
		"slow":     {"", true, api.ErrOutcomeUnknown, api.ErrTimeout, true},
		"303":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, false},
		"307":      {"", true, api.ErrOutcomeUnknown, api.ErrExecution, false},
		"400":      {"", false, api.ErrExecution, api.ErrExecution, false},
		"404":      {"", false, api.ErrExecution, api.ErrExecution, false},
		"cut-404":  {"", false, api.ErrExecution, api.ErrExecution, false},
		"429":      {"", false, api.ErrExecution, api.ErrExecution, true},
		"503?fail": {`{status: "503", means: fail}`, false, api.ErrExecution, api.ErrExecution, false},
		"502?retry": {`{status: 5xx, means: retry}`, false, api.ErrExecution, api.ErrExecution,
			true},
	} {
		spec := restSpec(t, l.URL, `method: POST, path: /`+strings.Split(path, "?")[0]+
			`, statuses: [`+test.entry+`]`)
		spec.Execution.Timeout = api.Duration(time.Second)
		before := l.effects.Load()
		e := outcome(t, spec)
		if e.Type != test.once || e.NotStarted || e.MayHaveActed() != test.unclear ||
			test.unclear && e.Retryable {
			t.Errorf("%s, once: got %+v", path, e)
		}
		spec.Execution.Effect = api.EffectIdempotent
		e = outcome(t, spec)
		if e.Type != test.repeatable || e.NotStarted || e.MayHaveActed() != test.unclear ||
			e.Retryable != test.retryable {
			t.Errorf("%s, idempotent: got %+v", path, e)
		}
		if n := l.effects.Load() - before; n != 2 {
			t.Errorf("%s: the server saw %d requests of two calls", path, n)
		}
	}
}

// A failed status leaves the outcome of a GET open if any response before it was a 301, 302 or 303:
// the server may have executed the request before it redirected. A 307 or 308 only moves the
// request.
func TestREST_TellsRedirectedReads(t *testing.T) {
	for name, test := range map[string]struct {
		// redirects are the statuses before the final 404.
		redirects []int
		unclear   bool
	}{
		"none":           {nil, false},
		"301":            {[]int{301}, true},
		"302":            {[]int{302}, true},
		"303":            {[]int{303}, true},
		"307":            {[]int{307}, false},
		"308":            {[]int{308}, false},
		"302, then 307":  {[]int{302, 307}, true},
		"308, then 303":  {[]int{308, 303}, true},
		"307, then 308":  {[]int{307, 308}, false},
		"301, 307 twice": {[]int{301, 307, 307}, true},
	} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := int(requests.Add(1)); n <= len(test.redirects) {
				http.Redirect(w, r, "/next", test.redirects[n-1])
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}))
		defer server.Close()
		spec := restSpec(t, server.URL, `method: GET, path: /`)
		spec.Execution.Timeout = api.Duration(10 * time.Second)
		spec.Execution.Effect = api.EffectOnce
		want := api.ErrExecution
		if test.unclear {
			want = api.ErrOutcomeUnknown
		}
		if e := outcome(t, spec); e.Type != want || e.MayHaveActed() != test.unclear {
			t.Errorf("%s: got %+v", name, e)
		}
		if n := int(requests.Load()); n != len(test.redirects)+1 {
			t.Errorf("%s: the server saw %d requests", name, n)
		}
	}
}

// The cases are failures before anything leaves the worker. Such a call has not started, whatever
// its effect, and the server gets no request.
func TestREST_TellsWhatWasNotSent(t *testing.T) {
	l, closed := newLedger(t), httptest.NewServer(nil)
	closed.Close()
	var handshakes atomic.Int64
	untrusted := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		handshakes.Add(1)
	}))
	defer untrusted.Close()
	for name, test := range map[string]struct {
		base, entry string
		want        api.ErrorType
		retryable   bool
	}{
		"refused connection": {closed.URL, "path: /", api.ErrExecution, true},
		"untrusted server":   {untrusted.URL, "path: /", api.ErrExecution, false},
		"no TLS": {strings.Replace(l.URL, "http:", "https:", 1), "path: /", api.ErrExecution,
			false},
		"refused address": {"http://[::1]:9", "path: /", api.ErrPolicyViolation, false},
		"missing secret": {l.URL, "auth: {type: bearer, secret: env:SWITCHYARD_TEST_UNSET}",
			api.ErrPreconditionFailed, false},
	} {
		for _, effect := range []api.Effect{api.EffectOnce, api.EffectIdempotent, api.EffectRead} {
			spec := restSpec(t, test.base, `method: POST, `+test.entry)
			spec.Execution.Effect = effect
			if e := outcome(t, spec); e.Type != test.want || !e.NotStarted || e.MayHaveActed() ||
				e.Retryable != test.retryable {
				t.Errorf("%s, %s: got %+v", name, effect, e)
			}
		}
	}
	spec := restSpec(t, l.URL, "method: POST")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(executor.ErrTimeout)
	_, err := Executor{}.Execute(ctx, spec, json.RawMessage(`{"p":1}`))
	if e := executor.CallError(ctx, err, spec); e.Type != api.ErrTimeout || !e.NotStarted {
		t.Errorf("a call whose time passed before: got %+v", e)
	}
	if n := l.effects.Load() + handshakes.Load(); n != 0 {
		t.Errorf("the servers saw %d requests", n)
	}
}
