package traces

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// batchSpans bounds the number of spans of a message, and batchBytes their approximate size.
const (
	batchSpans = 512
	batchBytes = 1 << 20
)

// Endpoint receives spans by OTLP over HTTP. It sends one message at a time.
type Endpoint struct {
	address   string
	client    otlptrace.Client
	transport *transport
}

// NewEndpoint returns the endpoint at a base address; spans go to v1/traces below it. Defaults come
// from the OpenTelemetry variables OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (a whole address),
// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS. The endpoint is nil without an
// address. Errors do not contain headers, which may have secrets.
func NewEndpoint(base string) (*Endpoint, error) {
	address := endpointAddress(base)
	if address == "" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" {
		return nil, errors.New("the OTLP endpoint has no valid address: write http://host:4318 or " +
			"https://host:4318, and credentials in OTEL_EXPORTER_OTLP_HEADERS")
	}
	if err := cmp.Or(checkHeaders("OTEL_EXPORTER_OTLP_HEADERS"),
		checkHeaders("OTEL_EXPORTER_OTLP_TRACES_HEADERS")); err != nil {
		return nil, err
	}
	transport := &transport{}
	client := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(address),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true,
			InitialInterval: 100 * time.Millisecond, MaxInterval: 5 * time.Second}),
		otlptracehttp.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: stay,
			Timeout: 10 * time.Second}))
	return &Endpoint{address, client, transport}, nil
}

// endpointAddress returns the whole address for a base address; empty if neither it nor a variable
// is set.
func endpointAddress(base string) string {
	if whole := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); base == "" && whole != "" {
		return whole
	}
	if base = cmp.Or(base, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); base == "" {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1/traces") + "/v1/traces"
}

// headerName matches the names of headers (RFC 9110, 5.6.2).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// checkHeaders rejects the headers of an environment variable of which the client would log the
// value.
func checkHeaders(variable string) error {
	list := os.Getenv(variable)
	if list == "" {
		return nil
	}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(pair, "=")
		_, err := url.PathUnescape(value)
		if err != nil || !found || !headerName.MatchString(strings.TrimSpace(name)) {
			return fmt.Errorf("%s is not a list of name=value, separated by commas; write %%25 for %%",
				variable)
		}
	}
	return nil
}

// stay does not follow redirects: they could carry the headers to another host, and some kinds drop
// the body.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// transport keeps the status of the last answer, which errors of the client do not have.
type transport struct{ status int }

// unreachable is a failure that may pass.
type unreachable struct{ error }

func (unreachable) Temporary() bool { return true }

// RoundTrip makes a request. Its errors are repeated by the client, which by itself does not repeat
// connections that are refused.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.status = 0
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, unreachable{err}
	}
	t.status = response.StatusCode
	return response, nil
}

// Address returns the address of the endpoint.
func (e *Endpoint) Address() string { return e.address }

// RejectedError says which spans an endpoint rejected from a message that it accepted.
type RejectedError struct{ error }

// Send sends spans, until ctx ends also to an endpoint that is unreachable or busy.
func (e *Endpoint) Send(ctx context.Context, spans []*tracepb.Span) error {
	e.transport.status = 0 // the client sends nothing if ctx has ended
	err := e.client.UploadTraces(ctx, resourceSpans(spans))
	switch status := e.transport.status; {
	case err == nil:
		return nil
	case ctx.Err() != nil && status != 0:
		return fmt.Errorf("%w; %s last answered %d", err, e.address, status)
	case status/100 == 2:
		return RejectedError{err}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%w; check OTEL_EXPORTER_OTLP_HEADERS", err)
	}
	return err
}

// resourceSpans returns the content of a message of spans. The service is OTEL_SERVICE_NAME, or
// switchyard.
func resourceSpans(spans []*tracepb.Span) []*tracepb.ResourceSpans {
	service := cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "switchyard")
	schema := "https://opentelemetry.io/schemas/" + conventions
	return []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{
			Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: textValue(service)}},
		},
		SchemaUrl: schema,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope:     &commonpb.InstrumentationScope{Name: "github.com/switchyard/switchyard"},
			SchemaUrl: schema,
			Spans:     spans,
		}},
	}}
}

// WriteJSON writes spans as one line of OTLP JSON for files.
func WriteJSON(w io.Writer, spans []*tracepb.Span) error {
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(
		&tracepb.TracesData{ResourceSpans: resourceSpans(spans)})
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var message any
	if err := decoder.Decode(&message); err != nil {
		return err
	}
	hexIDs(message)
	return json.NewEncoder(w).Encode(message)
}

var idNames = map[string]bool{"traceId": true, "spanId": true, "parentSpanId": true}

// hexIDs writes IDs in hexadecimal, where OTLP JSON differs from the JSON of protobuf.
func hexIDs(value any) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			hexIDs(v)
		}
	case map[string]any:
		for key, v := range value {
			hexIDs(v)
			if id, ok := v.(string); ok && idNames[key] {
				raw, _ := base64.StdEncoding.DecodeString(id) // valid: encoded above
				value[key] = hex.EncodeToString(raw)
			}
		}
	}
}
