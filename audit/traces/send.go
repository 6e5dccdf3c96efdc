package traces

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// batchSpans bounds the number of spans of a message, and batchBytes their approximate size.
const (
	batchSpans = 512
	batchBytes = 1 << 20
)

// Endpoint receives spans by OTLP over HTTP.
type Endpoint struct {
	url     string
	headers http.Header
	service string
	client  *http.Client
}

// NewEndpoint returns the endpoint at a base address; spans go to v1/traces below it. Defaults
// come from the OpenTelemetry variables that getenv returns: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (a
// whole address) or OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME
// (default switchyard). The endpoint is nil without an address. Errors do not contain headers,
// which may have secrets.
func NewEndpoint(base string, getenv func(string) string) (*Endpoint, error) {
	address := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base != "" || address == "" {
		if base = cmp.Or(base, getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); base == "" {
			return nil, nil
		}
		address = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1/traces") + "/v1/traces"
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New(
			"the OTLP endpoint has no valid address: write http://host:4318 or https://host:4318",
		)
	}
	e := &Endpoint{
		url:     address,
		headers: http.Header{},
		service: cmp.Or(getenv("OTEL_SERVICE_NAME"), "switchyard"),
		client:  &http.Client{Timeout: 10 * time.Second, CheckRedirect: stay},
	}
	return e, e.addHeaders(getenv("OTEL_EXPORTER_OTLP_HEADERS"))
}

// stay does not follow redirects: they could carry the headers to another host, and some kinds drop
// the body.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// addHeaders reads headers in the form name=value, name=value.
func (e *Endpoint) addHeaders(list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if key == "" && !ok {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil || !ok {
			return errors.New(
				"OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value, separated by commas; write %25 for %",
			)
		}
		e.headers.Set(strings.TrimSpace(key), value)
	}
	return nil
}

// Address returns the address of the endpoint without user and query.
func (e *Endpoint) Address() string {
	u, err := url.Parse(e.url)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// data returns the message of spans.
func data(service string, spans []*tracepb.Span) *tracepb.TracesData {
	schema := "https://opentelemetry.io/schemas/" + conventions
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{
			Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: textValue(service)}},
		},
		SchemaUrl: schema,
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{
				Name: "github.com/switchyard/switchyard",
			}, SchemaUrl: schema, Spans: spans}},
	}}}
}

// sendError is why an endpoint did not accept spans.
type sendError struct {
	error
	// again is set if a retry may succeed. after is the wait that the endpoint asks for; zero for
	// none.
	again bool
	after time.Duration
}

func (e sendError) Unwrap() error { return e.error }

// Send sends spans once. It returns how many of them the endpoint rejected from a message that it
// accepted, and its reason.
func (e *Endpoint) Send(
	ctx context.Context,
	spans []*tracepb.Span,
) (refused int, why string, err error) {
	body, err := e.body(spans)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, body)
	if err != nil {
		return 0, "", err
	}
	request.Header = e.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	response, err := e.client.Do(request)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err // without the address, which may have a secret
		}
		return 0, "", sendError{
			error: fmt.Errorf("%s does not answer: %w", e.Address(), err),
			again: ctx.Err() == nil,
		}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, "", sendError{error: fmt.Errorf("%s: %w", e.Address(), err), again: true}
	}
	return e.answered(response, answer)
}

func (e *Endpoint) body(spans []*tracepb.Span) (io.Reader, error) {
	message, err := proto.Marshal(data(e.service, spans))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(message)
	return &b, errors.Join(err, z.Close())
}

func (e *Endpoint) answered(
	response *http.Response,
	answer []byte,
) (refused int, why string, err error) {
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		var taken collectorpb.ExportTraceServiceResponse
		if proto.Unmarshal(answer, &taken) != nil {
			return 0, "", nil // accepted, with a body in another format
		}
		return int(
				taken.GetPartialSuccess().GetRejectedSpans(),
			), taken.GetPartialSuccess().
				GetErrorMessage(),
			nil
	case code == http.StatusTooManyRequests,
		code == http.StatusBadGateway,
		code == http.StatusServiceUnavailable,
		code == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date is ignored
		return 0, "", sendError{
			error: fmt.Errorf("%s answers %s", e.Address(), response.Status),
			again: true,
			after: time.Duration(max(0, seconds)) * time.Second,
		}
	}
	return 0, "", sendError{
		error: fmt.Errorf(
			"%s answers %s: is it an OTLP endpoint for traces, and are OTEL_EXPORTER_OTLP_HEADERS correct?",
			e.Address(),
			response.Status,
		),
	}
}

// maxPause bounds the pause between two attempts.
const maxPause = 5 * time.Second

// SendAgain is Send with retries until ctx ends, if the endpoint is unreachable or busy.
func (e *Endpoint) SendAgain(
	ctx context.Context,
	spans []*tracepb.Span,
) (refused int, why string, err error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxPause) {
		refused, why, err = e.Send(ctx, spans)
		failed, ok := errors.AsType[sendError](err)
		if !ok || !failed.again {
			return refused, why, err
		}
		select {
		case <-time.After(max(pause, min(failed.after, maxPause))):
		case <-ctx.Done():
			return 0, "", err
		}
	}
}

// WriteJSON writes spans as one line of OTLP JSON for files.
func WriteJSON(w io.Writer, service string, spans []*tracepb.Span) error {
	text, err := protojson.MarshalOptions{
		UseEnumNumbers: true,
	}.Marshal(
		data(cmp.Or(service, "switchyard"), spans),
	)
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
