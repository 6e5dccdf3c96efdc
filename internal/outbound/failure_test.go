package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Failures that would repeat are not transient. The end of the call is reported as its cause.
func TestFailures_AreTransientIfTheNetworkFailed(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}))
	defer broken.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	for _, c := range []struct {
		address string
		limit   time.Duration
		retry   bool
		want    string
	}{
		{broken.URL, time.Minute, true, `Get "URL": EOF`},
		{broken.URL + "/hang", 50 * time.Millisecond, true,
			"the server did not answer within the request's timeout"},
		{closed.URL, time.Minute, true,
			`Get "URL": dial tcp HOST: connect: connection refused`},
		{secure.URL, time.Minute, false,
			`Get "URL": tls: failed to verify certificate: x509: certificate signed by unknown authority`},
		{"ftp://127.0.0.1/", time.Minute, false,
			`Get "URL": unsupported protocol scheme "ftp"`},
	} {
		limited, cancel := context.WithTimeout(t.Context(), c.limit)
		req, err := http.NewRequestWithContext(limited, http.MethodGet, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = clientOf(t, Policy{Allow: []string{"127.0.0.1"}}, c.address).Do(req)
		if e := api.AsError(Failure(t.Context(), limited, err)); e == nil ||
			e.Type != api.ErrExecution || e.Retryable != c.retry ||
			e.Message != strings.NewReplacer("URL", c.address, "HOST", req.URL.Host).Replace(c.want) {
			t.Errorf("%s: got %+v", c.address, e)
		}
		cancel()
	}
	for err, retry := range map[error]bool{
		&net.DNSError{Err: "no such host", IsNotFound: true}: false,
		&net.DNSError{Err: "timeout", IsTimeout: true}:       true,
	} {
		if e := api.AsError(Failure(t.Context(), t.Context(), err)); e.Retryable != retry {
			t.Errorf("%v: got %+v", err, e)
		}
	}
	reason := errors.New("the run was cancelled")
	ended, end := context.WithCancelCause(t.Context())
	end(reason)
	if err := Failure(ended, ended, context.Canceled); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

// Errors do not repeat the address.
func TestCheckURL_AcceptsPlainHTTPAndHTTPS(t *testing.T) {
	for _, address := range []string{"https://api.example.com/a?b#c", "http://[::1]:80"} {
		if u, err := url.Parse(address); err != nil || CheckURL(u) != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"ftp://planted/", "/planted", "http://", "https://:80/planted",
		"https://planted@api.example.com", "file:///planted"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckURL(u); err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

// The case of their names does not matter.
func TestHeaders_OfTheConnectionAreRefused(t *testing.T) {
	for name, want := range map[string]bool{"X-Token": true, "accept": true, "HOST": false,
		"content-length": false, "Transfer-Encoding": false, "te": false, "connection": false} {
		if CanSet(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	for text, want := range map[string]bool{"a b\tc": true, "ä": true, "": true, "a\r\nb": false,
		"a\x00": false, "\x7f": false} {
		if FitsHeader(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
	for method, want := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true,
		"POST": false, "DELETE": false, "": false} {
		if Safe(method) != want {
			t.Errorf("%q: %t", method, !want)
		}
	}
}

// At most five redirects are followed, only to http and https.
func TestRedirects_AreBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	defer s.Close()
	c := clientOf(t, Policy{Allow: []string{"127.0.0.1"}}, s.URL)
	var requests atomic.Int64
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, fmt.Sprint("/", requests.Add(1)), http.StatusFound)
	}))
	defer loop.Close()
	if _, err := get(t, c, loop.URL); err == nil || err.Error() != `Get "/6": the server redirected more than 5 times` || requests.Load() != 6 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	for _, to := range []string{"file:///etc/passwd", "ftp://127.0.0.1/",
		"http://user:planted@127.0.0.1/"} {
		_, err := get(t, c, s.URL+"/?to="+url.QueryEscape(to))
		if e := api.AsError(Failure(t.Context(), t.Context(), err)); e == nil || e.Retryable ||
			!strings.HasSuffix(e.Message, ": the server redirected to a URL that is not plain http or https") {
			t.Errorf("%s: got %v", to, err)
		}
	}
}
