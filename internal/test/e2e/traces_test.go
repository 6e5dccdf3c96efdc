package e2e

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/audit/traces"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// collector receives traces as an OpenTelemetry collector does, over HTTP.
type collector struct {
	*httptest.Server
	mu sync.Mutex
	// spans has the received spans, by their ids; faults has faults of messages.
	spans  map[string]*tracepb.Span
	faults []string
}

func newCollector(t *testing.T) *collector {
	c := &collector{spans: map[string]*tracepb.Span{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fault := func(format string, args ...any) {
		c.faults = append(c.faults,
			fmt.Sprintf(format, args...))
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("Content-Encoding") != "gzip" {
		fault("a request to %s with %v", r.URL.Path, r.Header)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		fault("the body: %v", err)
		return
	}
	body, err := io.ReadAll(z)
	var message tracepb.TracesData
	if err != nil || proto.Unmarshal(body, &message) != nil {
		fault("the body of %d bytes is no message: %v", len(body), err)
	}
	for _, resource := range message.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := hex.EncodeToString(span.GetTraceId()) + "/" +
					hex.EncodeToString(span.GetSpanId())
				if earlier := c.spans[id]; earlier != nil && !proto.Equal(earlier, span) {
					fault("two spans have the id %s: %v and %v", id, earlier, span)
				}
				c.spans[id] = span
			}
		}
	}
}

// traced fails the test unless the histories of a run and of its sub-agents give one trace of count
// spans, in which each span but one is below another.
func (l *lab) traced(run client.WorkflowRun, count int) {
	l.t.Helper()
	ids, trace := map[string]bool{}, ""
	var all []*tracepb.Span
	for span, err := range traces.Read(l.ctx, l.Client, run.GetID(), "", traces.Options{}) {
		if err != nil {
			l.t.Fatal(err)
		}
		id := hex.EncodeToString(span.GetTraceId()) + "/" + hex.EncodeToString(span.GetSpanId())
		ids[id], trace, all = true, hex.EncodeToString(span.GetTraceId())+"/", append(all, span)
	}
	roots := 0
	for _, span := range all {
		if len(span.GetParentSpanId()) == 0 {
			roots++
		} else if parent := hex.EncodeToString(span.GetParentSpanId()); !ids[trace+parent] {
			l.t.Errorf("%s is below %s, which is no span of the trace %s", span.GetName(), parent,
				trace)
		}
	}
	if len(ids) != count || len(all) != count || roots != 1 {
		l.t.Errorf("%d spans with %d ids and %d roots, want %d and 1", len(all), len(ids), roots,
			count)
	}
}
