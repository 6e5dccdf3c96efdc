package tools

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/tool"
)

const (
	defaultHTTPTimeout = 20 * time.Second
	defaultMaxBody     = 48 << 10
)

// HTTPConfig configures the HTTP tools. The zero value allows public addresses only.
type HTTPConfig struct {
	// Allow lists host names, addresses and ranges ("10.1.0.0/16") that the tools may reach even if
	// they are loopback, link-local, private or otherwise not public. An allowed host name may
	// resolve to any address. Write international names in their xn-- form.
	Allow []string
	// OnlyAllowed refuses every address that Allow does not list.
	OnlyAllowed bool
	// MaxBody is the maximum number of bytes of a response's body; default 48 KiB.
	MaxBody int
}

// Validate reports every entry of Allow that is no host, address or range.
func (c HTTPConfig) Validate() error {
	_, err := c.guard()
	return err
}

func (c HTTPConfig) guard() (*outbound.Guard, error) {
	return outbound.NewGuard(outbound.Policy{Public: !c.OnlyAllowed, Allow: c.Allow})
}

type httpGetInput struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Timeout api.Duration      `json:"timeout,omitzero"`
}

type httpRequestInput struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Timeout api.Duration      `json:"timeout,omitzero"`
}

// HTTP returns the tools http_get, which only reads, and http_request, which sends any method. They
// are two tools because a tool has one effect: Switchyard may repeat a read, but not a request that
// changes something.
//
// The tools use no proxy, send every request once and reuse no connections. They follow at most 5
// redirects and check the address of each. Statuses 429, 503 and other 5xx are transient errors
// that honour Retry-After; every other status is an answer. A refused address is a
// policy_violation. An unreadable Allow fails every call with precondition_failed; check it with
// HTTPConfig.Validate at start.
func HTTP(c HTTPConfig) []tool.Function {
	client := newHTTPClient(c)
	return []tool.Function{
		tool.NewFunction("http_get", func(ctx context.Context, in httpGetInput) (httpResponse,
			error) {
			return client.do(ctx, httpRequestInput{Method: http.MethodGet, URL: in.URL,
				Headers: in.Headers, Timeout: in.Timeout})
		}),
		tool.NewFunction("http_request", client.do),
	}
}

type httpClient struct {
	client  *http.Client
	fault   error
	maxBody int
}

func newHTTPClient(c HTTPConfig) *httpClient {
	guard, fault := c.guard()
	if c.MaxBody <= 0 {
		c.MaxBody = defaultMaxBody
	}
	return &httpClient{client: outbound.Client(guard.Transport(), nil, nil), fault: fault,
		maxBody: c.MaxBody}
}

func (c *httpClient) do(ctx context.Context, in httpRequestInput) (httpResponse, error) {
	if c.fault != nil {
		return httpResponse{}, api.Errorf(api.ErrPreconditionFailed,
			"the HTTP tools' list of allowed hosts is invalid: %v", c.fault)
	}
	timeout := in.Timeout.Std()
	if timeout <= 0 {
		timeout = defaultHTTPTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := newRequest(limited, in)
	if err != nil {
		return httpResponse{}, err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return httpResponse{}, outbound.Failure(ctx, limited, err)
	}
	defer resp.Body.Close()
	// One byte above the limit shows that the body was cut.
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.maxBody)+1))
	if err != nil {
		return httpResponse{},
			outbound.Failure(ctx, limited, fmt.Errorf("the response was cut off: %w", err))
	}
	return answer(resp, body, c.maxBody)
}

var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions}

func newRequest(ctx context.Context, in httpRequestInput) (*http.Request, error) {
	method := strings.ToUpper(in.Method)
	if !slices.Contains(httpMethods, method) {
		return nil, invalid("method", "%q is not one of %s", in.Method, strings.Join(httpMethods,
			", "))
	}
	u, err := checkURL(in.URL)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if in.Body != "" {
		body = strings.NewReader(in.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, invalid("url", "%v", err)
	}
	req.Header.Set("User-Agent", "switchyard")
	if call, ok := callcontext.From(ctx); ok && !outbound.Safe(method) {
		req.Header.Set("Idempotency-Key", call.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		if !outbound.CanSet(canonical) {
			return nil, invalid("headers", "the header %s cannot be set", canonical)
		}
		req.Header.Set(canonical, in.Headers[name])
	}
	return req, nil
}

func checkURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, invalid("url", "the URL cannot be read: %v", err)
	}
	if err := outbound.CheckURL(u); err != nil {
		return nil, invalid("url", "%v", err)
	}
	return u, nil
}
