package traces

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func getenv(of map[string]string) func(string) string {
	return func(name string) string { return of[name] }
}

func endpoint(t *testing.T, handle http.HandlerFunc) *Endpoint {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	e, err := NewEndpoint(
		server.URL,
		getenv(
			map[string]string{
				"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20planted, x-team=a",
			},
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Errors do not contain values that may be secret.
func TestNewEndpoint_UsesFlagAndEnvironment(t *testing.T) {
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
		"no address": {base: "localhost:4318", fault: "the OTLP endpoint has no valid address: write http://host:4318 or https://host:4318"},
		"a user":     {base: "http://u:planted@c/", want: "http://c/v1/traces"},
		"a secret":   {base: "ftp://u:planted@c", fault: "the OTLP endpoint has no valid address: write http://host:4318 or https://host:4318"},
		"headers": {base: "http://c",
			env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "planted"}, fault: "OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, separated by commas; write %25 for %"},
		"escapes": {base: "http://c",
			env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=planted%"}, fault: "OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, separated by commas; write %25 for %"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := NewEndpoint(tt.base, getenv(tt.env))
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
	if refused, _, err := busy.SendAgain(t.Context(), spans); err != nil || refused != 0 ||
		tries.Load() != 3 {
		t.Errorf("after %d tries: %d refused, %v", tries.Load(), refused, err)
	}
	const check = ": is it an OTLP endpoint for traces, and are OTEL_EXPORTER_OTLP_HEADERS correct?"
	closed := endpoint(
		t,
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	)
	if _, _, err := closed.SendAgain(t.Context(), spans); err == nil ||
		err.Error() != closed.Address()+" answers 401 Unauthorized"+check {
		t.Errorf("refused: %v", err)
	}
	elsewhere := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" {
			t.Errorf("the headers %v came to %s", r.Header, r.URL.Path)
		}
		http.Redirect(w, r, "/login", http.StatusFound)
	})
	if _, _, err := elsewhere.SendAgain(t.Context(), spans); err == nil ||
		err.Error() != elsewhere.Address()+" answers 302 Found"+check {
		t.Errorf("elsewhere: %v", err)
	}
	part := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		answer, _ := proto.Marshal(
			&collectorpb.ExportTraceServiceResponse{
				PartialSuccess: &collectorpb.ExportTracePartialSuccess{
					RejectedSpans: 1,
					ErrorMessage:  "too old",
				},
			},
		)
		_, _ = w.Write(answer)
	})
	if refused, why, err := part.Send(t.Context(), spans); err != nil || refused != 1 ||
		why != "too old" {
		t.Errorf("in part: %d, %q, %v", refused, why, err)
	}
	away, err := NewEndpoint("http://u:planted@127.0.0.1:1", getenv(nil))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := away.SendAgain(ended, spans); err == nil ||
		strings.Contains(err.Error(), "planted") {
		t.Errorf("away: %v", err)
	}
}
