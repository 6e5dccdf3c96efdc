package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
)

// Bounds of what is read of a server's answer and of its refusal, in bytes, and told of the latter,
// in characters.
const (
	maxAnswerBody    = 64 << 20
	maxErrorBody     = 64 << 10
	maxServerMessage = 500
)

// readable bounds what is read of an answer, and gives every refusal the form that the official
// clients read: servers that speak the same otherwise answer with an error that is a text, with
// another object, or with a page of HTML.
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
		if body, err = api.EncodeJSON(
			map[string]any{"error": map[string]string{"message": text}}); err != nil {
			return nil, err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// serverMessage returns the message of a refusal in the form that both protocols have; empty where
// it has another.
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

// notStreamed reports whether a server that was asked to stream answered otherwise.
func NotStreamed(response *http.Response) bool {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err != nil || kind != "text/event-stream"
}

// decodeAnswer reads an answer that came at once.
func DecodeAnswer[T any](body io.Reader) (*T, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	return answer, json.Unmarshal(data, answer)
}

// secret is a provider's key, which never shows, whatever a server puts into its answer.
type Secret struct {
	// variable is where the worker has it from: this one, or the file that the variable of the same
	// name and _FILE names.
	variable string
	// last is what takes the key out of texts that was used last.
	last *atomic.Pointer[api.Hider]
}

func SecretFrom(variable string) Secret {
	return Secret{variable, new(atomic.Pointer[api.Hider])}
}

// value returns the key. It is read anew each time, so that a file can be changed while the worker
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
	var hider *api.Hider
	if hider = hider.With(api.Redacted, key); hider != nil {
		s.last.Store(hider)
	}
	return key, nil
}

// Ready reports a missing key.
func (s Secret) Ready() error {
	_, err := s.value()
	return err
}

// in puts the key into every request, in a header after a prefix.
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

// shown returns a server's or the network's own words without the key, short enough to be told.
func (s Secret) Shown(text string) string {
	return api.Shorten(s.Redact(text), maxServerMessage)
}

func (s Secret) Redact(text string) string { return s.last.Load().Text(text) }

// serverRefusal is what a model's server answered instead of a message.
type ServerRefusal struct {
	Status  int
	Message string
	Header  http.Header
	// overflow and broke are what the server's own code says: that the conversation is too long, or
	// that there is no money.
	Overflow, Broke bool
	// passing is set where the code says that it passes, whatever the status.
	Passing bool
}

// failure tells what another attempt can cure, and when.
func (s Secret) Failure(r ServerRefusal) *Error {
	e := &Error{Permanent: true, Message: fmt.Sprintf("the model's server answered %d %s: %s",
		r.Status,
		http.StatusText(r.Status), cmp.Or(s.Shown(r.Message), "nothing more"))}
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
