package tools

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
)

// errorBody is how much of the body of a failure is told, in bytes.
const errorBody = 500

type httpResponse struct {
	Status  int               `json:"status"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	// Body is set for text in UTF-8, BodyBase64 for anything else.
	Body       string `json:"body,omitempty"`
	BodyBase64 string `json:"body_base64,omitempty"`

	notes []string
}

// Notes implements activities.Noted.
func (r httpResponse) Notes() []string { return r.notes }

// answer makes a tool's answer, or a transient error, of a response.
func answer(resp *http.Response, body []byte, limit int) (httpResponse, error) {
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError {
		text := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), errorBody)]), "\uFFFD"))
		err := fmt.Errorf("the server answered %s: %s", resp.Status, text)
		return httpResponse{}, switchyard.Transient(err, switchyard.Duration(activities.RetryAfter(resp.Header, time.Now())))
	}
	out := httpResponse{Status: resp.StatusCode, URL: resp.Request.URL.String(), Headers: map[string]string{}}
	for name, values := range resp.Header {
		out.Headers[name] = strings.Join(values, ", ")
	}
	if len(body) > limit {
		body = body[:limit]
		for cut := 0; cut < utf8.UTFMax && !utf8.Valid(body); cut++ {
			body = body[:len(body)-1]
		}
		out.notes = append(out.notes, fmt.Sprintf("the body was cut at %d bytes%s; ask for a part of it, by the API's own paging or a Range header", len(body), wholeLength(resp)))
	}
	if utf8.Valid(body) {
		out.Body = string(body)
	} else {
		out.BodyBase64 = base64.StdEncoding.EncodeToString(body)
	}
	return out, nil
}

func wholeLength(resp *http.Response) string {
	if resp.ContentLength < 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", resp.ContentLength)
}

// requestError says why there was no response. limited is the tool's own time limit within ctx.
func requestError(ctx, limited context.Context, err error, redirects int) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the request was ended: %w", cause)
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return refused(r, redirects)
	}
	if limited.Err() != nil {
		return switchyard.Transient(errors.New("the server did not answer within the request's timeout"), 0)
	}
	if permanent(err) {
		return err
	}
	return switchyard.Transient(err, 0)
}

// refused is a policy_violation, which says that nothing ran, only as long as nothing was sent.
func refused(r *refusal, redirects int) error {
	if redirects > 0 {
		return fmt.Errorf("the server redirected to another address, and %w", r)
	}
	return switchyard.Errorf(switchyard.ErrPolicyViolation, "%v", r)
}

// permanent reports failures that would be the same again. What does not come from the network is about the request.
func permanent(err error) bool {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.IsNotFound
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, network := errors.AsType[*net.OpError](err)
	return !network && !brokenOff(err)
}

func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
