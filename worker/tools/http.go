package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
)

const (
	defaultHTTPTimeout = 20 * time.Second
	defaultMaxBody     = 48 << 10
	maxRedirects       = 5
	maxResponseHeader  = 64 << 10
)

// HTTPConfig says where the HTTP tools may go. The zero value lets them reach public addresses only.
type HTTPConfig struct {
	// Allow lists host names, addresses and address ranges ("10.1.0.0/16") that may be reached although they are
	// loopback, link-local, private or otherwise not public. An allowed host name may have any address. International
	// names are written in their xn-- form.
	Allow []string
	// OnlyAllowed refuses everything that Allow does not list.
	OnlyAllowed bool
	// MaxBody is how much of a response's body is returned, in bytes; default 48 KiB.
	MaxBody int
}

// Validate reports every entry of Allow that is neither host, address nor range.
func (c HTTPConfig) Validate() error {
	_, err := newGuard(c)
	return err
}

type httpGetInput struct {
	URL     string              `json:"url"`
	Headers map[string]string   `json:"headers,omitempty"`
	Timeout switchyard.Duration `json:"timeout,omitzero"`
}

type httpRequestInput struct {
	Method  string              `json:"method"`
	URL     string              `json:"url"`
	Headers map[string]string   `json:"headers,omitempty"`
	Body    string              `json:"body,omitempty"`
	Timeout switchyard.Duration `json:"timeout,omitzero"`
}

// HTTP returns the tools http_get, which only reads, and http_request, which sends any method. They are two because a
// tool has one effect: reading may be repeated by Switchyard, a request that changes something may not.
//
// There is no proxy from the environment, no retry and no reused connection; at most 5 redirects are followed, each
// checked like the first address. 429, 503 and other 5xx are transient errors, after Retry-After where it is given;
// every other status is an answer. A refused address is a policy_violation. An Allow that cannot be read refuses
// every call with precondition_failed: check it with HTTPConfig.Validate at start.
func HTTP(c HTTPConfig) []activities.Function {
	client := newHTTPClient(c)
	return []activities.Function{
		activities.NewFunction("http_get", func(ctx context.Context, in httpGetInput) (httpResponse, error) {
			return client.do(ctx, httpRequestInput{Method: http.MethodGet, URL: in.URL, Headers: in.Headers, Timeout: in.Timeout})
		}),
		activities.NewFunction("http_request", client.do),
	}
}

type httpClient struct {
	transport *http.Transport
	fault     error
	maxBody   int
}

func newHTTPClient(c HTTPConfig) *httpClient {
	g, fault := newGuard(c)
	if c.MaxBody <= 0 {
		c.MaxBody = defaultMaxBody
	}
	return &httpClient{fault: fault, maxBody: c.MaxBody, transport: &http.Transport{
		Proxy:       nil,
		DialContext: g.dial,
		// On a connection used before, net/http sends a request again by itself when it breaks. Retries are the spec's.
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
	}}
}

func (c *httpClient) do(ctx context.Context, in httpRequestInput) (httpResponse, error) {
	if c.fault != nil {
		return httpResponse{}, switchyard.Errorf(switchyard.ErrPreconditionFailed, "the HTTP tools' list of allowed hosts is wrong: %v", c.fault)
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
	redirects := 0
	client := http.Client{Transport: c.transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		redirects = len(via)
		return checkRedirect(req, via)
	}}
	resp, err := client.Do(req)
	if err != nil {
		return httpResponse{}, requestError(ctx, limited, err, redirects)
	}
	defer resp.Body.Close()
	// One byte more tells a body that was cut from one that fits.
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.maxBody)+1))
	if err != nil {
		return httpResponse{}, requestError(ctx, limited, fmt.Errorf("the response broke off: %w", err), redirects)
	}
	return answer(resp, body, c.maxBody)
}

// ownHeaders are headers that the request decides, not its caller.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Expect"}

var httpMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

func newRequest(ctx context.Context, in httpRequestInput) (*http.Request, error) {
	method := strings.ToUpper(in.Method)
	if !slices.Contains(httpMethods, method) {
		return nil, invalid("method", "%q is not one of %s", in.Method, strings.Join(httpMethods, ", "))
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
	if call, ok := switchyard.ContextOf(ctx); ok && !safe(method) {
		req.Header.Set("Idempotency-Key", call.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		canonical := http.CanonicalHeaderKey(name)
		if slices.Contains(ownHeaders, canonical) {
			return nil, invalid("headers", "the header %s cannot be set", canonical)
		}
		req.Header.Set(canonical, in.Headers[name])
	}
	return req, nil
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

func checkURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, invalid("url", "the URL cannot be read: %v", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, invalid("url", "the URL must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, invalid("url", "the URL names no host")
	case u.User != nil:
		return nil, invalid("url", "the URL holds a user name or password; use a header")
	}
	return u, nil
}

// checkRedirect follows at most maxRedirects redirects. To another place goes no header that was meant for the first.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("the server redirected more than %d times", maxRedirects)
	}
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		maps.DeleteFunc(req.Header, func(name string, _ []string) bool {
			return !slices.Contains([]string{"User-Agent", "Accept", "Accept-Language", "Content-Type"}, name)
		})
	}
	if _, err := checkURL(req.URL.String()); err != nil {
		return errors.New("the server redirected to a URL that is not plain http or https")
	}
	return nil
}
