package tools

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
)

// errorBody is the number of bytes of a failed response's body that its error quotes.
const errorBody = 500

type httpResponse struct {
	Status  int               `json:"status"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	// Body is set for UTF-8 text, BodyBase64 for everything else.
	Body       string `json:"body,omitempty"`
	BodyBase64 string `json:"body_base64,omitempty"`

	notes []string
}

// Notes implements tool.Noted.
func (r httpResponse) Notes() []string { return r.notes }

// answer converts a response to the tool's output, or to a transient error.
func answer(resp *http.Response, body []byte, limit int) (httpResponse, error) {
	if resp.StatusCode == http.StatusTooManyRequests ||
		resp.StatusCode >= http.StatusInternalServerError {
		text := strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), errorBody)]),
			"\uFFFD"))
		err := fmt.Errorf("the server answered %s: %s", resp.Status, text)
		return httpResponse{},
			api.Transient(err, api.Duration(outbound.RetryAfter(resp.Header, time.Now())))
	}
	out := httpResponse{Status: resp.StatusCode, URL: resp.Request.URL.String(),
		Headers: map[string]string{}}
	for name, values := range resp.Header {
		out.Headers[name] = strings.Join(values, ", ")
	}
	if len(body) > limit {
		body = body[:limit]
		for cut := 0; cut < utf8.UTFMax && !utf8.Valid(body); cut++ {
			body = body[:len(body)-1]
		}
		out.notes = append(out.notes,
			fmt.Sprintf("the body was cut at %d bytes%s; request a part of it, by the API's "+
				"paging or a Range header", len(body), wholeLength(resp)))
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
