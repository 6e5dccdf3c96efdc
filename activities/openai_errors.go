package activities

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/switchyard/switchyard"
)

// Bounds of what is read of a server's refusal, in bytes, and told of it, in characters.
const (
	maxErrorBody     = 64 << 10
	maxServerMessage = 500
)

// readableErrors gives every refusal the form that the official client reads: servers that speak the same otherwise
// answer with an error that is a text, with another object, or with a page of HTML.
func readableErrors(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(request)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	var official struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &official) != nil || official.Error.Message == "" {
		text := strings.ToValidUTF8(strings.TrimSpace(string(body)), "")
		if body, err = switchyard.EncodeJSON(map[string]any{"error": map[string]string{"message": text}}); err != nil {
			return nil, err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// failure tells what another attempt can cure, and when. The key never shows, whatever the server put into its answer.
func (o *OpenAI) failure(err error) error {
	api, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return &ModelError{Message: o.shown(err.Error())}
	}
	e := &ModelError{Permanent: true, Message: fmt.Sprintf("the model's server answered %d %s: %s", api.StatusCode,
		http.StatusText(api.StatusCode), cmp.Or(o.shown(api.Message), "nothing more"))}
	switch {
	case api.Code == "context_length_exceeded":
		e.Message = "the conversation is longer than the model's window: " + o.shown(api.Message)
	case api.Code == "insufficient_quota":
	case api.StatusCode == http.StatusUnauthorized, api.StatusCode == http.StatusForbidden:
		e.Message += "; check OPENAI_API_KEY in the worker's environment"
	case transientStatus(api.StatusCode):
		e.Permanent = false
		if api.Response != nil {
			e.RetryAfter = RetryAfter(api.Response.Header, time.Now())
		}
	}
	return e
}

// shown returns a server's or the network's own words without the key, short enough to be told.
func (o *OpenAI) shown(text string) string {
	return switchyard.Shorten(o.redact(text), maxServerMessage)
}

func (o *OpenAI) redact(text string) string {
	if o.key == "" {
		return text
	}
	return strings.ReplaceAll(text, o.key, switchyard.Redacted)
}

// transientStatus reports whether the same request may succeed later.
func transientStatus(code int) bool {
	return code == http.StatusRequestTimeout || code == http.StatusConflict || code == http.StatusTooManyRequests || code >= 500
}
