package rest

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/outbound"
)

// A tool with effect once reuses none, so a server that closes the connection during the second
// call gets its request once, although net/http repeats requests on reused connections.
func TestRESTConnections_AreReusedForRepeatableCalls(t *testing.T) {
	for _, c := range []struct {
		entry, effect string
		connections   int64
		least, most   int64 // requests of a call that the server breaks off
	}{
		{`path: /`, "read", 1, 1, 2},
		{`path: /, method: POST, body: {a: 1}`, "idempotent", 1, 1, 2},
		{`path: /, method: POST, body: {a: 1}`, "once", 3, 1, 1},
		{`path: /, method: DELETE`, "once", 3, 1, 1},
		{`path: /`, "once", 3, 1, 1},
	} {
		var requests, connections atomic.Int64
		var breaks atomic.Bool
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			requests.Add(1)
			if breaks.Load() {
				panic(http.ErrAbortHandler)
			}
		}))
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		s.Start()
		t.Cleanup(s.Close)
		spec := restSpec(t, s.URL, c.entry)
		spec.Execution.Effect = api.Effect(c.effect)
		r := Executor{Connections: new(outbound.Connections)}
		ctx := callcontext.With(t.Context(), api.CallContext{Key: "run/1.1"})
		for range 3 {
			if _, err := r.Execute(ctx, spec, json.RawMessage(`{"p":1}`)); err != nil {
				t.Fatal(err)
			}
		}
		if n := connections.Load(); n != c.connections {
			t.Errorf("%s, %s: %d connections for three calls, want %d", c.entry, c.effect, n,
				c.connections)
		}
		requests.Store(0)
		breaks.Store(true)
		_, err := r.Execute(ctx, spec, json.RawMessage(`{"p":1}`))
		if e := api.AsError(err); e == nil || !e.Retryable ||
			e.Type != api.ErrExecution || !strings.HasSuffix(e.Message,
			": the server closed the connection before it answered: EOF") {
			t.Errorf("%s, %s: got %+v", c.entry, c.effect, e)
		}
		if n := requests.Load(); n < c.least || n > c.most {
			t.Errorf("%s, %s: the server got %d requests of one call", c.entry, c.effect, n)
		}
	}
}
