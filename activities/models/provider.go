package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// Bounds of what is read of a server's answer and of its error, in bytes, and of the error text
// that is reported, in characters.
const (
	maxAnswerBody    = 64 << 20
	maxErrorBody     = 64 << 10
	maxServerMessage = 500
)

// Readable bounds what is read of an answer, and converts every error response to the form that the
// official clients read: compatible servers respond with an error that is a text, another object,
// or a page of HTML.
func Readable(request *http.Request, next func(*http.Request) (*http.Response,
	error)) (*http.Response, error) {
	response, err := next(request)
	if err != nil {
		return response, err
	}
	if response.StatusCode < http.StatusBadRequest {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswerBody)
		return response, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	if ServerMessage(body) == "" {
		text := strings.ToValidUTF8(strings.TrimSpace(string(body)), "")
		if body, err = jsonvalue.Encode(
			map[string]any{"error": map[string]string{"message": text}}); err != nil {
			return nil, err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// ServerMessage returns the message of an error response in the form of both protocols; empty for
// other forms.
func ServerMessage(body []byte) string {
	var official struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &official) != nil {
		return ""
	}
	return official.Error.Message
}

// NotStreamed reports whether a server ignored the request to stream.
func NotStreamed(response *http.Response) bool {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err != nil || kind != "text/event-stream"
}

// DecodeAnswer reads an answer that was not streamed.
func DecodeAnswer[T any](body io.Reader) (*T, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	return answer, json.Unmarshal(data, answer)
}

// EndpointFrom returns the name of the endpoint whose URL is in an environment variable, without
// credentials and query; provider if the variable is not set.
func EndpointFrom(variable, provider string) string {
	u, err := url.Parse(os.Getenv(variable))
	if err != nil || u.Host == "" {
		return provider
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
}

// Secret is a provider's key. It is hidden in all reported texts.
type Secret struct {
	// variable is the environment variable with the key; the same name with _FILE names a file with
	// the key.
	variable string
	// last is the most recently used hider of the key.
	last *atomic.Pointer[redaction.Hider]
}

func SecretFrom(variable string) Secret {
	return Secret{variable, new(atomic.Pointer[redaction.Hider])}
}

// value returns the key. It reads the key each time, so that a file can change while the worker
// runs.
func (s Secret) value() (string, error) {
	ref := "env:" + s.variable
	if file := os.Getenv(s.variable + "_FILE"); file != "" {
		ref = "file:" + file
	} else if os.Getenv(s.variable) == "" {
		return "", fmt.Errorf(
			"the worker has no %s in its environment, and no %s_FILE that names a file with it",
			s.variable, s.variable)
	}
	key, err := outbound.Secret(ref)
	if err != nil {
		return "", err
	}
	var hider *redaction.Hider
	if hider = hider.With(redaction.Word, key); hider != nil {
		s.last.Store(hider)
	}
	return key, nil
}

// Ready returns an error if the key is missing.
func (s Secret) Ready() error {
	_, err := s.value()
	return err
}

// In adds the key to every request, in a header after a prefix.
func (s Secret) In(header, prefix string) func(*http.Request, func(*http.Request) (*http.Response,
	error)) (*http.Response, error) {
	return func(req *http.Request, next func(*http.Request) (*http.Response,
		error)) (*http.Response, error) {
		key, err := s.value()
		if err != nil {
			return nil, err
		}
		req.Header.Set(header, prefix+key)
		return next(req)
	}
}

// Shown returns an error text of the server or the network without the key, truncated.
func (s Secret) Shown(text string) string {
	return display.Shorten(s.Redact(text), maxServerMessage)
}

func (s Secret) Redact(text string) string { return s.last.Load().Text(text) }

// ServerRefusal is the error response of a model's server.
type ServerRefusal struct {
	Status  int
	Message string
	Header  http.Header
	// Overflow and Broke are set by the server's error code: the conversation is too long, or the
	// account has no funds.
	Overflow, Broke bool
	// Passing means that the error code is transient, whatever the status.
	Passing bool
}

// ErrCutStream reports an answer that ended before it was complete.
var ErrCutStream = errors.New(
	"the model's answer broke off: the server ended the stream in the middle of it")

// Failure returns the error of a response, with whether and when to retry.
func (s Secret) Failure(r ServerRefusal) *Error {
	e := &Error{Permanent: true, Message: fmt.Sprintf("the model's server answered %s: %s",
		strings.TrimSpace(fmt.Sprint(r.Status, " ", http.StatusText(r.Status))),
		cmp.Or(s.Shown(r.Message), "nothing more"))}
	switch {
	case r.Overflow:
		e.Overflow = true
		e.Message = "the conversation is longer than the model's window: " + s.Shown(r.Message)
	case r.Broke:
	case r.Passing, transientStatus(r.Status):
		e.Permanent = false
		if r.Header != nil {
			e.RetryAfter = outbound.RetryAfter(r.Header, time.Now())
		}
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		e.Message += "; check " + s.variable + " in the worker's environment"
	case r.Status == http.StatusBadRequest, r.Status == http.StatusRequestEntityTooLarge:
		e.Unread = true
	}
	return e
}

// transientStatus reports whether the same request may succeed later.
func transientStatus(code int) bool {
	return code == http.StatusRequestTimeout || code == http.StatusConflict ||
		code == http.StatusTooManyRequests || code >= 500
}
