package traces

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func endpoint(t *testing.T, handle http.HandlerFunc) *Endpoint {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20planted, x-team=a")
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	e, err := NewEndpoint(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Errors do not contain values that may be secret.
func TestNewEndpoint_UsesFlagAndEnvironment(t *testing.T) {
	const address = "the OTLP endpoint has no valid address: write http://host:4318 or " +
		"https://host:4318, and credentials in OTEL_EXPORTER_OTLP_HEADERS"
	const headers = "OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, separated by commas; " +
		"write %25 for %"
	for name, tt := range map[string]struct {
		base, want, fault string
		env               map[string]string
	}{
		"none":         {},
		"a base":       {base: "http://c:4318", want: "http://c:4318/v1/traces"},
		"with a slash": {base: "http://c:4318/", want: "http://c:4318/v1/traces"},
		"whole":        {base: "http://c:4318/v1/traces", want: "http://c:4318/v1/traces"},
		"below a path": {base: "https://c/otlp", want: "https://c/otlp/v1/traces"},
		"of the environment": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"},
			want: "http://c:4318/v1/traces"},
		"for traces": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://d/x"}, want: "http://d/x"},
		"the flag first": {base: "http://e",
			env:  map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://d/x"},
			want: "http://e/v1/traces"},
		"no address": {base: "localhost:4318", fault: address},
		"a user":     {base: "http://u:planted@c/", fault: address},
		"a query":    {base: "http://c/?key=planted", fault: address},
		"a secret":   {base: "ftp://u:planted@c", fault: address},
		"headers": {base: "http://c",
			env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "planted"}, fault: headers},
		"escapes": {base: "http://c",
			env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=planted%"}, fault: headers},
		"a colon": {base: "http://c", env: map[string]string{
			"OTEL_EXPORTER_OTLP_HEADERS": "Authorization: Bearer planted=="}, fault: headers},
		"headers for traces": {base: "http://c",
			env:   map[string]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "planted"},
			fault: strings.Replace(headers, "OTLP_HEADERS", "OTLP_TRACES_HEADERS", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"ENDPOINT", "TRACES_ENDPOINT", "HEADERS",
				"TRACES_HEADERS"} {
				name = "OTEL_EXPORTER_OTLP_" + name
				t.Setenv(name, tt.env[name])
			}
			e, err := NewEndpoint(tt.base)
			if tt.fault != "" {
				if err == nil || err.Error() != tt.fault ||
					strings.Contains(err.Error(), "planted") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || (e == nil) != (tt.want == "") || e != nil && e.Address() != tt.want {
				t.Errorf("got %v, %v; want %s", e, err, tt.want)
			}
		})
	}
}

// Busy endpoints are retried, refusals are not, rejected spans are reported, and no secret is in an
// error.
func TestSend_RetriesBusyEndpoints(t *testing.T) {
	spans := []*tracepb.Span{{Name: "a"}, {Name: "b"}}
	var tries atomic.Int32
	busy := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer planted" || r.Header.Get("X-Team") != "a" {
			t.Errorf("the headers are %v", r.Header)
		}
		if tries.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	if err := busy.Send(t.Context(), spans); err != nil || tries.Load() != 3 {
		t.Errorf("after %d tries: %v", tries.Load(), err)
	}
	closed := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	if err := closed.Send(t.Context(), spans); err == nil || err.Error() !=
		"failed to send to "+closed.Address()+": 401 Unauthorized (body: (empty)); check "+
			"OTEL_EXPORTER_OTLP_HEADERS" {
		t.Errorf("refused: %v", err)
	}
	elsewhere := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" {
			t.Errorf("the headers %v came to %s", r.Header, r.URL.Path)
		}
		http.Redirect(w, r, "/login", http.StatusFound)
	})
	if err := elsewhere.Send(t.Context(), spans); err == nil || err.Error() !=
		"failed to send to "+elsewhere.Address()+": 302 Found (body: (empty))" {
		t.Errorf("elsewhere: %v", err)
	}
	part := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		answer, _ := proto.Marshal(&collectorpb.ExportTraceServiceResponse{
			PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: 1,
				ErrorMessage: "too old"},
		})
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(answer)
	})
	err := part.Send(t.Context(), spans)
	if _, ok := errors.AsType[RejectedError](err); !ok ||
		err.Error() != "OTLP partial success: too old (1 spans rejected)" {
		t.Errorf("in part: %v", err)
	}
}

// An endpoint that is unreachable gets the spans as soon as it is there.
func TestSend_WaitsForAnUnreachableEndpoint(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) {}))
	address := server.Listener.Addr().String()
	server.Listener.Close()
	e, err := NewEndpoint("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	spans := []*tracepb.Span{{Name: "a"}}
	if err := e.Send(soon, spans); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("away: %v", err)
	}
	sent := make(chan error)
	go func() { sent <- e.Send(t.Context(), spans) }()
	if server.Listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server.Start()
	defer server.Close()
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// Spans that were not sent because their context ended are not taken for rejected ones.
func TestSend_OfAnEndedContextIsNoRejection(t *testing.T) {
	e := endpoint(t, func(http.ResponseWriter, *http.Request) {})
	spans := []*tracepb.Span{{Name: "a"}}
	if err := e.Send(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.Send(ctx, spans)
	if _, rejected := errors.AsType[RejectedError](err); rejected || !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}
