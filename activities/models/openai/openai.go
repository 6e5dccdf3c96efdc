// Package openai reaches servers that speak OpenAI's protocols: chat completions and responses.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Server is a server of models. Use NewServer to make one.
type Server struct {
	models.Secret
	// Endpoint names the server in messages that came from it.
	Endpoint string
	client   openai.Client
	// quirks are the known ones, by the name of the model.
	quirks sync.Map
}

// provider is the endpoint of OpenAI itself.
const provider = "openai"

// NewServer returns the server configured by the environment: OPENAI_API_KEY, or
// OPENAI_API_KEY_FILE that names a file with the key, OPENAI_BASE_URL and the official client's
// other variables. The client's own retries are off, because Temporal owns retries.
func NewServer() *Server {
	key := models.SecretFrom("OPENAI_API_KEY")
	return &Server{Secret: key, Endpoint: models.EndpointFrom("OPENAI_BASE_URL", provider),
		client: openai.NewClient(option.WithMaxRetries(0),
			option.WithMiddleware(key.In("Authorization", "Bearer "), models.Readable))}
}

// SpeaksResponses reports whether the models of the server are called by responses: if OPENAI_API
// is responses, or if it is not set and the server is OpenAI itself or Azure's of its second form,
// which serve current models by nothing else. Other servers know chat completions. It fails if
// OPENAI_API is neither responses nor chat.
func (s *Server) SpeaksResponses() (bool, error) {
	switch protocol := os.Getenv("OPENAI_API"); protocol {
	case "responses":
		return true, nil
	case "chat":
		return false, nil
	case "":
		u, err := url.Parse(s.Endpoint)
		return s.Endpoint == provider || err == nil && (u.Hostname() == "api.openai.com" ||
			strings.HasSuffix(u.Hostname(), ".openai.azure.com") && u.Path == "/openai/v1"), nil
	default:
		return false, fmt.Errorf("OPENAI_API is %q; set it to responses or chat, or unset it", protocol)
	}
}

// Request is the body of a request.
type Request map[string]any

// Exchange is one step of a model with a server.
type Exchange struct {
	// Path is that of the protocol below the base URL.
	Path, Model string
	// Request returns the body for a server with these quirks.
	Request func(*models.Quirks) Request
	// Read reads an answer, of which it forgets what it read before.
	Read func(*http.Response) error
	// Parameters are the names that a request goes without if the server refuses them.
	Parameters []string
	// Named returns other quirks that a refusal names; nil for none.
	Named func(r Request, refusal string) []string
}

// QuirkStream is the quirk of a server that does not say what is wrong with a request that asks for
// a stream.
const QuirkStream = "stream"

// maxQuirks bounds how many requests one step makes until the server takes one.
const maxQuirks = 6

// Do makes a request, and again without what the server refuses by name. Its error is a
// *models.Error.
func (s *Server) Do(ctx context.Context, x Exchange) error {
	if err := s.Ready(); err != nil {
		return &models.Error{Message: err.Error()}
	}
	known, _ := s.quirks.Load(x.Model)
	q, _ := known.(*models.Quirks)
	r := x.Request(q)
	err := s.send(ctx, x, r)
	for range maxQuirks - 1 {
		next := x.learn(q, err, r)
		if next == nil {
			break
		}
		q, r = next, x.Request(next)
		if err = s.send(ctx, x, r); err == nil {
			s.quirks.Store(x.Model, q)
		}
	}
	if err != nil {
		return s.failure(err)
	}
	return nil
}

// send makes one request.
func (s *Server) send(ctx context.Context, x Exchange, r Request) error {
	body, err := jsonvalue.Encode(r)
	if err != nil {
		return err
	}
	var response *http.Response
	if err := s.client.Post(ctx, x.Path, nil, &response,
		option.WithRequestBody("application/json", body)); err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // what was read is whole without it
	return x.Read(response)
}

// unreadable are the statuses of requests that a server does not take as they are.
var unreadable = []int{http.StatusBadRequest, http.StatusUnprocessableEntity,
	http.StatusNotImplemented}

// learn returns the quirks that explain why the server refused a request with err, beside those of
// q; nil if nothing does. A server that names nothing may not know how to stream.
func (x Exchange) learn(q *models.Quirks, err error, r Request) *models.Quirks {
	apiErr, ok := errors.AsType[*openai.Error](err)
	if !ok || apiErr.Code == codeOverflow || !slices.Contains(unreadable, apiErr.StatusCode) {
		return nil
	}
	text := apiErr.Message + " " + apiErr.RawJSON()
	names := r.findParameters(text, x.Parameters)
	if x.Named != nil {
		names = append(names, x.Named(r, text)...)
	}
	next := q.With(names...)
	if _, streams := r["stream"]; next == nil && streams && apiErr.Code != codeThoughts {
		return q.With(QuirkStream)
	}
	return next
}

// findParameters returns those of the parameters that a request has and a refusal names.
func (r Request) findParameters(refusal string, parameters []string) (names []string) {
	for _, name := range parameters {
		if _, sent := r[name]; sent && models.Refuses(refusal, name) {
			names = append(names, name)
		}
	}
	return names
}

// Codes of refusals.
const (
	// codeOverflow: the conversation is longer than the model's window.
	codeOverflow = "context_length_exceeded"
	// codeBroke: the account has no funds.
	codeBroke = "insufficient_quota"
	// codeThoughts: the reasoning in an earlier message cannot be read.
	codeThoughts = "invalid_encrypted_content"
)

// failure converts an error, with whether and when to retry.
func (s *Server) failure(err error) error {
	if e, ok := errors.AsType[*models.Error](err); ok {
		return e
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		return s.Failure(refused.ServerRefusal)
	}
	apiErr, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return &models.Error{Message: s.Shown(err.Error())}
	}
	r := models.ServerRefusal{Status: apiErr.StatusCode, Message: apiErr.Message,
		Overflow: apiErr.Code == codeOverflow, Broke: apiErr.Code == codeBroke}
	if apiErr.Response != nil {
		r.Header = apiErr.Response.Header
	}
	e := s.Failure(r)
	e.Thoughts = apiErr.Code == codeThoughts
	return e
}

// refusal is an error that a successful response has in place of an answer.
type refusal struct{ models.ServerRefusal }

func (r *refusal) Error() string { return r.Message }

// passing are the codes of errors that a later attempt may not have.
var passing = []string{"server_error", "rate_limit_exceeded"}

// BodyError returns the error in the body of a successful response, or in an event of its stream;
// nil if it has none. OpenRouter and other proxies answer so when the provider behind them refuses:
// its status is the code, and its own words are in metadata.raw.
func BodyError(data []byte) error {
	var body struct {
		Error json.RawMessage
	}
	if json.Unmarshal(data, &body) != nil || len(body.Error) == 0 || string(body.Error) == "null" {
		return nil
	}
	return DecodeError(body.Error)
}

// DecodeError returns the error that a server describes.
func DecodeError(data json.RawMessage) error {
	var reason struct {
		Message  string
		Code     any
		Metadata struct{ Raw json.RawMessage }
	}
	if json.Unmarshal(data, &reason) != nil {
		reason.Message = jsonvalue.Plain(data)
	}
	code := fmt.Sprint(reason.Code)
	r := models.ServerRefusal{Status: http.StatusBadGateway, Message: reason.Message,
		Overflow: code == codeOverflow, Broke: code == codeBroke,
		Passing: slices.Contains(passing, code)}
	if raw := reason.Metadata.Raw; len(raw) > 0 {
		r.Message += ": " + jsonvalue.Plain(raw)
	}
	status, err := strconv.Atoi(code)
	if err == nil && status >= http.StatusBadRequest && status < 600 {
		r.Status = status
	}
	return &refusal{r}
}
